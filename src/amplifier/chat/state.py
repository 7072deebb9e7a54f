"""What is going on in a turn: the facts behind the status line and the part that still moves."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from amplifier.budget import Spent, number_in

from .texts import one_line, seconds_text, tokens_text

LONGEST_NAME = 40
MODEL = "the model"


@dataclass(slots=True)
class Wait:
    """Something that has not come back."""

    what: str
    started: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def text(self) -> str:
        return f"{self.what} ({seconds_text(self.seconds())})"


@dataclass(slots=True)
class RunningTool:
    """A call that has not come back."""

    wait: Wait
    given: Any


@dataclass(slots=True)
class Activity:
    """What one session is at: the one that the chat is with, or a child."""

    agent: str | None = None
    """Name of the child; None for the session of the chat."""
    waits_for: Wait = field(default_factory=lambda: Wait(MODEL))
    tools: dict[str, RunningTool] = field(default_factory=dict)

    def begin(self) -> None:
        self.waits_for = Wait(MODEL)
        self.tools.clear()

    def wait_for(self, what: str) -> None:
        if self.waits_for.what != what:
            self.waits_for = Wait(what)

    def tool_starts(self, call_id: str, name: str, given: Any) -> None:
        self.tools[call_id] = RunningTool(Wait(one_line(name, LONGEST_NAME)), given)

    def tool_ends(self, call_id: str) -> RunningTool | None:
        running = self.tools.pop(call_id, None)
        if not self.tools:
            self.waits_for = Wait(MODEL)
        return running

    def text(self) -> str:
        waits = [each.wait.text() for each in self.tools.values()] or [self.waits_for.text()]
        return ", ".join(waits)


@dataclass
class ShownSpent(Spent):
    """Tokens and money, with what the status line says of them."""

    calls: int = 0
    cached: int = 0

    def add(self, usage: Any) -> None:
        super().add(usage)
        self.calls += 1
        self.cached += number_in(usage, "cache_read_tokens")

    @property
    def tokens_in(self) -> int:
        return self.input_tokens + self.cache_write_tokens

    def tokens_text(self) -> str:
        if not self.tokens_in and not self.output_tokens:
            return ""
        share = min(self.cached / self.tokens_in, 1) if self.tokens_in else 0
        cached = f" ({share:.0%} cached)" if self.cached else ""
        return f"in {tokens_text(self.tokens_in)}{cached}, out {tokens_text(self.output_tokens)}"

    def cost_text(self) -> str:
        if self.cost is None:
            return ""
        return f"${self.cost:.4f}" + (" + ?" if self.has_unknown_cost else "")


@dataclass(slots=True)
class State:
    """One conversation, as a person sees it."""

    model: str = ""
    window: int | None = None
    spent: ShownSpent = field(default_factory=ShownSpent)
    """By the session and its children."""
    spent_by: dict[str, ShownSpent] = field(default_factory=dict)
    """By children, under the names of their agents."""
    context_tokens: int = 0
    """What the latest request and its answer took of the window."""
    turn: Wait | None = None
    """The running turn."""
    own: Activity = field(default_factory=Activity)
    children: dict[str, Activity] = field(default_factory=dict)
    question: Wait | None = None
    """A question to the person that is open."""
    is_stopping: bool = False
    queued: deque[str] = field(default_factory=deque)
    """Messages of the user that the model has not read yet."""

    @property
    def is_running(self) -> bool:
        return self.turn is not None

    def turn_begins(self) -> None:
        self.turn, self.is_stopping = Wait("turn"), False
        self.own.begin()

    def turn_ends(self) -> None:
        self.turn, self.question, self.is_stopping = None, None, False
        self.own.begin()
        self.children.clear()

    def add_usage(self, usage: dict[str, Any], agent: str | None) -> None:
        self.spent.add(usage)
        if agent is None:
            self.context_tokens = count_in(usage) + number_in(usage, "output_tokens")
        else:
            self.spent_by.setdefault(agent, ShownSpent()).add(usage)

    def activity(self) -> str:
        """What is being waited for, and for how long."""
        if self.turn is None:
            return ""
        if self.question is not None:
            return f"waiting for {self.question.text()}"
        children = [f"[{each.agent}] {each.text()}" for each in self.children.values()]
        waits = "; ".join([self.own.text(), *children])
        stopping = "stopping after this step, " if self.is_stopping else ""
        return f"{stopping}waiting for {waits}"

    def status(self) -> str:
        """The line at the foot of the terminal."""
        parts = [self.model, self.spent.tokens_text()]
        if self.context_tokens and self.window:
            parts.append(f"context {min(self.context_tokens / self.window, 1):.0%}")
        parts.append(self.spent.cost_text())
        return " | ".join(part for part in parts if part)


def count_in(usage: dict[str, Any]) -> int:
    return number_in(usage, "input_tokens") + number_in(usage, "cache_write_tokens")
