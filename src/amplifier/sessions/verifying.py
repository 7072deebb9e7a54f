"""What of a session is whole and what is not, and how the damaged part is put aside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from amplifier.sessions import disk as disks
from amplifier.sessions.events import REPAIRED
from amplifier.sessions.files import BLOBS, LOG, FileStore
from amplifier.sessions.packing import REF, references
from amplifier.sessions.projection import project
from amplifier.sessions.record import BadRecord, Record, new_record
from amplifier.sessions.scanning import scan, whole_records_after
from amplifier.sessions.store import NoSession, Unavailable


@dataclass
class Report:
    """The account of one session."""

    session_id: str
    records: int = 0
    """Whole ones, from the first on."""
    bytes: int = 0
    problem: str | None = None
    lost_bytes: int = 0
    """What follows the first damage."""
    records_after_damage: int = 0
    """Whole ones among that; a torn end has none."""
    missing_values: list[str] = field(default_factory=list)
    damaged_values: list[str] = field(default_factory=list)
    unused_values: list[str] = field(default_factory=list)
    open_calls: list[str] = field(default_factory=list)
    """Calls whose outcome is not known, to be settled when the session is resumed."""

    @property
    def is_whole(self) -> bool:
        return not (self.problem or self.missing_values or self.damaged_values)

    @property
    def is_torn(self) -> bool:
        """Whether only the last, unfinished write is damaged, as after a power failure."""
        return self.problem is not None and self.records_after_damage == 0

    def lines(self) -> list[str]:
        """The account for a person."""
        told = [f"{self.records} records are whole ({self.bytes} bytes)."]
        if self.problem is not None:
            after = self.records_after_damage
            told.append(f"{self.problem} {self.lost_bytes} bytes follow, {after} whole records.")
        told += [f"Value {each} is missing." for each in self.missing_values]
        told += [f"Value {each} is damaged." for each in self.damaged_values]
        told += [f"Value {each} is used by no record." for each in self.unused_values]
        told += [f"Interrupted, outcome unknown: {each}." for each in self.open_calls]
        return told

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "whole": self.is_whole}


def verify(store: FileStore, session_id: str) -> Report:
    """Read everything that a session consists of.

    Raises:
        NoSession: there is none.
    """
    content = _content(store, session_id)
    report = Report(session_id)
    try:
        found = scan(BytesIO(content))
    except BadRecord as error:
        report.problem = f"The log cannot be read: {error}."
        return report
    report.records, report.bytes = len(found.records), found.whole_bytes
    report.problem, report.lost_bytes = found.problem, len(content) - found.whole_bytes
    if found.problem is not None:
        report.records_after_damage = whole_records_after(content, found.whole_bytes)
    _check_values(store.folder_of(session_id) / BLOBS, found.records, report)
    calls = project(found.records).open_calls
    started = [each for each in calls if each.state == "started"]
    report.open_calls = [f"{each.tool} ({each.call_id})" for each in started]
    return report


def _content(store: FileStore, session_id: str) -> bytes:
    path = store.folder_of(session_id) / LOG
    try:
        return path.read_bytes()
    except FileNotFoundError:
        told = f"There is no session {session_id!r}. See `amplifier session list`."
        raise NoSession(told) from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error


def _check_values(folder: Path, records: Iterable[Record], report: Report) -> None:
    used = {str(each[REF]) for record in records for each in references(record.data)}
    there = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    report.missing_values = sorted(used - there)
    report.unused_values = sorted(there - used)
    for digest in sorted(used & there):
        if sha256((folder / digest).read_bytes()).hexdigest() != digest:
            report.damaged_values.append(digest)


def repair(store: FileStore, session_id: str) -> Report:
    """Keep the whole part, put what follows aside in a file, and say so in the log.

    Raises:
        Held: the session is in use.
    """
    report = verify(store, session_id)
    if report.problem is None or report.bytes == 0:
        return report
    claim = asyncio.run(store.claim(session_id, {"to": "repair it"}))
    try:
        _cut(store.folder_of(session_id), report)
        data = {"problem": report.problem, "lost_bytes": report.lost_bytes}
        record = new_record(report.records, REPAIRED, data, key=f"{claim.token}.repair")
        asyncio.run(store.append(session_id, [record], report.records, f"{claim.token}.repair"))
    finally:
        asyncio.run(store.release(claim))
        store.close()
    return report


def _cut(folder: Path, report: Report) -> None:
    disk, path = disks.Disk(), folder / LOG
    with path.open("r+b") as log:
        log.seek(report.bytes)
        aside = folder / f"events.damaged-{report.records}.bin"
        disk.write_file(aside, log.read(), durable=True)
        log.truncate(report.bytes)
        os.fsync(log.fileno())
