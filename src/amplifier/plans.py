"""Which provider answers when nobody says otherwise, and what the smallest of them gets."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import Any

PREFIX = "provider-"
EMBEDDED = "provider-local"
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


def provider_entry(provider: str | None = None, model: str | None = None) -> dict[str, Any]:
    """The entry of one provider: the named one, one with credentials, or the embedded model.

    Raises:
        PlanError: there is no such provider.
    """
    config = {"default_model": model} if model else {}
    return {"module": _provider_module(provider), "config": config}


def demonstration(entry: dict[str, Any]) -> dict[str, Any]:
    """A plan for a model so small that it decides nothing well: one forced call, one answer."""
    once = {"tool_choice": "required", "max_tool_rounds": 1, "max_tokens": 120}
    return {
        "session": {
            "orchestrator": {"module": "loop-streaming", "config": {"max_iterations": 3}},
            "context": {"module": "context-simple"},
        },
        "providers": [{**entry, "config": {**entry["config"], **once}}],
        "tools": [{"module": "tool-look"}],
    }


def installed_providers() -> set[str]:
    """The ids of all provider modules that are installed."""
    # Late: naming a provider takes no kernel.
    from amplifier_core.transports.entry_points import installed

    return {name for name in installed.table() if name.startswith(PREFIX)}


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
