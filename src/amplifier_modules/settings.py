"""How a module reads its config: typed, with defaults, and loud about misspelt keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError


class Settings(BaseModel):
    """The keys that a module's config may have; subclasses declare them with defaults.

    Values written as text ("5", "true") are read as what the key asks for, because
    set-up wizards and environment variables know nothing else.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @classmethod
    def read(cls, config: Mapping[str, Any] | None, module_id: str) -> Self:
        """The settings in `config`.

        Raises:
            ValueError: a key is unknown or has an unusable value; the message names it.
        """
        try:
            return cls.model_validate(dict(config or {}))
        except ValidationError as error:
            problems = [_problem(cls, each) for each in error.errors(include_url=False)]
            raise ValueError(f"Config of {module_id!r}: {' '.join(problems)}") from None


def _problem(settings: type[Settings], error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        # Never the value itself: it may be a secret in the wrong place.
        return f"{key!r} cannot be {type(error['input']).__name__} here: {error['msg']}."
    near = get_close_matches(key, settings.model_fields, n=1)
    known = ", ".join(settings.model_fields) or "none"
    advice = f"Did you mean {near[0]!r}?" if near else f"Known keys: {known}."
    return f"there is no key {key!r}. {advice}"


PROTECTED_PATHS = (
    ".amplifier/hooks",
    ".amplifier/settings*.yaml",
    ".amplifier/bundles",
    ".amplifier/modules",
    ".git/hooks",
    ".git/config*",
    ".git/modules/*/hooks",
    ".git/modules/*/config*",
)
"""The default of the key `protected_paths`: files that decide which programs are run later."""


def protecting(path: str, patterns: Iterable[str]) -> str | None:
    """The pattern that protects `path`: it names the path, or a folder above it, anywhere.

    Case does not count, because some file systems find `.GIT/Hooks` under either name.
    """
    parts = [each for each in re.split(r"[\\/]+", path.lower()) if each not in ("", ".")]
    for pattern in patterns:
        wanted = [each for each in pattern.lower().split("/") if each]
        for start in range(len(parts) - len(wanted) + 1):
            if all(map(fnmatchcase, parts[start:], wanted)):
                return pattern
    return None
