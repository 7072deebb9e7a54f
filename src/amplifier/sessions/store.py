"""What keeps sessions: a small contract that files fulfil, and a database may.

Safety rests on `expected_seq` alone: an append goes through only where its writer thought the
log ended. A claim saves two writers from finding that out the hard way; it protects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from amplifier.sessions.record import Record

Durability = Literal["full", "relaxed"]
"""`full`: an append that returned survives a power failure; `relaxed`: a dead process."""


AppendNow = Callable[[str, Sequence[Record], int, str], int]


class StoreError(Exception):
    """A store did not do what it was asked to."""


class Fenced(StoreError):
    """Somebody else has written meanwhile; nothing was written, and never will be from here."""


class Unavailable(StoreError):
    """Nothing was written. It may work later."""


class Unknown(StoreError):
    """It may have been written or not: the same append again tells, or a look for its key."""


class Held(StoreError):
    """The session has a writer; `holder` says who."""

    def __init__(self, session_id: str, holder: Mapping[str, Any]) -> None:
        self.holder = dict(holder)
        who = ", ".join(f"{name} {value}" for name, value in self.holder.items()) or "somebody"
        super().__init__(
            f"Session {session_id!r} is in use ({who}). Wait for it to end, or go on in a copy: "
            f"`amplifier session fork {session_id}`."
        )


class NoSession(StoreError):
    """There is no such session, or no more."""


def check_id(session_id: str) -> None:
    """Refuse what could not be the name of a folder.

    Raises:
        NoSession: it is no such name.
    """
    if session_id in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(session_id):
        raise NoSession(f"{session_id!r} cannot be the id of a session. Use another.")


class Claim(NamedTuple):
    """The right to be a session's writer, until it is released or its holder is gone."""

    session_id: str
    token: str


class Tail(NamedTuple):
    """Where a log ends."""

    next_seq: int
    torn_bytes: int
    """What follows the last whole record; removed by the next append."""


class Listed(NamedTuple):
    """A session as a list shows it."""

    session_id: str
    changed: float
    """When it was last written to, in seconds since 1970."""
    size: int


class Store(Protocol):
    """Keeps the logs of many sessions. Session ids are file names without separators.

    Every method may raise `Unavailable`; those about one session raise `NoSession` for one
    that is not there, except `append` and `claim`, which begin it, and `tail`.
    """

    @property
    def durability(self) -> Durability:
        """What an append that returned survives."""

    async def append(
        self, session_id: str, records: Sequence[Record], expected_seq: int, key: str
    ) -> int:
        """Add records; the sequence number that comes next.

        `records` are numbered from `expected_seq` on, and the last one carries `key`. The same
        append again, known by its key, does nothing and succeeds. A crash may leave some of the
        records, but never a later one without those before it.

        Raises:
            Fenced: the log does not end at `expected_seq`, or the session was deleted.
            Unavailable: nothing was written.
            Unknown: it cannot be said which.
        """

    @property
    def append_now(self) -> AppendNow | None:
        """The same for a few small records, where that needs no waiting; None where it does."""

    async def put(self, session_id: str, blobs: Mapping[str, bytes]) -> None:
        """Keep large values by their SHA-256, as durable as records."""

    async def blob(self, session_id: str, digest: str) -> bytes:
        """A large value.

        Raises:
            NoSession: it is not there, or is not what it was.
        """

    async def read(self, session_id: str, start: int = 0) -> list[Record]:
        """All whole records from number `start` on, up to the first damage."""

    async def tail(self, session_id: str) -> Tail:
        """Where the log ends; an unknown session ends at 0."""

    async def list(self) -> Sequence[Listed]:
        """All sessions, the latest first."""

    async def claim(self, session_id: str, holder: Mapping[str, Any]) -> Claim:
        """Become the session's writer.

        Raises:
            Held: it has one, who is not gone.
            NoSession: it was deleted.
        """

    async def renew(self, claim: Claim) -> None:
        """Say that the holder is still there.

        Raises:
            Fenced: the claim has passed to somebody else.
        """

    async def release(self, claim: Claim) -> None:
        """Give the claim back; one that is no more is left alone."""

    async def delete(self, session_id: str) -> None:
        """Remove a session for good. Its id stays taken: nothing can be appended to it again.

        Raises:
            Held: it has a writer.
        """
