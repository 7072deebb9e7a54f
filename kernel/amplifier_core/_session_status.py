"""Keeps a session's counters, fed by the events that pass its hooks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from .events import PROVIDER_RESPONSE, TOOL_ERROR, TOOL_POST
from .models import SessionStatus


def count_event(status: SessionStatus, event: str, data: Any) -> None:
    """Count one event. Payloads come from modules, so anything odd counts as absent."""
    fields = data if isinstance(data, dict) else {}
    status.last_activity = datetime.now()
    status.total_messages += 1
    if event == PROVIDER_RESPONSE:
        _count_usage(status, fields.get("usage"))
    elif event in (TOOL_POST, TOOL_ERROR):
        _count_tool(status, event != TOOL_ERROR and _succeeded(fields.get("result")))


def _count_tool(status: SessionStatus, success: bool) -> None:
    status.tool_invocations += 1
    if success:
        status.tool_successes += 1
    else:
        status.tool_failures += 1


def _succeeded(result: Any) -> bool:
    return _field(result, "success") is not False


def _count_usage(status: SessionStatus, usage: Any) -> None:
    status.total_input_tokens += _tokens(usage, "input_tokens")
    status.total_output_tokens += _tokens(usage, "output_tokens")
    cost = _field(usage, "cost_usd")
    if cost is not None:
        with suppress(InvalidOperation):
            amount = Decimal(str(cost))
            if amount.is_finite():
                status.cost_usd = (status.cost_usd or Decimal(0)) + amount


def _tokens(usage: Any, name: str) -> int:
    value = _field(usage, name)
    return value if isinstance(value, int) else 0


def _field(value: Any, name: str) -> Any:
    """A field of a model or of its dumped form."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
