"""Which tool calls of one response must wait for which: those that touch the same files.

A tool says in its `annotations` which of its arguments are paths it reads or writes. Calls
that say nothing are taken to be independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from os.path import expanduser, normpath
from pathlib import PurePath
from typing import Any, NamedTuple


class Touched(NamedTuple):
    """The paths of one call."""

    reads: frozenset[PurePath]
    writes: frozenset[PurePath]


NOTHING = Touched(frozenset(), frozenset())


def touched(tool: Any, arguments: dict[str, Any], base: PurePath) -> Touched:
    annotations = getattr(tool, "annotations", None)
    if not isinstance(annotations, dict):
        return NOTHING
    return Touched(
        _paths(annotations.get("reads"), arguments, base),
        _paths(annotations.get("writes"), arguments, base),
    )


def _paths(names: Any, arguments: dict[str, Any], base: PurePath) -> frozenset[PurePath]:
    found: set[PurePath] = set()
    listed = names if isinstance(names, list | tuple) else [names]
    for given in [arguments.get(name) for name in listed if isinstance(name, str)]:
        for path in given if isinstance(given, list) else [given]:
            if isinstance(path, str) and path:
                # Two spellings of a path must count as one.
                found.add(PurePath(normpath(base / expanduser(path))))
    return frozenset(found)


def waits(calls: Sequence[Touched]) -> list[list[int]]:
    """For each call, the earlier ones that have to be over before it starts."""
    return [
        [earlier for earlier in range(index) if _conflict(calls[earlier], calls[index])]
        for index in range(len(calls))
    ]


def _conflict(one: Touched, other: Touched) -> bool:
    return _overlap(one.writes, other.reads | other.writes) or _overlap(one.reads, other.writes)


def _overlap(some: frozenset[PurePath], others: frozenset[PurePath]) -> bool:
    """Whether a path of one set is, contains or lies in a path of the other."""
    return any(a == b or a in b.parents or b in a.parents for a in some for b in others)
