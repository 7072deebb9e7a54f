"""What one attempt at a request brings, piece by piece; a `ChatResponse` is always the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier_core.message_models import ChatResponse, Degradation

BlockKind = Literal["text", "thinking", "tool_use"]


@dataclass(frozen=True, slots=True)
class Opened:
    """The vendor has begun to answer."""

    rate_limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """A block begins; `name` is the tool of a call."""

    kind: BlockKind
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of the block that began last."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The block is complete."""


Piece = Opened | Started | Delta | Ended | ChatResponse
Pieces = AsyncGenerator[Piece, None]


@dataclass(frozen=True)
class Plan:
    """A request as the vendor will see it."""

    model: str
    body: Mapping[str, Any]
    is_streamed: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    has_instructions: bool = False
    is_reasoning: bool = False
    thinking_budget: int | None = None
    degradations: tuple[Degradation, ...] = ()
    """What cannot be done as asked."""
    timeout: tuple[float, str] | None = None
    """Seconds for one attempt, if not `timeout`, and the config key that says so."""
    for_model: Callable[[str], Plan] | None = None
    """The same request, planned for another model."""

    def degradation(self) -> Degradation | None:
        """All of them in the one note that a response has room for."""
        if len(self.degradations) <= 1:
            return self.degradations[0] if self.degradations else None
        return Degradation(
            requested="; ".join(each.requested for each in self.degradations),
            actual="; ".join(each.actual for each in self.degradations),
            reason="; ".join(each.reason for each in self.degradations),
        )
