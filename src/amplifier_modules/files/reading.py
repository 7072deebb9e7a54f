"""`read_file`: lines of a text file, or the names in a folder."""

from __future__ import annotations

import asyncio
import os
import stat
from typing import Any, ClassVar, NamedTuple

from amplifier_core.models import ToolResult

from amplifier_modules.files.folders import Folder, Place, leads_to_folder, located, look
from amplifier_modules.files.opening import check_opened, opened
from amplifier_modules.files.policy import Guard
from amplifier_modules.files.refusals import Refused, explained, nothing_there
from amplifier_modules.files.shared import FileTools
from amplifier_modules.files.texts import NotText, Window, printable, read_window
from amplifier_modules.files.walking import folder_at
from amplifier_modules.files.workspace import Arguments, failed, read_arguments

DEFAULT_LIMIT = 2000


class _Wanted(NamedTuple):
    path: str
    offset: int
    limit: int | None


class ReadTool:
    name = "read_file"
    description = (
        "Reads a text file and numbers its lines, or lists a folder. Up to 2000 lines are "
        "returned, from the first or from `offset`; lines over 2000 characters are cut. "
        "A file has to be read before it can be edited or overwritten."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Path of the file or folder"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
        },
        "required": ["file_path"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "pure", "reads": ["file_path"]}

    def __init__(self, shared: FileTools) -> None:
        self._shared = shared

    @property
    def folder(self) -> str:
        """Where relative paths start; approval rules on paths are judged from there."""
        return self._shared.workspace.base

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            wanted = read_arguments(input, self._wanted)
            output, size = await asyncio.to_thread(self._read, wanted)
        except Refused as refusal:
            return failed(refusal)
        if size is not None:
            await self._shared.tell_read(output["file_path"], size)
        return ToolResult(success=True, output=output)

    def _wanted(self, given: Arguments) -> _Wanted:
        path = self._shared.workspace.absolute(given.text("file_path"))
        return _Wanted(path, given.number("offset", 1, 1) or 1, given.number("limit", None, 1))

    def _read(self, wanted: _Wanted) -> tuple[dict[str, Any], int | None]:
        guard = self._shared.reading().guard()
        with located(wanted.path, guard) as place:
            try:
                found = place.stat()
                if found is None:
                    raise nothing_there()
                if stat.S_ISDIR(found.st_mode):
                    return self._listing(place, wanted, guard), None
                window = self._window(place, wanted, guard)
            except OSError as error:
                raise explained(error, place.real) from error
        return _described(place.real, window, wanted), window.size

    def _window(self, place: Place, wanted: _Wanted, guard: Guard) -> Window:
        with opened(place.folder, place.name) as file:
            check_opened(file, place.folder, place.name, guard)
            size, most = os.fstat(file.fileno()).st_size, self._shared.max_file_size
            if size > most and wanted.limit is None:
                raise _asks_for_limit(place.real, size, most)
            try:
                window = read_window(file, wanted.offset, wanted.limit or DEFAULT_LIMIT, size, most)
            except NotText as error:
                raise not_text(place.real, error) from error
        if window.digest is not None:
            self._shared.memory.keep(place.real, window.digest)
        elif wanted.limit is None:
            raise _asks_for_limit(place.real, window.size, most)
        return window

    def _listing(self, place: Place, wanted: _Wanted, guard: Guard) -> dict[str, Any]:
        with folder_at(place) as listed:
            names = _tagged(listed, guard)
        start, limit = wanted.offset - 1, wanted.limit or DEFAULT_LIMIT
        shown = names[start : start + limit]
        rest = len(names) - start - len(shown)
        more = [f"... and {rest} more; ask with a higher offset"] if rest > 0 else []
        return {
            "file_path": printable(place.real),
            "content": "\n".join(shown + more),
            "is_directory": True,
            "entry_count": len(names),
        }


def _tagged(folder: Folder, guard: Guard) -> list[str]:
    """The names in a folder, folders first. A link counts as what it leads to."""
    folders: list[str] = []
    files: list[str] = []
    for name, kind in folder.entries():
        if look(folder, name, guard) is None:
            continue
        is_folder = kind == "dir" or (kind == "link" and leads_to_folder(folder, name, guard))
        (folders if is_folder else files).append(printable(name))
    return [f"DIR  {name}" for name in folders] + [f"FILE {name}" for name in files]


def _described(path: str, window: Window, wanted: _Wanted) -> dict[str, Any]:
    numbered = enumerate(window.lines, wanted.offset)
    output: dict[str, Any] = {
        "file_path": printable(path),
        "content": "\n".join(f"{number:>6}\t{line}" for number, line in numbered),
        "total_lines": window.total,
        "lines_read": len(window.lines),
        "offset": wanted.offset,
    }
    if window.total == 0:
        output["warning"] = "The file is empty."
    elif window.total is None:
        output["warning"] = "The file is too large to be counted, or to be edited here."
    elif not window.lines:
        output["warning"] = f"The file has {window.total} lines; the offset is behind its end."
    return output


def _asks_for_limit(path: str, size: int, most: int) -> Refused:
    text = (
        f"{path!r} has {size} bytes, and up to {most} are read at once. "
        "Give a limit to read some lines of it."
    )
    return Refused(text, "FileTooLarge")


def not_text(path: str, error: NotText) -> Refused:
    text = f"{path!r} is {error}. Only UTF-8, and UTF-16 with a byte order mark, can be used."
    return Refused(text, "NotText")
