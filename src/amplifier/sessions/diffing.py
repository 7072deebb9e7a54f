"""Where two logs begin to differ, leaving aside what differs in every run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from amplifier_core.events import TOOL_POST, TOOL_PRE

from amplifier.sessions import events
from amplifier.sessions.record import Record, to_json

_UNTOLD = frozenset(
    {
        events.CREATED,
        events.CLAIMED,
        events.COMPOSED,
        events.NAMED,
        events.LIMITED,
        events.REPAIRED,
        "session:end",
        "session:fork",
    }
)
"""Records about who ran it, not about what happened."""
_VOLATILE = frozenset(
    {
        "content_of", "delay_ms", "duration_ms", "elapsed_ms", "idempotency_key", "model",
        "parallel_group_id", "part", "provider", "request_id", "session_id", "spill",
        "timestamp", "ts", "usage",
    }
)  # fmt: skip
_OF_CALLS = (TOOL_PRE, TOOL_POST, events.ASKED, events.ANSWERED)
LONGEST = 300


class Difference(NamedTuple):
    """The first event that is not the same."""

    number: int
    """Of the event, counted from 1 among those that are compared."""
    seq: int | None
    event: str
    expected: str
    found: str

    def __str__(self) -> str:
        where = "" if self.seq is None else f" (record {self.seq})"
        return (
            f"Event {self.number}{where} differs: {self.event}\n"
            f"  first:  {self.expected[:LONGEST]}\n  second: {self.found[:LONGEST]}"
        )


def first_difference(one: Sequence[Record], other: Sequence[Record]) -> Difference | None:
    """The first event in which two logs differ."""
    pairs = zip_longest(_told(one), _told(other))
    for number, (mine, theirs) in enumerate(pairs, start=1):
        texts = [_written(each) for each in (mine, theirs)]
        if texts[0] != texts[1]:
            seq, event = (mine or theirs)[:2]
            return Difference(number, seq if mine else None, event, *texts)
    return None


def _written(told: tuple[int, str, Any] | None) -> str:
    return "nothing" if told is None else f"{told[1]} {to_json(told[2])}"


def _told(records: Sequence[Record]) -> list[tuple[int, str, Any]]:
    """What is compared: calls that ran side by side are put in the order of the calls."""
    told: list[tuple[int, str, Any]] = []
    group: list[tuple[int, str, Any]] = []
    order: dict[str, int] = {}
    for record in records:
        if record.event in _UNTOLD:
            continue
        entry = record.seq, record.event, _stable(record.data)
        if record.event in _OF_CALLS:
            group.append(entry)
            continue
        told += _in_order(group, order)
        group = []
        calls = (record.data.get("message") or {}).get("tool_calls") or ()
        order = {each.get("id"): at for at, each in enumerate(calls)} or order
        told.append(entry)
    return told + _in_order(group, order)


def _in_order(group: list[tuple[int, str, Any]], order: dict[str, int]) -> list[Any]:
    return sorted(group, key=lambda entry: order.get(entry[2].get("tool_call_id"), len(order)))


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stable(value[name]) for name in sorted(value) if name not in _VOLATILE}
    if isinstance(value, list):
        return [_stable(each) for each in value]
    return value
