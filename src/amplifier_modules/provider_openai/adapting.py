"""Leaves out of requests what a model has turned down before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_OPTIONAL = (
    "prompt_cache_retention",
    "reasoning.summary",
    "stream_options",
    "temperature",
    "top_p",
)
_RENAMED = {"max_tokens": "max_completion_tokens"}


class Adapter:
    """Knows, model by model, which optional parameters are not taken."""

    def __init__(self) -> None:
        self._refused: defaultdict[str, list[str]] = defaultdict(list)

    def adapted(self, body: Mapping[str, Any]) -> Json:
        """`body` as its model takes it, as far as that is known."""
        changed = dict(body)
        for name in self._refused[changed["model"]]:
            changed = _without(changed, name)
        return changed

    def refused(self, model: str) -> list[str]:
        return self._refused[model]

    def learns(self, body: Mapping[str, Any], error: Exception) -> bool:
        """Whether the vendor turned down a parameter that can be left out next time."""
        if getattr(error, "status_code", None) != 400:
            return False
        blamed, said = str(getattr(error, "param", None)), str(error)
        for name in (*_OPTIONAL, *_RENAMED):
            is_meant = name == blamed or (blamed == "None" and name in said)
            if is_meant and _without(dict(body), name) != body:
                self._refused[body["model"]].append(name)
                return True
        return False


def _without(body: Json, name: str) -> Json:
    head, _, part = name.partition(".")
    if head not in body:
        return body
    rest = {key: value for key, value in body.items() if key != head}
    if name in _RENAMED:
        return rest | {_RENAMED[name]: body[name]}
    kept = {key: value for key, value in body[head].items() if key != part} if part else {}
    return rest | ({head: kept} if kept else {})
