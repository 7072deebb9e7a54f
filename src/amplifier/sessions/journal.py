"""Writes one session's log: what is noted is on disk when `commit()` returns."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

from amplifier.sessions.masking import Masker
from amplifier.sessions.packing import Blobs, packed
from amplifier.sessions.record import Record, encode, now
from amplifier.sessions.store import AppendNow, Claim, Store, StoreError, Unavailable, Unknown

SECONDS_TO_WRITE = 60.0
"""A disk that takes longer counts as broken."""

QUICK = 200_000
"""Characters that are written at once where nobody has to wait for a disk."""

SECONDS_TO_JOIN = 0.02
"""How long a record that nothing waits for yet may wait for one that something does."""


class _Noted(NamedTuple):
    seq: int
    ts: str
    event: str
    data: str


class Journal:
    """The only writer of a log. After a failed write it writes nothing more.

    What could not be written is unknown to whoever resumes the session; going on as if it
    were there would make two different sessions of one.
    """

    def __init__(self, store: Store, session_id: str, next_seq: int, masker: Masker) -> None:
        self.store = store
        self.session_id = session_id
        self.next_seq = next_seq
        self.failure: StoreError | None = None
        self.masker = masker
        self._append_now = store.append_now
        self._claim: Claim | None = None
        self._written_seq = next_seq
        self._pending: list[_Noted] = []
        self._blobs: Blobs = {}
        self._flushing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def claim(self, holder: dict[str, Any]) -> None:
        """Become the session's writer; the first record that follows has to say so.

        Raises:
            Held: it has another one.
        """
        self._claim = await self.store.claim(self.session_id, holder)

    @property
    def is_claimed(self) -> bool:
        return self._claim is not None

    def note(self, event: str, data: dict[str, Any]) -> int:
        """Keep a record for the next commit; its number."""
        return self.note_packed(event, *packed(data, self.masker))

    async def note_large(self, event: str, data: dict[str, Any]) -> int:
        """The same for data that takes long to write down."""
        return self.note_packed(event, *await asyncio.to_thread(packed, data, self.masker))

    def note_packed(self, event: str, text: str, blobs: Blobs) -> int:
        seq = self.next_seq
        self.next_seq += 1
        self._pending.append(_Noted(seq, now(), event, text))
        if blobs:
            self._blobs |= blobs
        return seq

    async def commit(self, end: int | None = None) -> None:
        """Wait until all that was noted so far, or before record `end`, is safe.

        That is as safe as the store makes it. Commits at the same time share a write.

        Raises:
            StoreError: it is not, and nothing more will be written.
        """
        wanted = self.next_seq if end is None else end
        while not self.is_written(wanted):
            if self._flushing is None:
                self._flushing = asyncio.ensure_future(self._flush())
            # Whoever waits may be cancelled; the others, and the write, are not.
            await asyncio.shield(self._flushing)

    def is_there(self, end: int) -> bool:
        """Whether all records before `end` are safe.

        Raises:
            StoreError: they, or others, never will be.
        """
        if self.failure is not None:
            raise self.failure
        return self._written_seq >= end

    def is_written(self, wanted: int | None = None) -> bool:
        """The same for all that was noted, which is written now if that needs no waiting."""
        wanted = self.next_seq if wanted is None else wanted
        if self.is_there(wanted):
            return True
        if self._append_now is not None and self._is_small:
            self._write_now(self._append_now)
        return self.is_there(wanted)

    def begin_commit(self) -> None:
        """Write what was noted, while others go on; a later commit waits for it, or fails."""
        if self._flushing is not None:
            self.commit_soon()
        elif not self.is_written():
            self._flushing = asyncio.ensure_future(self._flush())

    def commit_soon(self) -> None:
        """Commit together with what comes next, or alone if nothing comes."""
        if self._timer is None:
            wait = asyncio.get_running_loop().call_later
            self._timer = wait(SECONDS_TO_JOIN, self._commit_alone)

    def _commit_alone(self) -> None:
        self._timer = None
        if self._pending and self.failure is None:
            with suppress(StoreError):  # the next commit tells
                self.begin_commit()

    @property
    def _is_small(self) -> bool:
        """Whether a write takes no time that others would feel, and nothing is under way."""
        if self._flushing is not None or self._blobs:
            return False
        return len(self._pending) == 1 or sum(len(each.data) for each in self._pending) <= QUICK

    def _write_now(self, append: AppendNow) -> None:
        first, count = self._written_seq, len(self._pending)
        try:
            append(self.session_id, *self._records(first, self._pending))
        except Unknown:
            return  # the same append once more, with time to look into it
        except StoreError as error:
            self.failure = error
            raise
        self._pending.clear()
        self._written_seq += count

    async def _flush(self) -> None:
        pending, self._pending = self._pending, []
        blobs, self._blobs = self._blobs, {}
        try:
            async with asyncio.timeout(SECONDS_TO_WRITE):
                if blobs:
                    await self.store.put(self.session_id, blobs)
                await self._append(pending)
            self._written_seq += len(pending)
        except StoreError as error:
            self.failure = error
        except TimeoutError:
            self.failure = Unavailable(
                f"The log of session {self.session_id!r} could not be written within "
                f"{SECONDS_TO_WRITE:g} s. See what the disk is doing, then resume the session."
            )
        except Exception as error:
            self.failure = Unavailable(f"The log of {self.session_id!r} cannot be written: {error}")
            self.failure.__cause__ = error
        except asyncio.CancelledError:
            self.failure = Unavailable(f"The log of {self.session_id!r} was closed while written.")
            raise
        finally:
            self._flushing = None

    async def _append(self, pending: list[_Noted]) -> None:
        records, first, key = self._records(pending[0].seq, pending)
        try:
            await self.store.append(self.session_id, records, first, key)
        except Unknown:
            # If it is there, it is known by its key. To have read it is not to have it safe.
            await self.store.append(self.session_id, records, first, key)

    def _records(self, first: int, pending: list[_Noted]) -> tuple[list[Record], int, str]:
        """What is pending, as an append: records, where they go, and what it is known by."""
        token = self._claim.token if self._claim else "none"
        key = f"{token}.{first}"
        records = [_record(each, None) for each in pending[:-1]]
        return [*records, _record(pending[-1], key)], first, key

    async def close(self) -> None:
        """Write what is left and give the session back."""
        try:
            if self._claim is not None and self.failure is None:
                await self.commit()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if self._flushing is not None:
                await asyncio.wait([self._flushing])
            if self._claim is not None:
                claim, self._claim = self._claim, None
                await self.store.release(claim)


def _record(noted: _Noted, key: str | None) -> Record:
    line = encode(noted.seq, noted.ts, noted.event, noted.data, key)
    return Record(noted.seq, noted.ts, noted.event, {}, key, line)
