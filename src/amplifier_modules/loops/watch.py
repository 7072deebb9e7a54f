"""Deadlines for many waits with one timer.

`asyncio.timeout` sets a timer for every wait, which costs more than a quick tool call or a
streamed token does. Here a wait is a note of when it last showed a sign of life, and one
timer for the whole turn looks through the notes now and then.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

MOST_SECONDS_BETWEEN_LOOKS = 1.0
LOOKS_PER_LIMIT = 10


class Watch:
    """Looks after the waits of one turn."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waits: dict[Wait, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, wait: Wait) -> None:
        self._waits[wait] = None
        if self._timer is None:
            self._arm()

    def remove(self, wait: Wait) -> None:
        self._waits.pop(wait, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        shortest = min(wait.limit for wait in self._waits)
        pause = min(shortest / LOOKS_PER_LIMIT, MOST_SECONDS_BETWEEN_LOOKS)
        self._timer = self._loop.call_later(pause, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        for wait in list(self._waits):
            if now - wait.alive_at >= wait.limit:
                wait.expire()
        self._timer = None
        if self._waits:
            self._arm()


class Wait:
    """A context that raises TimeoutError when nothing happens in it for `limit` seconds."""

    __slots__ = ("_cancelling", "_expired", "_now", "_task", "_watch", "alive_at", "limit")

    def __init__(self, watch: Watch, limit: float) -> None:
        self._watch = watch
        self._now = watch._loop.time
        self._expired = False
        self.limit = limit
        self.alive_at = self._now()

    def still_alive(self) -> None:
        self.alive_at = self._now()

    def expire(self) -> None:
        if not self._expired and self._task is not None:
            self._expired = True
            self._task.cancel()

    def __enter__(self) -> Self:
        self._task: asyncio.Task[Any] | None = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task is not None else 0
        self._watch.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watch.remove(self)
        if not self._expired or self._task is None:
            return
        cancelled_by_others = self._task.uncancel() > self._cancelling
        if kind is asyncio.CancelledError and not cancelled_by_others:
            raise TimeoutError(f"There was no answer within {self.limit:g} s.") from error
