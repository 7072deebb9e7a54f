"""Exports of sessions, without what looks like a secret or personal data."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from typing import Any

from amplifier_core import ModuleCoordinator

from amplifier.sessions.exporting import as_document, as_page
from amplifier.sessions.loading import load_records
from amplifier.sessions.masking import Masker
from amplifier.sessions.projection import project
from amplifier.sessions.record import Record, new_record
from amplifier.sessions.store import Store, Unavailable

MODULE, CAPABILITY = "hooks-redaction", "redaction.redactor"


async def exported(store: Store, session_id: str, shape: str, *, redact: bool) -> str:
    """A session as text: `markdown`, `json`, or `jsonl` with all values in their places.

    Raises:
        Unavailable: there is no module that finds secrets.
    """
    records = await load_records(store, session_id)
    records = await redacted(records) if redact else records
    if shape == "jsonl":
        return b"".join(each.line for each in rewritten(records)).decode()
    state = project(records)
    state.session_id = state.session_id or session_id
    return (
        as_page(state) if shape == "markdown" else json.dumps(as_document(state), indent=2) + "\n"
    )


async def redacted(records: list[Record]) -> list[Record]:
    """The records with secrets masked: known values, and what looks like one."""
    redactor, masker = await _redactor(), Masker()
    found = []
    for record in records:
        masked, _ = redactor.redact(json.loads(json.dumps(record.data)))
        found.append(record._replace(data=masker.value(masked)))
    return found


def rewritten(records: list[Record]) -> list[Record]:
    """The records with lines that fit their data."""
    return [
        new_record(each.seq, each.event, each.data, key=each.key, ts=each.ts) for each in records
    ]


async def _redactor() -> Any:
    """What the installed module offers to everyone who writes things down."""
    for point in entry_points(group="amplifier.modules", name=MODULE):
        coordinator = ModuleCoordinator()
        await point.load()(coordinator, {})
        found = coordinator.get_capability(CAPABILITY)
        if found is not None:
            return found
    raise Unavailable(
        f"No module {MODULE!r} is installed, so that secrets would be exported. "
        f"Install one, or use --no-redaction."
    )
