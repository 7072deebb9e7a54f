"""A log on disk: whole lines only, private, and never larger than it may be."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import RLock
from weakref import WeakValueDictionary

logger = logging.getLogger(__name__)

MOST_OPEN = 200
"""Logs that are open at a time; of more sessions, those that were opened first wait closed."""
_BLOCK = 65536
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

_logs: WeakValueDictionary[Path, LogFile] = WeakValueDictionary()
_open: OrderedDict[Path, LogFile] = OrderedDict()
# One lock for all: sessions may run in several threads, and writing takes microseconds.
_lock = RLock()


def log_at(path: Path, max_bytes: int, keep: int) -> LogFile:
    """The log at `path`; sessions that share a file share this, so that it rotates once."""
    with _lock:
        log = _logs.get(path)
        if log is None:
            log = _logs[path] = LogFile(path, max_bytes, keep)
        return log


class LogFile:
    """Appends lines to a file. It opens itself at the first line, and again after `close()`.

    Each line goes to the operating system at once and in one piece: what was logged before
    a crash is in the file, and only a power failure can leave half a line. That one is
    removed when the file is opened again.
    """

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._handle: int | None = None
        self._size = 0
        self._is_file = True
        self._has_complained = False

    def append(self, line: bytes) -> None:
        """Write one line. If that fails, it is lost, and the first one in a row is reported."""
        with _lock:
            try:
                self._append(line)
                self._has_complained = False
            except OSError as error:
                self.close()
                if not self._has_complained:
                    logger.warning("Events cannot be logged to %s: %s", self.path, error)
                self._has_complained = True

    def close(self) -> None:
        with _lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                _open.pop(self.path, None)
                os.close(handle)

    def _append(self, line: bytes) -> None:
        handle = self._handle if self._handle is not None else self._opened()
        if self._is_file and 0 < self._max_bytes < self._size + len(line) and self._size:
            handle = self._rotated()
        written = os.write(handle, line)
        if written < len(line):
            self._take_back(handle, written)
        self._size += written

    def _take_back(self, handle: int, written: int) -> None:
        """Remove the part of a line that a full disk had room for."""
        if os.fstat(handle).st_size == self._size + written:
            os.ftruncate(handle, self._size)
        raise OSError("there is no room for the whole line. Free some space.")

    def _opened(self) -> int:
        if len(_open) >= MOST_OPEN:
            next(iter(_open.values())).close()
        _make_private_folders(self.path.parent)
        handle = os.open(self.path, _FLAGS, 0o600)
        try:
            status = os.fstat(handle)
            # A device, say, is written to as it is: it has no end and cannot be moved away.
            self._is_file = stat.S_ISREG(status.st_mode)
            self._size = _mended_size(handle, status) if self._is_file else 0
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        _open[self.path] = self
        return handle

    def _rotated(self) -> int:
        """Move the file out of the way, unless another process has just done so."""
        handle = self._handle
        is_current = handle is not None and _is_same_file(handle, self.path)
        self.close()
        if is_current:
            self._shift()
        return self._opened()

    def _shift(self) -> None:
        if self._keep == 0:
            self.path.unlink()
            return
        for number in range(self._keep - 1, 0, -1):
            if self._older(number).exists():
                os.replace(self._older(number), self._older(number + 1))
        os.replace(self.path, self._older(1))

    def _older(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def _make_private_folders(folder: Path) -> None:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _mended_size(handle: int, status: os.stat_result) -> int:
    """Make a file private and see to it that it ends with a whole line; returns its size."""
    if status.st_mode & 0o077 and hasattr(os, "fchmod"):
        with suppress(PermissionError):  # somebody else's, who may want others to read it
            os.fchmod(handle, 0o600)
    size = status.st_size
    if size == 0 or _read(handle, size - 1, size) == b"\n":
        return size
    start = _start_of_last_line(handle, size)
    if _is_json(_read(handle, start, size)):
        return size + os.write(handle, b"\n")
    os.ftruncate(handle, start)
    return start


def _read(handle: int, begin: int, end: int) -> bytes:
    os.lseek(handle, begin, os.SEEK_SET)
    return os.read(handle, end - begin)


def _start_of_last_line(handle: int, size: int) -> int:
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        found = _read(handle, begin, end).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
