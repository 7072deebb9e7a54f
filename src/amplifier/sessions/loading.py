"""Reads a session whole: its records with their large values, and the state they lead to."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from amplifier.sessions.packing import digests, refers, unpacked
from amplifier.sessions.projection import State, project
from amplifier.sessions.record import Record
from amplifier.sessions.store import NoSession, Store, Unavailable


async def load_records(store: Store, session_id: str) -> list[Record]:
    """All records, with large values in their places."""
    return [
        await _whole(store, session_id, each) if refers(each.line) else each
        for each in await store.read(session_id)
    ]


async def _whole(store: Store, session_id: str, record: Record) -> Record:
    blobs: dict[str, bytes | None] = {}
    waiting = set(digests(record.data))
    while waiting:
        digest = waiting.pop()
        try:
            content: bytes | None = await store.blob(session_id, digest)
        except NoSession:
            content = None
        blobs[digest] = content
        # A field that was put aside as a whole may refer to further values.
        if content is not None and refers(content):
            import json

            waiting |= set(digests(json.loads(content))) - blobs.keys()
    return record._replace(data=unpacked(record.data, blobs.get))


async def load(store: Store, session_id: str) -> State:
    """The state of a session.

    Raises:
        NoSession: there is none of that id.
    """
    with _building():
        state = project(await load_records(store, session_id))
    state.session_id = state.session_id or session_id
    return state


async def load_to_go_on(store: Store, session_id: str) -> tuple[State, int]:
    """The state of a session, and how many bytes of a torn end the next write will cut off.

    Raises:
        NoSession: there is none of that id.
        Unavailable: records that were once safe are damaged.
    """
    state = await load(store, session_id)
    tail = await store.tail(session_id)
    if tail.next_seq != state.next_seq or not state.next_seq:
        raise Unavailable(
            f"Session {session_id!r} is damaged after record {state.next_seq - 1}. See "
            f"`amplifier session verify {session_id}`, and mend it with "
            f"`amplifier session repair {session_id}`."
        )
    return state, tail.torn_bytes


@contextmanager
def _building() -> Iterator[None]:
    """Nothing of what is being built can be garbage, and looking for it takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
