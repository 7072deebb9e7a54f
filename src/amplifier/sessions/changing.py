"""Changes to sessions that are not running: names, copies, and which are old."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from amplifier.sessions import events
from amplifier.sessions.files import FileStore
from amplifier.sessions.journal import Journal
from amplifier.sessions.live import holder
from amplifier.sessions.loading import load_records
from amplifier.sessions.masking import Masker
from amplifier.sessions.places import all_stores, store_of
from amplifier.sessions.projection import project
from amplifier.sessions.record import Record
from amplifier.sessions.store import Store

_SEQ = re.compile(r"seq:(\d+)")


async def rename(store: Store, session_id: str, name: str) -> None:
    """Give a session a name; an empty one takes it away."""
    tail = await store.tail(session_id)
    journal = Journal(store, session_id, tail.next_seq, Masker())
    await journal.claim(holder())
    try:
        journal.note(events.CLAIMED, holder())
        journal.note(events.NAMED, {"name": name})
    finally:
        await journal.close()


async def fork(store: Store, session_id: str, at: str | None, name: str | None = None) -> str:
    """Copy a session up to a turn, a record or its end; the id of the copy.

    Raises:
        ValueError: there is no such turn or record.
    """
    records = await load_records(store, session_id)
    kept = records[: end_of(records, at)]
    new_id = str(uuid4())
    journal = Journal(store, new_id, 0, Masker())
    await journal.claim(holder())
    try:
        _copy(journal, kept, session_id, new_id)
        if name:
            journal.note(events.NAMED, {"name": name})
    finally:
        await journal.close()
    return new_id


def _copy(journal: Journal, records: list[Record], old_id: str, new_id: str) -> None:
    """The numbers stay the same: records refer to each other by them."""
    origin = {"session_id": old_id, "records": len(records)}
    for record in records:
        data: dict[str, Any] = record.data
        if record.event == events.CREATED:
            data = {**data, "session_id": new_id, "parent_id": None, "forked_from": origin}
        journal.note(record.event, data)


def end_of(records: list[Record], at: str | None) -> int:
    """How many records a copy gets."""
    if at is None:
        return len(records)
    by_seq = _SEQ.fullmatch(at)
    if by_seq is not None:
        end = int(by_seq[1]) + 1
        if not 0 < end <= len(records):
            raise ValueError(f"There is no record {end - 1}. The last one is {len(records) - 1}.")
        return end
    turns = project(records).turns
    if not at.isdigit() or not 0 < int(at) <= len(turns):
        raise ValueError(f"There is no turn {at!r}. Use 1 to {len(turns)}, or seq:RECORD.")
    turn = turns[int(at) - 1]
    following = turns[int(at)].seq if int(at) < len(turns) else len(records)
    return turn.end_seq + 1 if turn.end_seq is not None else following


def unused(days: int, all_projects: bool) -> list[tuple[FileStore, str]]:
    """Sessions that nobody has written to for so many days."""
    before = time.time() - days * 86_400
    stores = all_stores() if all_projects else [store_of(Path.cwd())]
    return [
        (store, each.session_id)
        for store in stores
        for each in asyncio.run(store.list())
        if each.changed < before
    ]
