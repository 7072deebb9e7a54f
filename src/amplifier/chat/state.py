"""What is going on in a turn: the facts behind the status line and the part that still moves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .texts import seconds_text, tokens_text


@dataclass(slots=True)
class RunningTool:
    """A call that has not come back."""

    name: str
    given: Any
    started: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        return time.monotonic() - self.started


@dataclass(slots=True)
class Spent:
    """Tokens and money of the session, as far as providers tell."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    cost: Decimal | None = None
    has_unknown_cost: bool = False
    latest_request: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        asked = _count(usage, "input_tokens") + _count(usage, "cache_write_tokens")
        self.tokens_in += asked
        self.tokens_out += _count(usage, "output_tokens")
        self.cached += _count(usage, "cache_read_tokens")
        self.latest_request = asked + _count(usage, "output_tokens")
        cost = _cost(usage.get("cost_usd"))
        if cost is None:
            self.has_unknown_cost = True
        else:
            self.cost = (self.cost or Decimal(0)) + cost

    def cost_text(self) -> str:
        if self.cost is None:
            return ""
        return f"${self.cost:.4f}" + (" + ?" if self.has_unknown_cost else "")


@dataclass(slots=True)
class State:
    """One conversation, as a person sees it."""

    model: str = ""
    window: int | None = None
    spent: Spent = field(default_factory=Spent)
    waits_for: str | None = None
    """What a running turn waits for; None between turns."""
    turn_started: float = 0.0
    tools: dict[str, RunningTool] = field(default_factory=dict)
    is_stopping: bool = False
    steering: int = 0
    """Messages of the user that the model has not read yet."""

    @property
    def is_running(self) -> bool:
        return self.waits_for is not None

    def turn_begins(self) -> None:
        self.waits_for, self.turn_started, self.is_stopping = "the model", time.monotonic(), False

    def turn_ends(self) -> None:
        self.waits_for, self.is_stopping, self.steering = None, False, 0
        self.tools.clear()

    def activity(self) -> str:
        """What is being waited for, and for how long."""
        if not self.is_running:
            return ""
        elapsed = seconds_text(time.monotonic() - self.turn_started)
        what = "stopping after this step" if self.is_stopping else f"waiting for {self.waits_for}"
        said = f", {self.steering} of your messages not read yet" if self.steering else ""
        return f"{what} ({elapsed}{said})"

    def status(self) -> str:
        """The line at the foot of the terminal."""
        spent = self.spent
        parts = [self.model]
        if spent.tokens_in:
            cached = f", {spent.cached / spent.tokens_in:.0%} cached" if spent.cached else ""
            parts.append(
                f"in {tokens_text(spent.tokens_in)}{cached}, out {tokens_text(spent.tokens_out)}"
            )
        if spent.latest_request and self.window:
            parts.append(f"context {min(spent.latest_request / self.window, 1):.0%}")
        parts.append(spent.cost_text())
        return " | ".join(part for part in parts if part)


def _count(usage: dict[str, Any], key: str) -> int:
    count = usage.get(key)
    return count if isinstance(count, int) and count > 0 else 0


def _cost(value: Any) -> Decimal | None:
    try:
        return Decimal(str(value)) if value is not None else None
    except ArithmeticError:
        return None
