"""A limit to what a session and its children may spend, checked before each model call."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import PROVIDER_REQUEST, PROVIDER_RESPONSE

FIRST = -1000
"""Priority: a call that may not be made needs no other opinion."""


@dataclass
class Spent:
    """What has been used so far; `cost` is None once a price was not known."""

    steps: int = 0
    tokens: int = 0
    cost: Decimal | None = field(default_factory=Decimal)

    def add(self, usage: Any) -> None:
        values = usage.model_dump() if hasattr(usage, "model_dump") else usage
        values = values if isinstance(values, dict) else {}
        counted = ("input_tokens", "output_tokens", "cache_write_tokens")
        self.tokens += sum(values.get(key) or 0 for key in counted)
        cost = values.get("cost_usd")
        known = cost is not None and self.cost is not None
        self.cost = self.cost + Decimal(str(cost)) if known and self.cost is not None else None


@dataclass
class Budget:
    """The most that may be spent; None is no limit. Children share their parent's."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None
    max_steps: int | None = None
    spent: Spent = field(default_factory=Spent)

    def attach(self, session: AmplifierSession) -> None:
        """Watch what `session` spends, and stop it at the limit."""
        register = session.coordinator.hooks.register
        register(PROVIDER_REQUEST, self._check, priority=FIRST, name="budget", guard=True)
        register(PROVIDER_RESPONSE, self._count, name="budget")

    def _check(self, _event: str, _data: dict[str, Any]) -> HookResult:
        reason = self.exceeded()
        if reason is not None:
            return HookResult(action="deny", reason=reason)
        self.spent.steps += 1
        return HookResult(action="continue")

    def _count(self, _event: str, data: dict[str, Any]) -> None:
        self.spent.add(data.get("usage"))

    def exceeded(self) -> str | None:
        """Why there may be no further model call; None if there may."""
        spent = self.spent
        if self.max_steps is not None and spent.steps >= self.max_steps:
            return _used_up(f"{self.max_steps} model calls", "--max-steps")
        if self.max_tokens is not None and spent.tokens >= self.max_tokens:
            return _used_up(
                f"{self.max_tokens:,} tokens ({spent.tokens:,} are used)", "--max-tokens"
            )
        if self.max_cost is None:
            return None
        if spent.cost is None:
            return (
                "The model's price is not known, so its cost cannot be limited. "
                "Give the provider `pricing`, or use --max-tokens."
            )
        if spent.cost >= self.max_cost:
            return _used_up(f"${self.max_cost} (${spent.cost:.4f} is spent)", "--max-cost")
        return None


def _used_up(what: str, option: str) -> str:
    return f"The budget of {what} is used up. Go on with a larger {option}; nothing is lost."
