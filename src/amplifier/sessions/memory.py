"""A store that forgets: for replays, and for what is not to be kept."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from amplifier.sessions.record import Record, decode
from amplifier.sessions.store import (
    Claim,
    Durability,
    Fenced,
    Held,
    Listed,
    NoSession,
    Tail,
    check_id,
)


class MemoryStore:
    """Keeps sessions as long as the process lives."""

    durability: Durability = "relaxed"

    def __init__(self) -> None:
        self._logs: dict[str, list[Record]] = {}
        self._blobs: dict[tuple[str, str], bytes] = {}
        self._claims: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._changed: dict[str, float] = {}
        self._deleted: set[str] = set()

    async def append(
        self, session_id: str, records: Sequence[Record], expected_seq: int, key: str
    ) -> int:
        return self.append_now(session_id, records, expected_seq, key)

    def append_now(
        self, session_id: str, records: Sequence[Record], expected_seq: int, key: str
    ) -> int:
        check_id(session_id)
        if session_id in self._deleted:
            raise Fenced(f"Session {session_id!r} was deleted.")
        log = self._logs.setdefault(session_id, [])
        end = expected_seq + len(records)
        if len(log) != expected_seq:
            if len(log) >= end and log[end - 1].key == key:
                return len(log)
            raise Fenced(f"Session {session_id!r} was continued by another writer.")
        log += [decode(each.line) for each in records]
        self._changed[session_id] = time.time()
        return len(log)

    async def put(self, session_id: str, blobs: Mapping[str, bytes]) -> None:
        self._blobs |= {(session_id, digest): content for digest, content in blobs.items()}

    async def blob(self, session_id: str, digest: str) -> bytes:
        try:
            return self._blobs[session_id, digest]
        except KeyError:
            raise NoSession(f"The value {digest!r} of {session_id!r} is gone.") from None

    async def read(self, session_id: str, start: int = 0) -> list[Record]:
        if session_id not in self._logs:
            raise NoSession(f"There is no session {session_id!r}.")
        return self._logs[session_id][start:]

    async def tail(self, session_id: str) -> Tail:
        return Tail(len(self._logs.get(session_id, ())), 0)

    async def list(self) -> Sequence[Listed]:
        newest = sorted(self._logs, key=lambda each: -self._changed[each])
        sizes = {each: sum(len(record.line) for record in self._logs[each]) for each in newest}
        return [Listed(each, self._changed[each], sizes[each]) for each in newest]

    async def claim(self, session_id: str, holder: Mapping[str, Any]) -> Claim:
        if session_id in self._deleted:
            raise NoSession(f"Session {session_id!r} was deleted.")
        if session_id in self._claims:
            raise Held(session_id, self._claims[session_id][1])
        claim = Claim(session_id, secrets.token_hex(4))
        self._claims[session_id] = claim.token, holder
        return claim

    async def renew(self, claim: Claim) -> None:
        if self._claims.get(claim.session_id, ("",))[0] != claim.token:
            raise Fenced(f"Session {claim.session_id!r} has passed to another writer.")

    async def release(self, claim: Claim) -> None:
        if self._claims.get(claim.session_id, ("",))[0] == claim.token:
            del self._claims[claim.session_id]

    async def delete(self, session_id: str) -> None:
        if session_id in self._claims:
            raise Held(session_id, self._claims[session_id][1])
        if self._logs.pop(session_id, None) is None:
            raise NoSession(f"There is no session {session_id!r}.")
        self._blobs = {key: each for key, each in self._blobs.items() if key[0] != session_id}
        self._deleted.add(session_id)
