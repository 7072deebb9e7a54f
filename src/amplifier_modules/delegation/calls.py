"""Where in a tree of sessions the running code is: which tool call, how deep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from amplifier_core import correlation

DEPTH = "delegation_depth"
_DISPATCH_TABLE = "_tool_dispatch_context"
# Kernels of the public contract have no such variable; there, only the loop's table tells.
_tool_call: Any = getattr(correlation, "tool_call", None)
_depth: ContextVar[int] = ContextVar("amplifier_delegation_depth", default=0)


def current_call(coordinator: Any) -> dict[str, str]:
    """`tool_call_id` and `parallel_group_id` of the running call, as far as they are known."""
    table = getattr(coordinator, _DISPATCH_TABLE, None) or {}
    found = dict(table.get(asyncio.current_task()) or {})
    scope = _tool_call.get() if _tool_call is not None else None
    if scope is not None:
        found.setdefault("tool_call_id", scope.call_id)
    return found


def depth_of(coordinator: Any) -> int:
    """How many sessions are above this one.

    What the running task knows counts, and what the plan says: a child may as well run in
    a process of its own. A session with a parent is never taken for a first one.
    """
    session = coordinator.config.get("session") if isinstance(coordinator.config, Mapping) else None
    metadata = session.get("metadata") if isinstance(session, Mapping) else None
    told = metadata.get(DEPTH) if isinstance(metadata, Mapping) else None
    has_parent = getattr(coordinator, "parent_id", None) is not None
    return max(_depth.get(), told if isinstance(told, int) else 0, int(has_parent))


@contextmanager
def one_deeper(depth: int) -> Iterator[None]:
    """While a child of a session at `depth` runs."""
    entered = _depth.set(depth + 1)
    try:
        yield
    finally:
        _depth.reset(entered)
