"""The operations on files that a log is made of, in one place, so that tests can watch them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_BINARY = getattr(os, "O_BINARY", 0)
_sync_data = getattr(os, "fdatasync", os.fsync)


class Disk:
    """The real one."""

    def open_log(self, path: Path, *, create: bool) -> int:
        """A handle to append with; for reading as well."""
        flags = os.O_RDWR | os.O_APPEND | _BINARY | (os.O_CREAT if create else 0)
        return os.open(path, flags, 0o600)

    def append(self, handle: int, content: bytes) -> None:
        """Write all of it at the end; what an error leaves behind is the caller's to remove."""
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        """Wait until the content of a file is on the disk."""
        _sync_data(handle)

    def make_folder(self, path: Path, *, durable: bool = False) -> None:
        """A folder for its owner alone, and the folders around it if need be."""
        if not path.is_dir():
            self.make_folder(path.parent, durable=durable)
            path.mkdir(mode=0o700, exist_ok=True)
            if durable:
                self.sync_folder(path.parent)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk, where an OS can say so."""
        if os.name == "nt":
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def write_file(self, path: Path, content: bytes, *, durable: bool) -> None:
        """Make `content` the whole file: a reader sees the old one or the new one."""
        draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        try:
            self.append(handle, content)
            if durable:
                os.fsync(handle)
        except BaseException:
            os.close(handle)
            with suppress(OSError):
                os.unlink(draft)
            raise
        os.close(handle)
        os.replace(draft, path)
        if durable:
            self.sync_folder(path.parent)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file for this handle alone; whether that was possible.

    The lock goes away with the handle, also if the process is killed.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def unlock(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
