"""A conversation as a file: one JSON object per line, appended at once."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


class Transcript:
    """The file of one conversation. It is read once; after that it is only written.

    Each line goes to the operating system in one piece, so that a crash can break none but
    the last. There is no file until there is a message.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._is_torn = False

    def load(self) -> list[dict[str, Any]]:
        """The messages in the file. A broken line is skipped; a broken end is also cut off."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        lines = content.split(b"\n")
        messages = [self._read(line, number) for number, line in enumerate(lines, 1) if line]
        self._mend_end(content, messages)
        return [message for message in messages if message is not None]

    def _read(self, line: bytes, number: int) -> dict[str, Any] | None:
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError:
            message = None
        if not isinstance(message, dict) or "role" not in message:
            logger.warning("Line %d of %s is not a message; it is skipped", number, self.path)
            return None
        return _without_record_fields(message)

    def _mend_end(self, content: bytes, messages: list[dict[str, Any] | None]) -> None:
        """See to it that the next line does not run into a last one without an end."""
        if not content or content.endswith(b"\n"):
            return
        if messages[-1] is None:
            os.truncate(self.path, content.rfind(b"\n") + 1)
        else:
            self._write(b"\n")

    def append(self, message: dict[str, Any]) -> None:
        """Add one message to the file."""
        self._write(_line(message))

    def replace(self, messages: Iterable[dict[str, Any]]) -> None:
        """Make these the whole file: a reader sees the old one or the new one."""
        content = b"".join(map(_line, messages))
        if not content and not self.path.exists():
            return
        self._make_folder()
        handle, draft = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(draft, self.path)
        except BaseException:
            os.unlink(draft)
            raise
        self.close()  # it was open on the old file

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._make_folder()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._file = os.open(self.path, flags, 0o600)
        if self._is_torn:
            line = b"\n" + line
        self._is_torn = True
        while line:
            line = line[os.write(self._file, line) :]
        self._is_torn = False

    def _make_folder(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _line(message: dict[str, Any]) -> bytes:
    metadata = message.get("metadata")
    timestamp = metadata.get("timestamp") if isinstance(metadata, dict) else None
    record = {"timestamp": timestamp, **message}
    text = json.dumps(record, ensure_ascii=False, default=str)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair; as an escape it survives the way to the file and back.
        return f"{json.dumps(record, default=str)}\n".encode()


def _without_record_fields(record: dict[str, Any]) -> dict[str, Any]:
    """The message in a line: the timestamp at its top is that of the metadata."""
    timestamp = record.get("timestamp")
    metadata = record.setdefault("metadata", {})
    if isinstance(metadata, dict) and timestamp == metadata.setdefault("timestamp", timestamp):
        record.pop("timestamp", None)
    return record
