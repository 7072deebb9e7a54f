"""Finds files and folders by the pattern of their path. It runs in a process of its own."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

from amplifier_modules.files.folders import Folder, located
from amplifier_modules.files.globs import name_matcher, path_matcher
from amplifier_modules.files.policy import Guard, Policy
from amplifier_modules.files.refusals import Refused, explained
from amplifier_modules.files.walking import Found, folder_at, walk


class GlobRequest(NamedTuple):
    """One search, complete: the process that makes it knows nothing else."""

    pattern: str
    path: str
    type: Literal["file", "dir", "any"]
    exclude: list[str]
    exclusions: list[str]
    limit: int


def glob(request: GlobRequest, policy: Policy) -> dict[str, Any]:
    """Search, and describe what was found, newest first.

    Raises:
        Refused: the request makes no sense, or asks for something forbidden.
    """
    parts = request.pattern.split("/")
    if request.pattern.startswith(("/", "~")) or ".." in parts:
        text = (
            f"The pattern {request.pattern!r} leaves the folder that is searched. "
            "Name the folder in 'path', and give a pattern below it."
        )
        raise Refused(text, "InvalidPattern")
    guard = policy.guard()
    with located(request.path, guard) as place:
        try:
            with folder_at(place) as base:
                return _described(request, base.real, _found(request, guard, base))
        except OSError as error:
            raise explained(error, place.real) from error


def _found(request: GlobRequest, guard: Guard, base: Folder) -> list[Found]:
    matches = path_matcher(request.pattern)
    excluded = name_matcher([*request.exclusions, *request.exclude])
    kinds = ("file", "dir", "other") if request.type == "any" else (request.type,)
    found = [
        each for each in walk(base, guard, excluded) if each.kind in kinds and matches(each.path)
    ]
    return sorted(found, key=lambda each: (-each.changed, each.path))


def _described(request: GlobRequest, base: str, found: list[Found]) -> dict[str, Any]:
    shown = found[: request.limit] if request.limit else found
    output: dict[str, Any] = {
        "pattern": request.pattern,
        "base_path": base,
        "total_files": len(found),
        "count": len(shown),
        "matches": [
            {
                "path": os.path.join(base, *each.path.split("/")),
                "type": "dir" if each.kind == "dir" else "file",
                "size": each.size,
            }
            for each in shown
        ],
    }
    if len(shown) < len(found):
        output["results_capped"] = True
    return output
