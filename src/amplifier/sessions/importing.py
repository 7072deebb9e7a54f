"""Takes over sessions of the public layout: `transcript.jsonl` and `metadata.json`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from amplifier_core.events import PROMPT_SUBMIT

from amplifier.sessions import events
from amplifier.sessions.journal import Journal
from amplifier.sessions.live import holder
from amplifier.sessions.masking import Masker
from amplifier.sessions.packing import packed_message
from amplifier.sessions.shapes import in_shape
from amplifier.sessions.store import Held, NoSession, Store


async def import_session(store: Store, folder: Path) -> str:
    """Write the conversation in `folder` into a new log; the id of the session.

    Raises:
        ValueError: there is no conversation.
    """
    metadata = _metadata(folder)
    messages, skipped = _messages(folder)
    if not messages:
        raise ValueError(f"{folder} holds no conversation. It needs a file transcript.jsonl.")
    given = metadata.get("session_id")
    journal = await _new_journal(store, given if isinstance(given, str) else "")
    session_id = journal.session_id
    try:
        kept = ("model", "bundle", "working_dir", "created", "agent_name")
        facts = {name: metadata[name] for name in kept if name in metadata}
        origin = {"session_id": given, "skipped_lines": skipped, **facts}
        ids = {"session_id": session_id, "parent_id": metadata.get("parent_id")}
        journal.note(events.CREATED, {**ids, "imported_from": origin, **facts})
        if metadata.get("name"):
            journal.note(events.NAMED, {"name": str(metadata["name"])})
        _note_messages(journal, messages)
    finally:
        await journal.close()
    return session_id


async def _new_journal(store: Store, wanted: str) -> Journal:
    """A journal that is claimed; of another id than the wanted one if that cannot be had."""
    with suppress(NoSession, Held):
        if not (await store.tail(wanted)).next_seq:
            journal = Journal(store, wanted, 0, Masker())
            await journal.claim(holder())
            return journal
    return await _new_journal(store, str(uuid4()))


def _note_messages(journal: Journal, messages: list[dict[str, Any]]) -> None:
    has_turn = False
    for message in messages:
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, str):
            if has_turn:
                journal.note(events.TURN_END, {"status": "success"})
            seq, has_turn = journal.note(PROMPT_SUBMIT, {"prompt": content}), True
            slim = {name: value for name, value in message.items() if name != "content"}
            journal.note(events.MESSAGE, {"message": slim, "content_of": seq})
        else:
            shaped = in_shape(message) if message.get("role") == "assistant" else message
            journal.note(events.MESSAGE, {"message": packed_message(shaped)})
    if has_turn:
        journal.note(events.TURN_END, {"status": "success"})


def _metadata(folder: Path) -> dict[str, Any]:
    for name in ("metadata.json", "metadata.json.backup"):
        try:
            found = json.loads((folder / name).read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _messages(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """The messages, and how many lines are none."""
    try:
        lines = (folder / "transcript.jsonl").read_bytes().splitlines()
    except FileNotFoundError:
        return [], 0
    found, skipped = [], 0
    for line in filter(None, lines):
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict) and isinstance(message.get("role"), str):
            found.append({k: v for k, v in message.items() if k != "timestamp"})
        else:
            skipped += 1
    return found, skipped
