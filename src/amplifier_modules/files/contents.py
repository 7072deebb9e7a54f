"""Reads files whole, and puts new content in their place.

New content is written beside the old and renamed over it. Whoever reads, and whatever kills
us, there is the old file or the new one.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from amplifier_modules.files.folders import Folder, Place
from amplifier_modules.files.opening import check_opened, opened
from amplifier_modules.files.policy import Guard
from amplifier_modules.files.refusals import Refused

with suppress(ImportError):  # there is none where folders cannot be opened either
    import fcntl

LOCK_SECONDS = 10.0
_POLL_SECONDS = 0.003
# Which of them a file uses depends on its path: few enough to keep, enough to be free mostly.
_LOCKS = [threading.Lock() for _ in range(64)]


class Snapshot(NamedTuple):
    """A file as it was at one moment."""

    content: bytes
    digest: str
    stat: os.stat_result


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def snapshot(place: Place, guard: Guard, most: int) -> Snapshot | None:
    """The file at `place`; None if there is none.

    Raises:
        Refused: it is not a regular file, or larger than `most` bytes.
    """
    if place.stat() is None:
        return None
    try:
        with opened(place.folder, place.name) as file:
            check_opened(file, place.folder, place.name, guard)
            content = file.read(most + 1)
            if len(content) > most:
                raise too_large(place.real, os.fstat(file.fileno()).st_size, most)
            return Snapshot(content, digest_of(content), os.fstat(file.fileno()))
    except FileNotFoundError:
        return None


def too_large(path: str, size: int, most: int) -> Refused:
    text = (
        f"{path!r} has {size} bytes, and up to {most} are changed at once. "
        "Use another tool, or raise 'max_file_size'."
    )
    return Refused(text, "FileTooLarge")


# -- one at a time --------------------------------------------------------------------


@contextmanager
def one_at_a_time(place: Place) -> Iterator[None]:
    """Keeps other changes of the file away, in this process and in others of our kind.

    Raises:
        Refused: another process does not let go.
    """
    lock = _LOCKS[zlib.crc32(os.fsencode(place.real)) % len(_LOCKS)]
    with lock, _folder_lock(place):
        yield


@contextmanager
def _folder_lock(place: Place) -> Iterator[None]:
    """The lock lies on the folder: the file itself is replaced, and no lock file remains."""
    try:
        handle = place.folder.readable()
    except OSError:
        yield  # what remains is the comparison right before the rename
        return
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                text = f"Another process keeps {place.real!r} locked. Try again later."
                raise Refused(text, "FileBusy")
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks; see above
    return True


# -- replacing ------------------------------------------------------------------------


def put(place: Place, content: bytes, old: Snapshot | None) -> None:
    """Make `content` the file at `place`, which must still be `old`, or nothing.

    Mode, owner and extended attributes of the old file are kept.

    Raises:
        Refused: the file is no longer what it was.
    """
    with _folder_for(place) as folder:
        draft = f".amplifier-{os.urandom(8).hex()}.tmp"
        try:
            _write_draft(folder, draft, content, place.name if old else None, old)
            _swap(folder, draft, place.name, old)
        except BaseException:
            with suppress(OSError):
                folder.remove(draft)
            raise
        _sync(folder)


@contextmanager
def _folder_for(place: Place) -> Iterator[Folder]:
    """The folder of the file, made if it is missing."""
    folder, made = place.folder, list[Folder]()
    try:
        for name in place.missing:
            folder.make(name)
            folder = folder.enter(name)
            made.append(folder)
        yield folder
    finally:
        for each in made:
            each.close()


def _write_draft(
    folder: Folder, draft: str, content: bytes, name: str | None, old: Snapshot | None
) -> None:
    # The umask decides about a new file; a replaced one gets its mode back below.
    mode = 0o666 if old is None else 0o600
    handle = folder.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        if old is not None and name is not None:
            _take_after(folder, name, handle, old.stat)
        os.fsync(handle)


def _take_after(folder: Folder, name: str, handle: int, old: os.stat_result) -> None:
    """Give the draft what else belongs to the old file, as far as the system lets us."""
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError), opened(folder, name) as file:
            for key in os.listxattr(file.fileno()):
                with suppress(OSError):
                    os.setxattr(handle, key, os.getxattr(file.fileno(), key))
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _swap(folder: Folder, draft: str, name: str, old: Snapshot | None) -> None:
    if old is None:
        _create(folder, draft, name)
        return
    try:
        with opened(folder, name) as file:
            unchanged = digest_of(file.read(len(old.content) + 1)) == old.digest
    except FileNotFoundError:
        unchanged = False
    if not unchanged:
        raise changed(folder.path(name))
    folder.rename(draft, name)


def _create(folder: Folder, draft: str, name: str) -> None:
    try:
        folder.link(draft, name)  # unlike a rename, it never replaces what came in between
    except FileExistsError as error:
        raise changed(folder.path(name)) from error
    except OSError:
        # A file system without hard links.
        with suppress(FileNotFoundError):
            folder.stat(name)
            raise changed(folder.path(name)) from None
        folder.rename(draft, name)
    else:
        folder.remove(draft)


def changed(path: str) -> Refused:
    text = f"{path!r} was changed by someone else since you read it. Read it again, then retry."
    return Refused(text, "FileChanged")


def _sync(folder: Folder) -> None:
    """See to it that the new name survives a power cut, where folders can be synced."""
    with suppress(OSError):
        handle = folder.readable()
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
