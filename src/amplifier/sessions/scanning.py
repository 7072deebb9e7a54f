"""Reads a log from its first byte to the first one that is not what was written."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from amplifier.sessions.record import BadRecord, NewerVersion, Record, decode

_WINDOW = 65_536
_BUFFER = 262_144


class Scan(NamedTuple):
    """What of a log is whole."""

    records: list[Record]
    whole_bytes: int
    """Where the whole part ends."""
    problem: str | None
    """What is wrong with what follows; None if nothing follows."""


def scan(lines: Iterable[bytes]) -> Scan:
    """The whole records of a log, such as an open file: each is intact, and no number is missing.

    Raises:
        NewerVersion: a newer program has written to it.
    """
    records: list[Record] = []
    whole_bytes = 0
    for line in lines:
        try:
            record = decode(line, keeps_line=False)
        except NewerVersion:
            raise
        except BadRecord as error:
            return Scan(records, whole_bytes, f"Record {len(records)} is damaged: {error}.")
        if record.seq != len(records):
            told = f"Record {record.seq} follows where {len(records)} is due."
            return Scan(records, whole_bytes, told)
        records.append(record)
        whole_bytes += len(line)
    return Scan(records, whole_bytes, None)


def scan_file(path: Path) -> Scan:
    """The whole records of the log in a file.

    Raises:
        OSError: it cannot be read.
        NewerVersion: a newer program has written to it.
    """
    with path.open("rb", buffering=_BUFFER) as file:
        return scan(file)


def whole_records_after(content: bytes, start: int) -> int:
    """How many intact records follow a damage at `start`; a torn end has none."""
    found = 0
    for line in BytesIO(content[start:]).readlines()[1:]:
        try:
            decode(line)
        except BadRecord:
            continue
        found += 1
    return found


def find_end(handle: int, size: int) -> tuple[int, int]:
    """The number that comes after the last intact record, and where that record ends."""
    import os

    window = _WINDOW
    while True:
        start = max(0, size - window)
        content = os.pread(handle, size - start, start)
        # The first line of a window is a part of one, unless the window is everything.
        begin = 0 if start == 0 else content.find(b"\n") + 1 or len(content)
        found = _last_whole(content, begin)
        if found is not None:
            return found[0], start + found[1]
        if start == 0:
            return 0, 0
        window *= 8


def _last_whole(content: bytes, begin: int) -> tuple[int, int] | None:
    end = content.rfind(b"\n", begin) + 1
    while end > begin:
        start = content.rfind(b"\n", begin, end - 1) + 1 or begin
        try:
            return decode(content[start:end]).seq + 1, end
        except NewerVersion:
            raise
        except BadRecord:
            end = start
    return None
