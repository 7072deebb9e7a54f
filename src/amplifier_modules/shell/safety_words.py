"""What a word of a command can become: a name, an option, or a path that must not be touched."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass

from amplifier_modules.shell.syntax import Parameter, Pattern, Text, Word

UNKNOWN = "\0"
"""Stands for what only a run can tell."""
_ANY_NAMES = "\1"
"""Stands for a pattern that the shell replaces by names it finds."""


_BRACES = re.compile(r"([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)")


@dataclass(frozen=True)
class Place:
    """Where a command may run."""

    home: str
    folders: tuple[str, ...]
    """Every folder that it may be in, as templates."""

    def moved(self, target: str) -> Place:
        """The place after a `cd` that may or may not have happened."""
        reached = [_joined(folder, target) for folder in self.folders]
        return Place(self.home, tuple(dict.fromkeys((*self.folders, *reached))))


def templates(word: Word, home: str) -> list[str]:
    """The word as texts, with the two signs above for what is not known.

    There are several only where the shell makes several words of one: `{a,b}`.
    """
    if not any(isinstance(part, Pattern) and part.kind == "brace" for part in word.parts):
        return ["".join(_known(part, home) for part in word.parts)]
    braces = _BRACES.fullmatch(word.source)
    if braces is None or re.search(r"""[\\'"`$*?\[~]""", word.source):
        return [UNKNOWN]
    before, choices, after = braces.groups()
    return [before + choice + after for choice in choices.split(",")]


def _known(part: object, home: str) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Pattern) and part.kind == "glob":
        return _ANY_NAMES
    if isinstance(part, Pattern) and part.kind == "tilde":
        return home
    if isinstance(part, Parameter) and part.name == "HOME" and not part.operation:
        return home
    return UNKNOWN


def program(word: Word, home: str) -> str | None:
    """The name of what a first word runs, without its folder; None if it is not known."""
    text, *more = templates(word, home)
    if more or UNKNOWN in text or _ANY_NAMES in text:
        return None
    return posixpath.basename(text)


def is_one_of(text: str, folders: Collection[str], place: Place) -> bool:
    """Whether a template surely is one of the folders, or everything in one of them."""
    return any(_is(_joined(start, text), folders) for start in place.folders)


def may_be_one_of(text: str, folders: Collection[str], place: Place) -> bool:
    """Whether a template is, or may turn out to be, one of them."""
    return any(_may_be(_joined(start, text), folders) for start in place.folders)


def _is(path: str, folders: Collection[str]) -> bool:
    if UNKNOWN in path:
        return False
    folder, name = posixpath.split(_normal(path))
    everything = name and not name.strip(_ANY_NAMES + ".")
    return (folder if everything else _normal(path)) in folders


def _may_be(path: str, folders: Collection[str]) -> bool:
    if UNKNOWN not in path:
        return _is(path, folders)
    last = path.rpartition("/")[2]
    if UNKNOWN not in last and last.strip(_ANY_NAMES + "."):
        return False
    before = path[: path.index(UNKNOWN)]
    return not before or (before.endswith("/") and _is(before, folders))


def homes(home: str) -> set[str]:
    """The user's home, and the folders where the homes of others are."""
    return {"/home", "/Users", home, posixpath.dirname(home)} - {"/"}


def may_be_device(text: str, place: Place) -> bool:
    """Whether a template may name something in /dev, the null device apart."""
    # A folder that is not known would make a device of every name.
    starts = [folder for folder in place.folders if UNKNOWN not in folder]
    return any(_may_be_device(_joined(start, text)) for start in starts or [""])


def _may_be_device(path: str) -> bool:
    known, unknown, _ = path.partition(UNKNOWN)
    known = _normal(known)
    if not unknown:
        return known.startswith("/dev/") and known != "/dev/null"
    return not known or known.startswith("/dev") or "/dev".startswith(known)


def _joined(folder: str, text: str) -> str:
    # What begins with something unknown may be an absolute path.
    return text if text.startswith(UNKNOWN) else posixpath.join(folder, text)


def _normal(path: str) -> str:
    # The standard library keeps two slashes at the beginning apart; the system does not.
    return "/" + posixpath.normpath(path).lstrip("/") if path.startswith("/") else path
