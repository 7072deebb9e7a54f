"""Reads a session whole: its records with their large values, and the state they lead to."""

from __future__ import annotations

from amplifier.sessions.packing import digests, refers, unpacked
from amplifier.sessions.projection import State, project
from amplifier.sessions.record import Record
from amplifier.sessions.store import NoSession, Store


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
    state = project(await load_records(store, session_id))
    state.session_id = state.session_id or session_id
    return state
