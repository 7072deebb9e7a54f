"""Goes through a folder and everything below it, by name, never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from amplifier_modules.files.folders import Entry, Folder, Kind, Place, leads_to_folder, look
from amplifier_modules.files.globs import Matches
from amplifier_modules.files.policy import Guard
from amplifier_modules.files.refusals import nothing_there


class Found(NamedTuple):
    """Something below the folder where a walk began."""

    path: str
    """Relative to that folder, with `/` between its parts."""
    kind: Kind
    """A link has the kind of what it leads to: `dir` or `file`."""
    is_link: bool
    size: int
    changed: int
    """When, in nanoseconds."""


def walk(base: Folder, guard: Guard, excluded: Matches) -> Iterator[Found]:
    """All that is below `base` and may be touched, folders before what is in them."""
    pending: list[tuple[Folder, str, Iterator[Entry]]] = [(base, "", iter(base.entries()))]
    try:
        while pending:
            folder, above, entries = pending[-1]
            entry = next(entries, None)
            if entry is None:
                pending.pop()
                _close(folder, base)
                continue
            path = f"{above}{entry.name}"
            found = None if excluded(path) else _found(folder, entry, path, guard)
            if found is None:
                continue
            yield found
            if entry.kind == "dir":
                with suppress(OSError):
                    inner = folder.enter(entry.name)
                    pending.append((inner, f"{path}/", _entries(inner)))
    finally:
        for folder, *_ in pending:
            _close(folder, base)


def _entries(folder: Folder) -> Iterator[Entry]:
    with suppress(OSError):
        yield from folder.entries()


def _close(folder: Folder, base: Folder) -> None:
    if folder is not base:
        folder.close()


def _found(folder: Folder, entry: Entry, path: str, guard: Guard) -> Found | None:
    about = look(folder, entry.name, guard)
    if about is None:
        return None
    kind = entry.kind
    if kind == "link":
        kind = "dir" if leads_to_folder(folder, entry.name, guard) else "file"
    return Found(path, kind, entry.kind == "link", about.st_size, about.st_mtime_ns)


def folder_at(place: Place) -> Folder:
    """The folder at `place`, open.

    Raises:
        OSError: there is none.
    """
    if place.missing:
        raise nothing_there()
    return place.folder if place.name == os.curdir else place.folder.enter(place.name)


class Reach:
    """Opens the folders of files that come in the order of a walk, each but once in a row."""

    def __init__(self, base: Folder) -> None:
        self._base = base
        self._above = ""
        self._folder = base

    def folder_of(self, path: str) -> Folder:
        above = path.rpartition("/")[0]
        if above != self._above:
            self.close()
            folder = self._base
            for part in above.split("/") if above else []:
                inner = folder.enter(part)
                if folder is not self._base:
                    folder.close()
                folder = inner
            self._above, self._folder = above, folder
        return self._folder

    def close(self) -> None:
        if self._folder is not self._base:
            self._folder.close()
        self._above, self._folder = "", self._base
