"""Reads a session whole: its records with their large values, and the state they lead to."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager

from amplifier.sessions.packing import REF, references, unpacked
from amplifier.sessions.projection import State, project
from amplifier.sessions.record import Record
from amplifier.sessions.store import NoSession, Store, Unavailable


async def load_records(store: Store, session_id: str) -> list[Record]:
    """All records, with large values in their places."""
    return [
        await _whole(store, session_id, each) if each.has_references else each
        for each in await store.read(session_id)
    ]


async def _whole(store: Store, session_id: str, record: Record) -> Record:
    blobs: dict[str, bytes | None] = {}
    waiting = {str(each[REF]): each for each in references(record.data)}
    while waiting:
        digest, reference = waiting.popitem()
        try:
            blobs[digest] = content = await store.blob(session_id, digest)
        except NoSession:
            blobs[digest] = None
            continue
        # A field that was put aside as a whole may refer to further values.
        inner = references(json.loads(content)) if reference.get("as") == "json" else ()
        waiting |= {str(each[REF]): each for each in inner if each[REF] not in blobs}
    return record._replace(data=unpacked(record.data, blobs.get))


async def load(store: Store, session_id: str) -> State:
    """The state of a session.

    Raises:
        NoSession: there is none of that id.
    """
    with undisturbed():
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
def undisturbed() -> Iterator[None]:
    """Nothing of what is being built can be garbage, and looking for it takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
