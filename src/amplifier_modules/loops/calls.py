"""Lets code that a tool runs find out which call it serves."""

from __future__ import annotations

import asyncio
from contextvars import Token
from types import TracebackType
from typing import Any

from amplifier_core.correlation import ToolCallScope, tool_call

DISPATCH_TABLE = "_tool_dispatch_context"


class RunningCall:
    """Marks the running task as serving a call, for delegation and for retries."""

    __slots__ = ("_ids", "_key", "_scope", "_table", "_task")

    def __init__(self, coordinator: Any, call_id: str, group: str) -> None:
        self._ids = {"tool_call_id": call_id, "parallel_group_id": group}
        self._key = f"{getattr(coordinator, 'session_id', '')}:{call_id}"
        self._table = _table(coordinator)

    def __enter__(self) -> None:
        scope = ToolCallScope(self._ids["tool_call_id"], self._key)
        self._scope: Token[ToolCallScope | None] = tool_call.set(scope)
        self._task = asyncio.current_task()
        self._table[self._task] = self._ids

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._table.pop(self._task, None)
        tool_call.reset(self._scope)


def _table(coordinator: Any) -> dict[Any, dict[str, str]]:
    """Running calls by task, kept on the coordinator where delegation tools look for them."""
    table: dict[Any, dict[str, str]] | None = getattr(coordinator, DISPATCH_TABLE, None)
    if table is None:
        table = {}
        if coordinator is not None:
            setattr(coordinator, DISPATCH_TABLE, table)
    return table
