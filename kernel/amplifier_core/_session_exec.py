"""Hands a prompt to the orchestrator, with everything it may use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from .utils.truncate import redact_secrets

SESSION_CONFIG = "session:config"

# Signatures are slow to read, and a loop is the same function turn after turn.
_takes_coordinator: WeakKeyDictionary[Callable[..., Any], bool] = WeakKeyDictionary()


async def run_orchestrator(coordinator: Any, prompt: str) -> str:
    """The orchestrator's answer to `prompt`; whatever it raises goes through.

    Raises:
        RuntimeError: no orchestrator is mounted.
        TypeError: the orchestrator answered with something other than a str.
    """
    orchestrator = coordinator.get("orchestrator")
    if orchestrator is None:
        raise RuntimeError("No orchestrator module mounted")
    arguments = {
        "prompt": prompt,
        "context": coordinator.get("context"),
        "providers": _named(coordinator, "providers"),
        "tools": _named(coordinator, "tools"),
        "hooks": coordinator.hooks,
    }
    if _accepts_coordinator(orchestrator.execute):
        arguments["coordinator"] = coordinator
    answer = await orchestrator.execute(**arguments)
    if not isinstance(answer, str):
        raise TypeError(
            f"The orchestrator {type(orchestrator).__name__} returned "
            f"{type(answer).__name__}; execute() must return a str."
        )
    return answer


def _named(coordinator: Any, mount_point: str) -> Any:
    slot = coordinator.get(mount_point)
    return {} if slot is None else slot


def _accepts_coordinator(execute: Callable[..., Any]) -> bool:
    """False only for a function that has no place for `coordinator=`, as documented ones."""
    function = getattr(execute, "__func__", execute)
    try:
        return _takes_coordinator[function]
    except (KeyError, TypeError):
        pass
    try:
        parameters = inspect.signature(execute).parameters.values()
    except (TypeError, ValueError):
        return True
    accepted = any(
        each.name == "coordinator" or each.kind is each.VAR_KEYWORD for each in parameters
    )
    if inspect.isfunction(function):
        _takes_coordinator[function] = accepted
    return accepted


async def emit_raw_field_if_configured(
    coordinator: Any, config: dict[str, Any], session_id: str, event_base: str = SESSION_CONFIG
) -> None:
    """Emit the whole config, secrets masked, if `session.raw` asks for it."""
    if (config.get("session") or {}).get("raw"):
        raw = redact_secrets(config)
        await coordinator.hooks.emit(event_base, {"session_id": session_id, "raw": raw})
