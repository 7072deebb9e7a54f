"""Lets code that a tool runs find out which call it serves."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from amplifier_core import correlation

DISPATCH_TABLE = "_tool_dispatch_context"

# Kernels of the public contract have neither; there, only the table tells.
_scope: Any = getattr(correlation, "ToolCallScope", None)
_tool_call: Any = getattr(correlation, "tool_call", None)


class Dispatch:
    """What the calls of one turn have in common."""

    def __init__(self, coordinator: Any) -> None:
        self.prefix = f"{getattr(coordinator, 'session_id', '')}:"
        self.table = _table(coordinator)


class RunningCall:
    """Marks the running task as serving a call, for delegation and for retries."""

    __slots__ = ("_dispatch", "_group", "_id", "_task", "_token")

    def __init__(self, dispatch: Dispatch, call_id: str, group: str) -> None:
        self._dispatch = dispatch
        self._id = call_id
        self._group = group

    def __enter__(self) -> None:
        dispatch, call_id = self._dispatch, self._id
        self._task = asyncio.current_task()
        ids = {"tool_call_id": call_id, "parallel_group_id": self._group}
        dispatch.table[self._task] = ids
        if _tool_call is not None:
            self._token = _tool_call.set(_scope(call_id, dispatch.prefix + call_id))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._dispatch.table.pop(self._task, None)
        if _tool_call is not None:
            _tool_call.reset(self._token)


def _table(coordinator: Any) -> dict[Any, dict[str, str]]:
    """Running calls by task, kept on the coordinator where delegation tools look for them."""
    table: dict[Any, dict[str, str]] | None = getattr(coordinator, DISPATCH_TABLE, None)
    if table is None:
        table = {}
        if coordinator is not None:
            setattr(coordinator, DISPATCH_TABLE, table)
    return table
