"""Files that several processes share: written whole or not at all, one writer at a time."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from amplifier.settings.places import home

LONGEST_WAIT = 30.0
BETWEEN_LOOKS = 0.01


class Busy(Exception):
    """Another process keeps the lock for too long."""


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Replace `path` as a whole: readers see the old file or the new one, also after a crash."""
    data = content.encode() if isinstance(content, str) else content
    # A link is followed: who keeps settings elsewhere wants the file there changed.
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        mode = path.stat().st_mode & 0o777
    handle, temporary = tempfile.mkstemp(prefix=".amplifier-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def locked(path: Path, longest_wait: float = LONGEST_WAIT) -> Iterator[None]:
    """Be the only one, in any process, who changes `path`.

    Raises:
        Busy: somebody else does for longer than `longest_wait` seconds.
    """
    # Not beside the file: what lies in a project's folder is part of what is trusted.
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    lock = home() / "locks" / f"{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(descriptor, path, longest_wait)
        yield
    finally:
        # Closing gives the lock back, also when the process is killed.
        os.close(descriptor)


def _take(descriptor: int, path: Path, longest_wait: float) -> None:
    deadline = time.monotonic() + longest_wait
    while not _try_lock(descriptor):
        if time.monotonic() > deadline:
            raise Busy(
                f"Another process has been changing {str(path)!r} for {longest_wait:g} s. "
                f"Wait until it is done, or end it."
            )
        time.sleep(BETWEEN_LOOKS)


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
