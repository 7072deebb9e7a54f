"""Keeps the values of known keys out of the log: those of the environment and of the plan."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from amplifier.secrets import MASK, SHORTEST, is_name_of_secret
from amplifier.sessions.record import to_json


class Masker:
    """Knows the secrets of one session."""

    def __init__(self, *configs: Any) -> None:
        found = {value for name, value in os.environ.items() if is_name_of_secret(name)}
        for config in configs:
            found |= set(_secrets_in(config))
        known = sorted((each for each in found if len(each) >= SHORTEST), key=len, reverse=True)
        self._values = known
        # As they are written inside of JSON.
        self._written = [to_json(each)[1:-1] for each in known]

    def finds(self, text: str) -> bool:
        """Whether JSON text may hold one."""
        return bool(self._written) and any(each in text for each in self._written)

    def text(self, text: str) -> str:
        for each in self._values:
            if each in text:
                text = text.replace(each, MASK)
        return text

    def value(self, value: Any) -> Any:
        """A value of JSON without them. Names of fields are masked unless they are plain words."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._name(name): self.value(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.value(each) for each in value]
        return value

    def _name(self, name: str) -> str:
        return name if name.replace("_", "").isalpha() else self.text(name)


def _secrets_in(config: Any, name: str = "") -> Iterator[str]:
    if isinstance(config, dict):
        for key, value in config.items():
            yield from _secrets_in(value, str(key))
    elif isinstance(config, list | tuple):
        for value in config:
            yield from _secrets_in(value, name)
    elif isinstance(config, str) and is_name_of_secret(name):
        yield config
        # As in the header `Authorization: Bearer ...`: the last word is the secret.
        yield from config.split()[1:][-1:]
