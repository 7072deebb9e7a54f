"""What was decided about a call, by which rule and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Action = Literal["allow", "ask", "deny"]

_STRENGTH: dict[Action, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision. `rule` names what decided, as `deny[0]` or `built-in: ...`."""

    action: Action
    rule: str
    reason: str
    about: str = ""
    """The part of a command that this is about; empty for a whole call."""


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The first of the strictest: deny beats ask, ask beats allow."""
    return max(verdicts, key=lambda each: _STRENGTH[each.action])
