"""Sessions as files: `events.jsonl` and what belongs to it, one folder for each session."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from amplifier.sessions import disk as disks
from amplifier.sessions.record import BadRecord, Record, now
from amplifier.sessions.scanning import find_end, scan, scan_file
from amplifier.sessions.store import (
    AppendNow,
    Claim,
    Durability,
    Fenced,
    Held,
    Listed,
    NoSession,
    Tail,
    Unavailable,
    Unknown,
    check_id,
)
from amplifier.sessions.workers import Workers

T = TypeVar("T")

LOG, TOMBSTONE, CLAIM, BLOBS = "events.jsonl", "deleted.json", "claim", "blobs"
SMALL = 1_000_000
"""Bytes that are read or written without a thread, if nobody has to wait for the disk."""


class FileStore:
    """All sessions of one folder."""

    def __init__(
        self, folder: Path, durability: Durability = "full", disk: disks.Disk | None = None
    ) -> None:
        self.folder = folder
        self._durability = durability
        self._disk = disk or disks.Disk()
        self._logs: dict[str, _Log] = {}
        self._claims: dict[str, int] = {}
        self._workers = Workers(4)

    @property
    def durability(self) -> Durability:
        return self._durability

    def folder_of(self, session_id: str) -> Path:
        check_id(session_id)
        return self.folder / session_id

    # -- the log ----------------------------------------------------------------------

    async def append(
        self, session_id: str, records: Sequence[Record], expected_seq: int, key: str
    ) -> int:
        write = partial(self._append, session_id, records, expected_seq, key)
        return await self._run(write, sum(len(each.line) for each in records))

    @property
    def append_now(self) -> AppendNow | None:
        return self._append if self._durability == "relaxed" else None

    def _append(
        self, session_id: str, records: Sequence[Record], expected_seq: int, key: str
    ) -> int:
        content = b"".join([each.line for each in records])
        return self._log(session_id).append(content, len(records), expected_seq, key)

    def _log(self, session_id: str) -> _Log:
        log = self._logs.get(session_id)
        if log is None:
            folder = self.folder_of(session_id)
            log = self._logs[session_id] = _Log(folder, self._disk, self._durability)
        return log

    async def _run(self, work: Callable[[], T], size: int) -> T:
        """Do what may take long in a thread, so that the event loop goes on."""
        if self._durability == "relaxed" and size <= SMALL:
            return work()
        return await self._workers.run(work)

    async def read(self, session_id: str, start: int = 0) -> list[Record]:
        path = self.folder_of(session_id) / LOG
        try:
            size = path.stat().st_size
            content = await self._run(path.read_bytes, size)
            # Not in the thread: what a thread allocates in pieces takes half as long again.
            found = scan(BytesIO(content))
            return found.records[start:] if start else found.records
        except FileNotFoundError:
            raise _none(session_id) from None
        except (OSError, BadRecord) as error:
            raise _unreadable(path, error) from error

    async def tail(self, session_id: str) -> Tail:
        path = self.folder_of(session_id) / LOG
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return Tail(0, 0)
        except OSError as error:
            raise _unreadable(path, error) from error
        try:
            size = os.fstat(handle).st_size
            next_seq, end = find_end(handle, size)
            return Tail(next_seq, size - end)
        except (OSError, BadRecord) as error:
            raise _unreadable(path, error) from error
        finally:
            os.close(handle)

    # -- large values -----------------------------------------------------------------

    async def put(self, session_id: str, blobs: Mapping[str, bytes]) -> None:
        folder = self.folder_of(session_id) / BLOBS
        write = partial(self._put, folder, blobs)
        await self._run(write, sum(map(len, blobs.values())))

    def _put(self, folder: Path, blobs: Mapping[str, bytes]) -> None:
        try:
            self._disk.make_folder(folder, durable=self._durability == "full")
            for digest, content in blobs.items():
                path = folder / digest
                if not path.exists():
                    self._disk.write_file(path, content, durable=self._durability == "full")
        except OSError as error:
            raise _unwritable(folder, error) from error

    async def blob(self, session_id: str, digest: str) -> bytes:
        path = self.folder_of(session_id) / BLOBS / digest
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise NoSession(f"The value {digest!r} of {session_id!r} is gone.") from None
        except OSError as error:
            raise _unreadable(path, error) from error
        if sha256(content).hexdigest() != digest:
            raise NoSession(f"The value {digest!r} of {session_id!r} is damaged.")
        return content

    # -- all of them ------------------------------------------------------------------

    async def list(self) -> Sequence[Listed]:
        found = []
        try:
            for each in os.scandir(self.folder):
                with suppress(FileNotFoundError, NotADirectoryError):
                    status = os.stat(os.path.join(each.path, LOG))
                    found.append(Listed(each.name, status.st_mtime, status.st_size))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(self.folder, error) from error
        return sorted(found, key=lambda each: (-each.changed, each.session_id))

    async def delete(self, session_id: str) -> None:
        folder = self.folder_of(session_id)
        if not (folder / LOG).exists():
            raise _none(session_id)
        claim = await self.claim(session_id, {"to": "delete it"})
        try:
            content = json.dumps({"session_id": session_id, "deleted": now()}).encode()
            # First the tombstone: a removal that was cut off is finished by the next one.
            self._disk.write_file(folder / TOMBSTONE, content, durable=True)
            self._disk.remove(folder / LOG)
            for each in folder.iterdir():
                if each.name not in (TOMBSTONE, CLAIM):
                    shutil.rmtree(each) if each.is_dir() else each.unlink()
        except OSError as error:
            raise _unwritable(folder, error) from error
        finally:
            await self.release(claim)
            self.forget(session_id)
        (folder / CLAIM).unlink(missing_ok=True)

    def forget(self, session_id: str) -> None:
        """Close what is open of a session."""
        log = self._logs.pop(session_id, None)
        if log is not None:
            log.close()

    # -- who writes -------------------------------------------------------------------

    async def claim(self, session_id: str, holder: Mapping[str, Any]) -> Claim:
        folder = self.folder_of(session_id)
        if (folder / TOMBSTONE).exists():
            raise NoSession(f"Session {session_id!r} was deleted.")
        path = folder / CLAIM
        try:
            self._disk.make_folder(folder, durable=self._durability == "full")
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unwritable(folder, error) from error
        if not disks.lock(handle, wait=False):
            known = _holder(handle)
            os.close(handle)
            raise Held(session_id, known)
        with suppress(OSError):  # who it is, is only a courtesy
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(dict(holder)).encode(), 0)
        claim = Claim(session_id, secrets.token_hex(4))
        self._claims[claim.token] = handle
        return claim

    async def renew(self, claim: Claim) -> None:
        handle = self._claims.get(claim.token)
        path = self.folder_of(claim.session_id) / CLAIM
        try:
            if handle is not None and os.path.samestat(os.fstat(handle), os.stat(path)):
                return
        except OSError:
            pass
        raise Fenced(f"Session {claim.session_id!r} has passed to another writer.")

    async def release(self, claim: Claim) -> None:
        handle = self._claims.pop(claim.token, None)
        if handle is not None:
            with suppress(OSError):
                os.ftruncate(handle, 0)
            os.close(handle)
        self.forget(claim.session_id)

    def close(self) -> None:
        """Close every file; claims end with that."""
        for session_id in list(self._logs):
            self.forget(session_id)
        for handle in self._claims.values():
            os.close(handle)
        self._claims.clear()
        self._workers.close()


class _Log:
    """One open log."""

    def __init__(self, folder: Path, disk: disks.Disk, durability: Durability) -> None:
        self._folder = folder
        self._path = folder / LOG
        self._disk = disk
        self._is_durable = durability == "full"
        self._handle: int | None = None
        self._end = 0
        """Where the whole records end."""
        self._size = -1
        self._doubtful_end: int | None = None
        """Where a write ended that failed, and could not be taken back."""
        self._next_seq = 0
        self._lock = threading.Lock()

    def append(self, content: bytes, count: int, expected: int, key: str) -> int:
        with self._lock:
            handle = self._opened()
            disks.lock(handle, wait=True)
            try:
                self._look_again(handle)
                if self._next_seq != expected:
                    self._refuse_unless_done(handle, expected + count, key)
                    return self._next_seq
                self._write(handle, content)
                self._next_seq += count
                return self._next_seq
            finally:
                disks.unlock(handle)

    def _opened(self) -> int:
        if self._handle is None:
            if (self._folder / TOMBSTONE).exists():
                raise Fenced(f"Session {self._folder.name!r} was deleted.")
            try:
                is_new = not self._path.exists()
                self._disk.make_folder(self._folder, durable=self._is_durable)
                self._handle = self._disk.open_log(self._path, create=True)
                if is_new and self._is_durable:
                    self._disk.sync_folder(self._folder)
            except OSError as error:
                raise _unwritable(self._path, error) from error
        return self._handle

    def _look_again(self, handle: int) -> None:
        """Find out where the log ends, if somebody else may have moved its end."""
        try:
            status = os.fstat(handle)
            if status.st_nlink == 0:
                raise Fenced(f"Session {self._folder.name!r} was deleted.")
            if self._doubtful_end is not None:
                status = self._without_doubtful(handle, status)
            if status.st_size != self._size:
                self._next_seq, self._end = find_end(handle, status.st_size)
                self._size = status.st_size
        except (OSError, BadRecord) as error:
            raise _unreadable(self._path, error) from error

    def _without_doubtful(self, handle: int, status: os.stat_result) -> os.stat_result:
        """Cut off what may be in memory only, unless somebody else has gone on from there.

        After a failed sync the system takes it for written, and no later sync would write it.
        """
        assert self._doubtful_end is not None
        if status.st_size <= self._doubtful_end:
            self._disk.truncate(handle, self._end)
        self._doubtful_end = None
        return os.fstat(handle)

    def _refuse_unless_done(self, handle: int, end: int, key: str) -> None:
        if self._next_seq >= end:
            records = scan_file(self._path).records
            if len(records) >= end and records[end - 1].key == key:
                return
        raise Fenced(
            f"Session {self._folder.name!r} was continued by another writer. "
            f"Resume it to see what is new, or go on in a copy: "
            f"`amplifier session fork {self._folder.name}`."
        )

    def _write(self, handle: int, content: bytes) -> None:
        try:
            if self._size > self._end:
                self._disk.truncate(handle, self._end)
            self._disk.append(handle, content)
            if self._is_durable:
                self._disk.sync(handle)
        except OSError as error:
            self._take_back(handle, self._end + len(content), error)
        self._end = self._size = self._end + len(content)

    def _take_back(self, handle: int, end: int, error: OSError) -> None:
        """See to it that nothing of a failed append is ever found."""
        self._size = -1
        try:
            self._disk.truncate(handle, self._end)
        except OSError:
            self._doubtful_end = end
            raise Unknown(f"{self._path} may have got what could not be saved: {error}") from error
        raise _unwritable(self._path, error) from error

    def close(self) -> None:
        # A write that hangs keeps its file; to wait for it here would hang everything else.
        if self._lock.acquire(blocking=False):
            try:
                if self._handle is not None:
                    os.close(self._handle)
                    self._handle = None
            finally:
                self._lock.release()


def _holder(handle: int) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(os.pread(handle, 10_000, 0))
        if isinstance(found, dict):
            return found
    return {}


def _none(session_id: str) -> NoSession:
    return NoSession(f"There is no session {session_id!r}. See `amplifier session list`.")


def _unreadable(path: Path, error: Exception) -> Unavailable:
    what = error.strerror if isinstance(error, OSError) and error.strerror else error
    return Unavailable(f"{path} cannot be read: {what}.")


def _unwritable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path} cannot be written: {error.strerror or error}. "
        f"Make room or give access, then resume the session."
    )
