"""Lets code that a tool runs find out which call it serves."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from amplifier_core import correlation

Task = asyncio.Task[Any] | None

DISPATCH_TABLE = "_tool_dispatch_context"

# Kernels of the public contract have neither; there, only the table tells.
_scope: Any = getattr(correlation, "ToolCallScope", None)
_tool_call: Any = getattr(correlation, "tool_call", None)


class Dispatch:
    """Marks tasks as serving the calls of one turn, for delegation and for retries.

    Tools find the ids in a contextvar of the kernel, and in a table on the coordinator.
    """

    def __init__(self, coordinator: Any) -> None:
        self._prefix = f"{getattr(coordinator, 'session_id', '')}:"
        self._table = _table(coordinator)
        # Random digits cost a system call; one is enough for all the groups of a turn.
        digits = os.urandom(10).hex()
        self._group_prefix = f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[15:18]}-"
        self._groups = 0

    def new_group(self) -> str:
        """A fresh id, written as a UUID, for calls that belong together."""
        self._groups += 1
        return f"{self._group_prefix}{self._groups:012x}"

    def enter(self, task: Task, call_id: str, group: str) -> Any:
        """Mark `task`, which is the running one; what is returned takes it back."""
        self._table[task] = {"tool_call_id": call_id, "parallel_group_id": group}
        if _tool_call is None:
            return None
        # As `_scope(...)`, without a function of Python in between.
        return _tool_call.set(tuple.__new__(_scope, (call_id, self._prefix + call_id)))

    def leave(self, task: Task, entered: Any) -> None:
        self._table.pop(task, None)
        if entered is not None:
            _tool_call.reset(entered)


def _table(coordinator: Any) -> dict[Any, dict[str, str]]:
    """Running calls by task, kept on the coordinator where delegation tools look for them."""
    table: dict[Any, dict[str, str]] | None = getattr(coordinator, DISPATCH_TABLE, None)
    if table is None:
        table = {}
        if coordinator is not None:
            setattr(coordinator, DISPATCH_TABLE, table)
    return table
