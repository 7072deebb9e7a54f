"""`write_file` and `edit_file`. Both change only what this session has read."""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from amplifier_core.models import ToolResult

from amplifier_modules.files.contents import Snapshot, digest_of, one_at_a_time, put, snapshot
from amplifier_modules.files.folders import Place, located
from amplifier_modules.files.reading import not_text
from amplifier_modules.files.refusals import Refused, explained
from amplifier_modules.files.shared import FileTools
from amplifier_modules.files.texts import (
    PLAIN,
    NotText,
    TooLong,
    decoded,
    encoded,
    printable,
    replaced,
    with_endings_of,
)
from amplifier_modules.files.workspace import Arguments, failed, read_arguments

_PATH = {"type": "string", "description": "Path of the file"}


class _Write(NamedTuple):
    path: str
    content: str


class _Edit(NamedTuple):
    path: str
    old: str
    new: str
    replace_all: bool


class _ChangingTool(ABC):
    """A change of one file, made while no other change of it is."""

    def __init__(self, shared: FileTools) -> None:
        self._shared = shared

    @property
    def folder(self) -> str:
        """Where relative paths start; approval rules on paths are judged from there."""
        return self._shared.workspace.base

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            wanted = read_arguments(input, self._wanted)
            output, size = await asyncio.to_thread(self._change, wanted)
        except Refused as refusal:
            return failed(refusal)
        await self._shared.tell_written(output["file_path"], size)
        return ToolResult(success=True, output=output)

    @abstractmethod
    def _wanted(self, given: Arguments) -> Any:
        """What the call asks for."""

    @abstractmethod
    def _changed(self, place: Place, found: Snapshot | None, wanted: Any) -> tuple[bytes, int]:
        """The new content, and how many places of it are new."""

    @abstractmethod
    def _described(self, path: str, size: int, count: int) -> dict[str, Any]:
        """The output of the call."""

    def _change(self, wanted: Any) -> tuple[dict[str, Any], int]:
        guard = self._shared.writing().guard()
        with located(wanted.path, guard) as place:
            try:
                with one_at_a_time(place):
                    found = snapshot(place, guard, self._shared.max_file_size)
                    content, count = self._changed(place, found, wanted)
                    if found is None or content != found.content:
                        put(place, content, found)
                    self._shared.memory.keep(place.real, digest_of(content))
            except OSError as error:
                raise explained(error, place.real) from error
            except NotText as error:
                raise not_text(place.real, error) from error
        return self._described(printable(place.real), len(content), count), len(content)


class WriteTool(_ChangingTool):
    name = "write_file"
    description = (
        "Writes a whole text file, and makes the folders it needs. A file that exists has to "
        "be read with read_file first; its encoding and CRLF line endings are kept."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "file_path": _PATH,
            "content": {"type": "string", "description": "The whole new text"},
        },
        "required": ["file_path", "content"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "idempotent", "writes": ["file_path"]}

    def _wanted(self, given: Arguments) -> _Write:
        path = self._shared.workspace.absolute(given.text("file_path"))
        content = given.text("content", may_be_empty=True)
        _refuse_unwritable(content, "content")
        return _Write(path, content)

    def _changed(self, place: Place, found: Snapshot | None, wanted: _Write) -> tuple[bytes, int]:
        if found is None:
            return encoded(wanted.content, PLAIN), 1
        if found.content == encoded(wanted.content, PLAIN):
            return found.content, 1  # the same call once more, as after a crash
        self._shared.memory.check(place.real, found)
        old, encoding = decoded(found.content)
        return encoded(with_endings_of(old, wanted.content), encoding), 1

    def _described(self, path: str, size: int, count: int) -> dict[str, Any]:
        return {"file_path": path, "bytes": size}


class EditTool(_ChangingTool):
    name = "edit_file"
    description = (
        "Replaces `old_string` by `new_string` in a text file that was read with read_file. "
        "`old_string` is the exact text without line numbers, and has to occur once unless "
        "`replace_all` is true."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "file_path": _PATH,
            "old_string": {"type": "string", "description": "The exact text to replace"},
            "new_string": {"type": "string", "description": "The text to put there"},
            "replace_all": {"type": "boolean", "default": False},
        },
        "required": ["file_path", "old_string", "new_string"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "external", "writes": ["file_path"]}

    def _wanted(self, given: Arguments) -> _Edit:
        path = self._shared.workspace.absolute(given.text("file_path"))
        old, new = given.text("old_string"), given.text("new_string", may_be_empty=True)
        if old == new:
            raise Refused("'old_string' and 'new_string' are the same. Make them differ.")
        _refuse_unwritable(new, "new_string")
        return _Edit(path, old, new, given.flag("replace_all"))

    def _changed(self, place: Place, found: Snapshot | None, wanted: _Edit) -> tuple[bytes, int]:
        if found is None:
            text = f"There is no file {place.real!r}. Create it with write_file."
            raise Refused(text, "FileNotFoundError")
        self._shared.memory.check(place.real, found)
        text, encoding = decoded(found.content)
        most = sys.maxsize if wanted.replace_all else 1
        longest = self._shared.max_file_size
        try:
            new, count = replaced(text, wanted.old, wanted.new, most, longest)
        except TooLong as error:
            refusal = (
                f"{place.real!r} would become {error} characters long, which is more than "
                f"'max_file_size' ({longest} bytes). Replace less, or by a shorter text."
            )
            raise Refused(refusal, "FileTooLarge") from error
        if not 0 < count <= most:
            raise _no_single_match(place.real, count)
        return encoded(new, encoding), count

    def _described(self, path: str, size: int, count: int) -> dict[str, Any]:
        return {"file_path": path, "replacements_made": count, "bytes_written": size}


def _refuse_unwritable(text: str, key: str) -> None:
    """What could not be read back is not written: NUL, or half of a surrogate pair."""
    try:
        decoded(encoded(text, PLAIN))
    except NotText as error:
        raise Refused(f"{key!r} cannot be written: it is {error}. Give plain text.") from error


def _no_single_match(path: str, count: int) -> Refused:
    if count == 0:
        text = f"'old_string' is not in {path!r}. Read the file again and copy the text exactly."
        return Refused(text, "NoMatch", occurrences=0)
    text = (
        f"'old_string' occurs {count} times in {path!r}. "
        "Add surrounding lines until it is unique, or set 'replace_all'."
    )
    return Refused(text, "AmbiguousMatch", occurrences=count)
