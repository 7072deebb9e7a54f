"""One turn: hands a prompt to the orchestrator, and counts what its events tell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any
from weakref import WeakKeyDictionary

from .events import PROVIDER_RESPONSE, TOOL_ERROR, TOOL_POST
from .models import SessionStatus
from .utils.truncate import redact_secrets

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
    providers, tools = coordinator.get("providers"), coordinator.get("tools")
    arguments = {
        "prompt": prompt,
        "context": coordinator.get("context"),
        "providers": {} if providers is None else providers,
        "tools": {} if tools is None else tools,
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


def _accepts_coordinator(execute: Callable[..., Any]) -> bool:
    """False only for a function that has no place for `coordinator=`, as documented ones."""
    function = getattr(execute, "__func__", execute)
    is_function = inspect.isfunction(function)
    if is_function and function in _takes_coordinator:
        return _takes_coordinator[function]
    try:
        parameters = inspect.signature(execute).parameters.values()
    except (TypeError, ValueError):
        return True
    takes = any(each.name == "coordinator" or each.kind is each.VAR_KEYWORD for each in parameters)
    if is_function:
        _takes_coordinator[function] = takes
    return takes


async def emit_raw_field_if_configured(
    coordinator: Any, config: dict[str, Any], session_id: str, event_base: str = "session:config"
) -> None:
    """Emit the whole config, secrets masked, if `session.raw` asks for it."""
    if (config.get("session") or {}).get("raw"):
        raw = redact_secrets(config)
        await coordinator.hooks.emit(event_base, {"session_id": session_id, "raw": raw})


def count_event(status: SessionStatus, event: str, data: Any) -> None:
    """Count one event. Payloads come from modules, so anything odd counts as absent."""
    # Past pydantic's setters: this is part of every step of every turn.
    count = status.__dict__
    count["last_activity"] = datetime.now()
    count["total_messages"] += 1
    if event == PROVIDER_RESPONSE:
        usage = _field(data, "usage")
        if usage is not None:
            count["total_input_tokens"] += _tokens(usage, "input_tokens")
            count["total_output_tokens"] += _tokens(usage, "output_tokens")
            _add_cost(status, _field(usage, "cost_usd"))
    elif event == TOOL_POST or (event == TOOL_ERROR and _field(data, "result") is None):
        # An error that carries a result is followed by the `tool:post` of the same call.
        count["tool_invocations"] += 1
        failed = event == TOOL_ERROR or _field(_field(data, "result"), "success") is False
        count["tool_failures" if failed else "tool_successes"] += 1


def _add_cost(status: SessionStatus, cost: Any) -> None:
    if cost is None:
        return
    with suppress(Exception):
        amount = Decimal(str(cost))
        if amount.is_finite():
            status.cost_usd = (status.cost_usd or Decimal(0)) + amount


def _tokens(usage: Any, name: str) -> int:
    value = _field(usage, name)
    return max(value, 0) if isinstance(value, int) else 0


def _field(value: Any, name: str) -> Any:
    """A field of a model or of its dumped form; None if it cannot be read."""
    if value.__class__ is dict:
        return value.get(name)
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:
        return None
