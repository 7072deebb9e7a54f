"""What a session and its children spend, and a limit that is checked before each model call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from amplifier_core.events import PROVIDER_REQUEST, PROVIDER_RESPONSE
from amplifier_core.models import HookResult

if TYPE_CHECKING:
    from amplifier_core import AmplifierSession

FIRST = -1000
"""Priority: a call that may not be made needs no other opinion."""


@dataclass
class Spent:
    """What has been used so far, as far as providers tell."""

    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cost: Decimal | None = None
    """Dollars that are known of."""
    has_unknown_cost: bool = False

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_write_tokens

    def add(self, usage: Any) -> None:
        """Count one answer of a model."""
        values = usage.model_dump() if hasattr(usage, "model_dump") else usage
        values = values if isinstance(values, dict) else {}
        self.input_tokens += number_in(values, "input_tokens")
        self.output_tokens += number_in(values, "output_tokens")
        self.cache_write_tokens += number_in(values, "cache_write_tokens")
        cost = _amount(values.get("cost_usd"))
        if cost is None:
            self.has_unknown_cost = True
        else:
            self.cost = (self.cost or Decimal(0)) + cost

    def include(self, other: Spent) -> None:
        self.steps += other.steps
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cache_write_tokens += other.cache_write_tokens
        self.has_unknown_cost = self.has_unknown_cost or other.has_unknown_cost
        if other.cost is not None:
            self.cost = (self.cost or Decimal(0)) + other.cost

    def as_dict(self) -> dict[str, Any]:
        """For a JSON document; a cost that is not known for certain is null."""
        cost = None if self.has_unknown_cost else self.cost
        return {
            "model_calls": self.steps,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": None if cost is None else str(cost),
        }


def number_in(values: Mapping[str, Any], key: str) -> int:
    """A number of tokens, or of anything that providers may leave out or get wrong."""
    count = values.get(key)
    return count if isinstance(count, int) and count > 0 else 0


def _amount(value: Any) -> Decimal | None:
    try:
        amount = Decimal(str(value)) if value is not None else None
    except ArithmeticError:
        return None
    return amount if amount is not None and amount.is_finite() else None


@dataclass(frozen=True)
class Limits:
    """The most that may be spent; None is no limit."""

    max_cost: Decimal | None = None
    max_tokens: int | None = None
    max_steps: int | None = None

    @classmethod
    def of(cls, *said: Mapping[str, Any]) -> Limits:
        """From several who say something, the first of whom counts most."""
        found: dict[str, Any] = {}
        for each in reversed(said):
            found |= {key: value for key, value in each.items() if value is not None}
        tokens, steps = number_in(found, "max_tokens"), number_in(found, "max_steps")
        return cls(_amount(found.get("max_cost")), tokens or None, steps or None)


@dataclass
class Budget:
    """Keeps the books of a session and its children, who share one limit."""

    limits: Limits = Limits()
    spent: Spent = field(default_factory=Spent)
    """All that counts against the limits, also from before a restart."""
    by_session: dict[str, Spent] = field(default_factory=dict)
    """What each session has spent since then."""
    agents: dict[str, str] = field(default_factory=dict)
    """For each child the agent whose work it does."""
    stopped: str | None = None
    """Why a model call was not made."""

    def attach(self, session: AmplifierSession) -> None:
        """Watch what `session` spends, and stop it at the limit."""
        own = self.by_session.setdefault(session.session_id, Spent())
        if session.parent_id is not None:
            about = session.config["session"].get("metadata") or {}
            self.agents[session.session_id] = str(about.get("agent_name") or "self")

        def check(_event: str, _data: dict[str, Any]) -> HookResult:
            self.stopped = self.exceeded() or self.stopped
            if self.stopped is not None:
                return HookResult(action="deny", reason=self.stopped)
            self.spent.steps += 1
            own.steps += 1
            return HookResult(action="continue")

        def count(_event: str, data: dict[str, Any]) -> None:
            self.spent.add(data.get("usage"))
            own.add(data.get("usage"))

        register = session.coordinator.hooks.register
        register(PROVIDER_REQUEST, check, priority=FIRST, name="budget", guard=True)
        register(PROVIDER_RESPONSE, count, name="budget")

    @property
    def spent_now(self) -> Spent:
        """What was spent since the start or restart, by all sessions together."""
        total = Spent()
        for each in self.by_session.values():
            total.include(each)
        return total

    def exceeded(self) -> str | None:
        """Why there may be no further model call; None if there may."""
        spent, limits = self.spent, self.limits
        if limits.max_steps is not None and spent.steps >= limits.max_steps:
            return _used_up(f"{limits.max_steps} model calls", "--max-steps")
        if limits.max_tokens is not None and spent.tokens >= limits.max_tokens:
            return _used_up(
                f"{limits.max_tokens:,} tokens ({spent.tokens:,} are used)", "--max-tokens"
            )
        if limits.max_cost is None:
            return None
        known = spent.cost or Decimal(0)
        if known >= limits.max_cost:
            return _used_up(f"${limits.max_cost} (${known:.4f} is spent)", "--max-cost")
        if spent.has_unknown_cost:
            return (
                "The model's price is not known, so its cost cannot be limited. "
                "Give the provider `pricing`, or use --max-tokens and `--max-cost none`."
            )
        return None


def _used_up(what: str, option: str) -> str:
    return f"The budget of {what} is used up. Go on with a larger {option}; nothing is lost."
