"""What both modules share as tools: where paths start, how arguments are read, how to answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from amplifier_core.models import ToolResult

from amplifier_modules.files.folders import refuse_unusable
from amplifier_modules.files.refusals import Refused


class Workspace:
    """Turns the paths that a model writes into absolute ones."""

    def __init__(self, coordinator: Any, working_dir: str | None) -> None:
        self._coordinator = coordinator
        self._working_dir = working_dir

    @property
    def base(self) -> str:
        """The folder that relative paths start from."""
        # Asked each time: a host may tell the session's folder after the modules are mounted.
        given = self._working_dir or self._coordinator.get_capability("session.working_dir")
        return os.path.abspath(os.path.expanduser(str(given or os.curdir)))

    def absolute(self, path: str) -> str:
        """The absolute path that `path` means. Its `..` and links are left for the walk.

        Raises:
            Refused: it is a mention that leads nowhere, or no path at all.
        """
        if path.startswith("@"):
            path = self._mentioned(path)
        refuse_unusable(path)
        return os.path.join(self.base, os.path.expanduser(path))

    def _mentioned(self, mention: str) -> str:
        resolver = self._coordinator.get_capability("mention_resolver")
        found = resolver.resolve(mention) if resolver is not None else None
        if found is None:
            text = f"Nothing is known as {mention!r}. Use a plain path."
            raise Refused(text, "UnknownMention")
        return str(found)


class Arguments:
    """The input of a tool call, read with clear words about what does not fit."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given

    def text(self, key: str, default: str | None = None, *, may_be_empty: bool = False) -> str:
        value = self._given.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not (value or may_be_empty):
            raise Refused(f"{key!r} is missing or not text. Give it as a string.")
        return value

    def number(self, key: str, default: int | None, least: int) -> int | None:
        value = self._given.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise Refused(f"{key!r} has to be a whole number from {least} on. Correct it.")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        value = self._given.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise Refused(f"{key!r} has to be true or false. Correct it.")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of `choices`; the first if none is given."""
        value = self._given.get(key)
        if value is None:
            return choices[0]
        if value not in choices:
            raise Refused(f"{key!r} has to be one of {', '.join(choices)}. Correct it.")
        return str(value)

    def texts(self, key: str) -> list[str]:
        value = self._given.get(key)
        listed = [] if value is None else value
        if not isinstance(listed, list) or not all(isinstance(e, str) and e for e in listed):
            raise Refused(f"{key!r} has to be a list of texts. Correct it.")
        return listed


def failed(refusal: Refused) -> ToolResult:
    error = {"message": refusal.message, "type": refusal.kind, **refusal.details}
    return ToolResult(success=False, output=refusal.message, error=error)


def read_arguments(given: object, read: Callable[[Arguments], Any]) -> Any:
    """Apply `read` to the input of a call, which a model may have sent in any shape."""
    if not isinstance(given, dict):
        raise Refused("The input is not an object. Give the arguments by name.")
    return read(Arguments(given))
