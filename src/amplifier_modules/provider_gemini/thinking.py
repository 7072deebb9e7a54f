"""Decides whether and how hard a model thinks before it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amplifier_core.message_models import ChatRequest, Degradation

from .models import Facts
from .options import GeminiSettings

_AUTOMATIC = -1
_LEVELS = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}


@dataclass(frozen=True)
class Thinking:
    """The decision, as a part of a request."""

    config: dict[str, Any] | None = None
    degradations: tuple[Degradation, ...] = ()

    @property
    def is_on(self) -> bool:
        return self.config is not None and self.config.get("thinkingBudget") != 0

    @property
    def budget(self) -> int | None:
        return self.config.get("thinkingBudget") if self.config else None


def decide(
    request: ChatRequest, options: Mapping[str, Any], settings: GeminiSettings, facts: Facts
) -> Thinking:
    """What the caller says wins over the request, and that over the config."""
    effort, is_wanted = _wish(request, options, settings)
    if not facts.thinks:
        asked = effort not in (None, "none") or is_wanted
        note = _note("thinking", "no thinking", "this model cannot think")
        return Thinking(degradations=(note,) if asked else ())
    config: dict[str, Any] = {}
    notes: list[Degradation] = []
    if effort is not None and effort not in _LEVELS:
        known = ", ".join(_LEVELS)
        notes.append(_note(f"effort {effort!r}", "the usual one", f"the efforts are {known}"))
    elif effort is not None:
        config, notes = _by_level(effort, facts) if facts.has_level else _by_budget(effort, facts)
    elif is_wanted and facts.budget:
        config = {"thinkingBudget": _AUTOMATIC}
    shows = settings.include_thoughts and config.get("thinkingBudget") != 0
    return Thinking(config | ({"includeThoughts": True} if shows else {}), tuple(notes))


def _wish(
    request: ChatRequest, options: Mapping[str, Any], settings: GeminiSettings
) -> tuple[str | None, bool]:
    effort = request.reasoning_effort or settings.usual_effort
    wanted = options.get("extended_thinking")
    if wanted is None and request.reasoning_effort is None:
        wanted = settings.extended_thinking
    if wanted is False:
        return "none", False
    if wanted and effort == "none":
        return None, True
    return effort, bool(wanted)


def _by_level(effort: str, facts: Facts) -> tuple[dict[str, Any], list[Degradation]]:
    level = _LEVELS[effort]
    if level == "minimal" and not facts.has_minimal:
        level = "low"
    if level == effort:
        return {"thinkingLevel": level}, []
    why = "this model always thinks" if effort == "none" else "it is the nearest that it takes"
    return {"thinkingLevel": level}, [_note(f"effort {effort!r}", f"effort {level!r}", why)]


def _by_budget(effort: str, facts: Facts) -> tuple[dict[str, Any], list[Degradation]]:
    fewest, most = facts.budget or (0, 0)
    wanted = _BUDGETS.get(effort, most)
    if wanted == 0 and facts.can_rest:
        return {"thinkingBudget": 0}, []
    budget = max(fewest, min(wanted, most))
    if wanted:
        return {"thinkingBudget": budget}, []
    note = _note("no thinking", f"{budget} tokens of it", "this model always thinks")
    return {"thinkingBudget": budget}, [note]


def _note(requested: str, actual: str, reason: str) -> Degradation:
    return Degradation(requested=requested, actual=actual, reason=reason)
