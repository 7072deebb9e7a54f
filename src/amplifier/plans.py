"""The built-in mount plan: which modules a session gets when nobody says otherwise."""

from __future__ import annotations

import os
import sys
from copy import deepcopy
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

PREFIX = "provider-"
EMBEDDED = "provider-local"
FOR_TRYING_OUT = (EMBEDDED, "provider-mock")
"""Providers that get one harmless tool: what they say is not worth more."""

TOOLS = ("tool-filesystem", "tool-search", "tool-bash", "tool-web", "tool-todo", "tool-task")
HOOKS: tuple[dict[str, Any], ...] = (
    {"module": "hooks-redaction"},
    # The list of things to do is the model's own; nobody has to be asked about it.
    {"module": "hooks-approval", "config": {"allow": [{"tool": "todo"}]}},
    {"module": "hooks-status-context"},
    {"module": "hooks-todo-reminder"},
)
AGENTS: dict[str, Any] = {
    "explorer": {
        "description": "Reads the project and answers a question about it.",
        "instruction": "You read files and search in them, and answer with what you found.",
        "tools": ["tool-filesystem", "tool-search"],
    }
}

CREDENTIALS: dict[str, tuple[str, ...]] = {
    "provider-anthropic": ("ANTHROPIC_API_KEY",),
    "provider-openai": ("OPENAI_API_KEY",),
    "provider-gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "provider-azure-openai": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY"),
    "provider-ollama": ("OLLAMA_HOST",),
}
"""Environment variables that show that a provider can be used, best provider first."""


class PlanError(Exception):
    """No plan can be made; the message says what is missing."""


def default_plan(provider: str | None = None, model: str | None = None) -> dict[str, Any]:
    """A plan for one provider: the named one, one with credentials, or the embedded model.

    Raises:
        PlanError: there is no such provider.
    """
    module = _provider_module(provider)
    config: dict[str, Any] = {"default_model": model} if model else {}
    plan: dict[str, Any] = {
        "session": {
            "orchestrator": {"module": "loop-streaming"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": module, "config": config}],
    }
    if module in FOR_TRYING_OUT:
        plan["tools"] = [{"module": "tool-look"}]
    else:
        plan |= _equipment()
    if module == EMBEDDED:
        _make_a_demonstration(plan)
    return plan


def _equipment() -> dict[str, Any]:
    """All that a model needs to work in a project, and the hooks that watch it."""
    # There, tool-bash cannot be mounted.
    left_out = {"tool-bash"} if sys.platform == "win32" else set()
    return {
        "tools": [{"module": each} for each in TOOLS if each not in left_out],
        "hooks": deepcopy(list(HOOKS)),
        "agents": deepcopy(AGENTS),
    }


def _make_a_demonstration(plan: dict[str, Any]) -> None:
    """A model this small decides nothing well: one forced call, then one short answer."""
    plan["session"]["orchestrator"]["config"] = {"max_iterations": 3}
    once = {"tool_choice": "required", "max_tool_rounds": 1, "max_tokens": 120}
    plan["providers"][0]["config"] |= once


def installed_providers() -> set[str]:
    """The ids of all provider modules that are installed."""
    points = entry_points(group="amplifier.modules")
    return {point.name for point in points if point.name.startswith(PREFIX)}


def _provider_module(named: str | None) -> str:
    offered = installed_providers()
    if named is None:
        return next((name for name in CREDENTIALS if name in offered and _has_key(name)), EMBEDDED)
    module = named if named.startswith(PREFIX) else f"{PREFIX}{named}"
    if module not in offered:
        known = sorted(name[len(PREFIX) :] for name in offered)
        near = get_close_matches(module.removeprefix(PREFIX), known, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else f"Installed: {', '.join(known)}."
        raise PlanError(f"There is no provider {named!r}. {advice}")
    return module


def what_it_needs(module: str) -> str:
    """What to do about a provider that has found nothing to work with."""
    keys = " or ".join(CREDENTIALS.get(module, ()))
    return f"Set {keys}." if keys else "What it logs says what it needs; see --verbose."


def _has_key(module: str) -> bool:
    return any(os.environ.get(name) for name in CREDENTIALS[module])
