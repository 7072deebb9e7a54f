"""Decides whether and how long a model thinks before it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amplifier_core.message_models import ChatRequest, Degradation

from .models import Facts
from .options import AnthropicSettings

SMALLEST_BUDGET = 1024
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 20_000, "xhigh": 32_000, "max": 48_000}
_USUAL_BUDGET = _BUDGETS["medium"]


@dataclass(frozen=True)
class Thinking:
    """The decision, as parts of a request."""

    config: dict[str, Any] | None
    effort: str | None
    max_tokens: int
    degradations: tuple[Degradation, ...] = ()

    @property
    def is_on(self) -> bool:
        return self.config is not None and self.config["type"] != "disabled"

    @property
    def budget(self) -> int | None:
        return self.config.get("budget_tokens") if self.config else None


def decide(
    request: ChatRequest,
    options: Mapping[str, Any],
    settings: AnthropicSettings,
    facts: Facts,
    max_tokens: int,
    *,
    must_call: bool,
) -> Thinking:
    """What the caller says wins over the request, and that over the config."""
    effort, notes = _effort(request.reasoning_effort or settings.usual_effort)
    wanted = options.get("extended_thinking")
    if wanted is None:
        wanted = _wish(request.reasoning_effort, settings)
    if wanted and must_call and not facts.always_thinks:
        notes.append(_note("thinking", "no thinking", "a call was demanded, which rules it out"))
        wanted = False
    sent = effort if facts.has_effort else None
    if not wanted:
        config = None if wanted is None or facts.always_thinks else {"type": "disabled"}
        if wanted is False and facts.always_thinks:
            notes.append(_note("no thinking", "as little as it can", "this model always thinks"))
            sent = sent or "low"
        return Thinking(config, sent, max_tokens, tuple(notes))
    config = {"type": "adaptive", "display": settings.thinking_display}
    if not facts.adapts or (facts.has_budget and settings.thinking_type == "enabled"):
        given = options.get("thinking_budget_tokens") or settings.thinking_budget_tokens
        budget = given or _BUDGETS.get(effort or "", _USUAL_BUDGET)
        config, max_tokens = _with_budget(budget, max_tokens, settings, facts)
    elif settings.thinking_type == "enabled":
        notes.append(_note("a thinking budget", "adaptive thinking", "this model takes no budget"))
    return Thinking(config, sent, max_tokens, tuple(notes))


def _note(requested: str, actual: str, reason: str) -> Degradation:
    return Degradation(requested=requested, actual=actual, reason=reason)


def _wish(effort: str | None, settings: AnthropicSettings) -> bool | None:
    if effort is not None:
        return effort != "none"
    if settings.extended_thinking is not None:
        return settings.extended_thinking
    return True if settings.usual_effort else None


def _effort(asked: str | None) -> tuple[str | None, list[Degradation]]:
    if asked is None or asked in _EFFORTS:
        return asked, []
    if asked == "none":
        return None, []
    actual = "low" if asked == "minimal" else None
    usual = f"reasoning effort {actual!r}" if actual else "the model's usual effort"
    reason = f"the efforts are {', '.join(_EFFORTS)}"
    note = _note(f"reasoning effort {asked!r}", usual, reason)
    return actual, [note]


def _with_budget(
    budget: int, max_tokens: int, settings: AnthropicSettings, facts: Facts
) -> tuple[dict[str, Any], int]:
    """A budget that fits: the vendor counts thinking as output, and wants at least 1024 tokens."""
    most = facts.output - SMALLEST_BUDGET
    budget = max(SMALLEST_BUDGET, min(budget, most))
    room = min(budget + settings.thinking_budget_buffer, facts.output)
    config = {
        "type": "enabled",
        "budget_tokens": budget,
        "display": settings.thinking_display,
    }
    return config, max(max_tokens, room)
