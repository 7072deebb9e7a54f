"""Makes a view shorter, oldest first, in one pass.

Two hands move from the oldest entry to the newest and never back: one shortens tool results,
one removes what can be removed. The levels say how far each hand may go before the other has
its turn, and everything stops as soon as the target is reached:

    level  hand     may go up to
    1      shorten  the oldest 25 % of the tool results
    2      shorten  50 %
    3      remove   the protected share of the newest messages
    4      shorten  75 %
    5      remove   0.6 of that share
    6      shorten  all but the protected results
    7      remove   0.3 of that share
    8      stub     the first user message
    9      both     the last message; only if the request would not fit otherwise

System and pinned messages stay. A call and its results stay or go together. User messages are
never removed: the removing hand stubs them, leaving out the first (until level 8) and the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from amplifier_modules.contexts.entries import Entry
from amplifier_modules.contexts.shortening import shortened_result, stubbed_user_message

_REMOVABLE = ("other", "result")


@dataclass(frozen=True)
class Protection:
    """What compaction leaves alone as long as it can."""

    recent_share: float
    results: int
    kept_chars: int


@dataclass(frozen=True)
class Outcome:
    """What a compaction came to."""

    entries: list[Entry]
    tokens: int
    level: int
    """The last level that changed anything; 0 if none did."""
    removed: int
    shortened: int
    stubbed: int


def compact(entries: Sequence[Entry], protection: Protection, target: int, limit: int) -> Outcome:
    """Bring `entries` to an estimate of `target`, or at least of `limit`, if that can be done."""
    run = _Run(entries, protection)
    run.to_target(target)
    if run.tokens > limit:
        # Room for a while, lest the next message brings it all up again.
        run.to_the_last_resort((max(target, 0) + limit) // 2)
    return run.outcome()


class _Run:
    def __init__(self, entries: Sequence[Entry], protection: Protection) -> None:
        self._before = [entry for entry in entries if entry.kind != "notice"]
        self._now: list[Entry | None] = list(self._before)
        self._protection = protection
        self.tokens = sum(entry.tokens for entry in self._before)
        self._level = 0
        self._reached = 0
        self._results = [i for i, entry in enumerate(self._before) if entry.kind == "result"]
        self._units = _by_last_member(self._before)
        self._next_result = self._next_unit = 0
        users = [i for i, entry in enumerate(self._before) if entry.role == "user"]
        people = [i for i in users if not self._before[i].is_injected]
        self._untouchable = {group[-1] for group in (users, people) if group}
        self._task = people[0] if people else None

    def to_target(self, target: int) -> None:
        results = len(self._results)
        free = max(0, results - self._protection.results)
        steps = (
            (self._shorten, min(free, results // 4)),
            (self._shorten, min(free, results // 2)),
            (self._remove, self._before_recent(1.0)),
            (self._shorten, min(free, results * 3 // 4)),
            (self._remove, self._before_recent(0.6)),
            (self._shorten, free),
            (self._remove, self._before_recent(0.3)),
            (self._stub_the_task, 0),
        )
        for self._level, (act, until) in enumerate(steps, start=1):
            act(until, target)

    def to_the_last_resort(self, goal: int) -> None:
        self._level = 9
        self._shorten(len(self._results), goal)
        self._remove(len(self._before) - 1, goal)

    def outcome(self) -> Outcome:
        pairs = list(zip(self._before, self._now, strict=True))
        changed = [old for old, new in pairs if new is not None and new is not old]
        stubbed = sum(1 for entry in changed if entry.kind == "user")
        return Outcome(
            entries=[entry for entry in self._now if entry is not None],
            tokens=self.tokens,
            level=self._reached,
            removed=sum(1 for entry in self._now if entry is None),
            shortened=len(changed) - stubbed,
            stubbed=stubbed,
        )

    def _before_recent(self, factor: float) -> int:
        """Where the protected zone begins; the last message is always inside."""
        total = len(self._before)
        return total - max(1, ceil(total * self._protection.recent_share * factor))

    def _shorten(self, until: int, goal: int) -> None:
        while self.tokens > goal and self._next_result < until:
            index = self._results[self._next_result]
            self._next_result += 1
            entry = self._now[index]
            if entry is not None:
                self._put(index, shortened_result(entry, self._protection.kept_chars))

    def _remove(self, before: int, goal: int) -> None:
        while self.tokens > goal and self._next_unit < len(self._units):
            unit = self._units[self._next_unit]
            if unit[-1] >= before:
                return
            self._next_unit += 1
            self._remove_unit(unit)

    def _remove_unit(self, unit: list[int]) -> None:
        entries = [self._before[index] for index in unit]
        if entries[0].kind == "user":
            if unit[0] != self._task:
                self._stub(unit[0])
        elif all(entry.kind in _REMOVABLE for entry in entries):
            for index in unit:
                self._take_out(index)

    def _take_out(self, index: int) -> None:
        entry, self._now[index] = self._now[index], None
        if entry is not None:
            self.tokens -= entry.tokens
            self._reached = self._level

    def _stub_the_task(self, _until: int, goal: int) -> None:
        if self._task is not None and self.tokens > goal:
            self._stub(self._task)

    def _stub(self, index: int) -> None:
        entry = self._now[index]
        if entry is not None and entry.kind == "user" and index not in self._untouchable:
            self._put(index, stubbed_user_message(entry))

    def _put(self, index: int, entry: Entry | None) -> None:
        before = self._now[index]
        if entry is not None and before is not None:
            self.tokens += entry.tokens - before.tokens
            self._now[index] = entry
            self._reached = self._level


def _by_last_member(entries: Sequence[Entry]) -> list[list[int]]:
    """Indices by unit, in the order in which the units end."""
    units: dict[int, list[int]] = {}
    for index, entry in enumerate(entries):
        # Taken out and put back, a unit moves to the end: dicts keep the order of insertion.
        members = units.pop(entry.unit, [])
        members.append(index)
        units[entry.unit] = members
    return list(units.values())
