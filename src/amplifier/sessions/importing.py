"""Takes over sessions of the public layout: `transcript.jsonl` and `metadata.json`."""

from __future__ import annotations

import json
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
from amplifier.sessions.store import Store


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
    session_id = given if isinstance(given, str) and not set(given) & set("/\\\0") else ""
    if not session_id or (await store.tail(session_id)).next_seq:
        session_id = str(uuid4())
    journal = Journal(store, session_id, 0, Masker())
    await journal.claim(holder())
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
