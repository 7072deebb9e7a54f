"""Reads a log from its first byte to the first one that is not what was written."""

from __future__ import annotations

from typing import NamedTuple

from amplifier.sessions.record import BadRecord, NewerVersion, Record, decode

_WINDOW = 65_536


class Scan(NamedTuple):
    """What of a log is whole."""

    records: list[Record]
    whole_bytes: int
    """Where the whole part ends."""
    problem: str | None
    """What is wrong with what follows; None if nothing follows."""


def scan(content: bytes) -> Scan:
    """The whole records of a log: each is intact, and their numbers have no gap.

    Raises:
        NewerVersion: a newer program has written to it.
    """
    records: list[Record] = []
    start, length = 0, len(content)
    while start < length:
        end = content.find(b"\n", start) + 1 or length
        try:
            record = decode(content[start:end])
        except NewerVersion:
            raise
        except BadRecord as error:
            return Scan(records, start, f"Record {len(records)} is damaged: {error}.")
        if record.seq != len(records):
            told = f"Record {record.seq} follows where {len(records)} is due."
            return Scan(records, start, told)
        records.append(record)
        start = end
    return Scan(records, start, None)


def whole_records_after(content: bytes, start: int) -> int:
    """How many intact records follow a damage at `start`; a torn end has none."""
    found = 0
    for line in content[start:].splitlines(keepends=True)[1:]:
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
