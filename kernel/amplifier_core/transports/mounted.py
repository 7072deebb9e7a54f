"""What is mounted in a session, for orchestrators elsewhere that have to offer it to a model."""

from __future__ import annotations

from typing import Any


def _tools(coordinator: Any) -> Any:
    return [
        {
            "name": name,
            "description": getattr(tool, "description", "") or "",
            "parameters": getattr(tool, "input_schema", None) or {},
        }
        for name, tool in coordinator.get_all("tools").items()
    ]


def _providers(coordinator: Any) -> Any:
    return [
        {"name": name, "info": provider.get_info()}
        for name, provider in coordinator.get_all("providers").items()
    ]


def _session(coordinator: Any) -> Any:
    token = coordinator.cancellation
    return {
        "session_id": coordinator.session_id,
        "parent_id": coordinator.parent_id,
        "is_cancelled": token.is_cancelled,
        "is_immediate": token.is_immediate,
    }


DESCRIPTIONS = {
    "amplifier.tools": _tools,
    "amplifier.providers": _providers,
    "amplifier.session": _session,
}
"""By the name of the capability that a module asks for."""
