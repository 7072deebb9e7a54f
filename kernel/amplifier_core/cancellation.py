"""How a turn is asked to stop: one token per session, linked to those of its children.

The token only carries the wish. The app sets it, the orchestrator looks at it between
steps, and nothing here interrupts running code.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Literal

from .utils.checks import typed

__all__ = ["CancellationState", "CancellationToken"]

logger = logging.getLogger(__name__)

StateName = Literal["none", "graceful", "immediate"]
_URGENCY: dict[StateName, int] = {"none": 0, "graceful": 1, "immediate": 2}
CancelCallback = Callable[[], object] | Callable[[], Awaitable[object]]

# One lock for all tokens: requests are rare, tokens are many, and a request may walk
# through several tokens. Re-entrant, because a signal handler may interrupt its holder.
_lock = threading.RLock()


class CancellationState(Enum):
    """How urgently a session was asked to stop."""

    NONE = "none"
    GRACEFUL = "graceful"
    IMMEDIATE = "immediate"


class CancellationToken:
    """A wish to stop, seen by everyone who holds the token.

    `graceful` lets running tools finish, `immediate` does not wait for them. A state only
    ever rises until `reset()`. Requests are safe from other threads and signal handlers.
    """

    __slots__ = ("__weakref__", "_callbacks", "_children", "_state", "_tools")

    def __init__(self) -> None:
        self._state: StateName = "none"
        self._tools: dict[str, str] = {}
        self._children: list[CancellationToken] = []
        self._callbacks: list[CancelCallback] = []

    @property
    def state(self) -> StateName:
        """The state's name; `CancellationState(token.state)` gives the enum member."""
        return self._state

    @property
    def is_cancelled(self) -> bool:
        return self._state != "none"

    @property
    def is_graceful(self) -> bool:
        return self._state == "graceful"

    @property
    def is_immediate(self) -> bool:
        return self._state == "immediate"

    def request_graceful(self) -> bool:
        """Ask to stop once running tools are done. False if already asked."""
        return self._raise_to("graceful")

    def request_immediate(self) -> bool:
        """Ask to stop without waiting for anything. False if already asked."""
        return self._raise_to("immediate")

    def request_cancellation(self) -> None:
        self.request_graceful()

    def _raise_to(self, state: StateName) -> bool:
        with _lock:
            if _URGENCY[self._state] >= _URGENCY[state]:
                return False
            reached = [self]
            while reached:
                token = reached.pop()
                # A cycle of children ends here: a token that does not change stops the walk.
                if _URGENCY[token._state] < _URGENCY[state]:
                    token._state = state
                    reached += token._children
            return True

    def reset(self) -> None:
        """Make the token ready for another turn. Children keep their own state."""
        with _lock:
            self._state = "none"
            self._tools.clear()

    def register_tool_start(self, tool_call_id: str, tool_name: str) -> None:
        self._tools[tool_call_id] = tool_name

    def register_tool_complete(self, tool_call_id: str) -> None:
        self._tools.pop(tool_call_id, None)

    @property
    def running_tools(self) -> set[str]:
        """Ids of the tool calls that are running now, as a snapshot."""
        return set(self._tools)

    @property
    def running_tool_names(self) -> list[str]:
        """Names of the running tools, in the order they were started."""
        return list(self._tools.values())

    def register_child(self, child: CancellationToken) -> None:
        """Pass requests on to `child`, beginning with the state that holds now."""
        typed("A child", child, CancellationToken)
        with _lock:
            self._children.append(child)
            child._raise_to(self._state)

    def unregister_child(self, child: CancellationToken) -> None:
        with _lock:
            self._children[:] = [kept for kept in self._children if kept is not child]

    def on_cancel(self, callback: CancelCallback) -> None:
        """Add a callback for `trigger_callbacks`; nothing else ever calls it."""
        self._callbacks.append(callback)

    async def trigger_callbacks(self) -> None:
        """Call every callback in order, whatever the state; one that fails is skipped.

        Cancellation of the calling task ends the round at once. Ctrl-C and interpreter
        exit raised by a callback reach the caller after all the others have run.
        """
        fatal: BaseException | None = None
        for callback in list(self._callbacks):
            try:
                outcome = callback()
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception:
                logger.exception("Cancel callback %r failed", callback)
            except asyncio.CancelledError:
                if being_cancelled():
                    raise
            except BaseException as error:
                fatal = fatal or error
        if fatal is not None:
            raise fatal


def being_cancelled() -> bool:
    """Whether the running task itself is being cancelled.

    This tells a CancelledError that a callee merely raised from one that the caller of
    this task asked for; the second kind must always go through.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
