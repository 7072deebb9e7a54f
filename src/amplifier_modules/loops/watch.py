"""One timer per turn: it sees waits that last too long, and the wish to stop at once.

`asyncio.timeout` sets a timer for every wait, which costs more than a quick tool call or a
streamed token does. Here a wait is a note that something goes on, and the turn's timer looks
through the notes now and then. It is the timer that reads the clock: a wait counts from the
first look that finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

SECONDS_BETWEEN_LOOKS = 0.25
LOOKS_PER_LIMIT = 10
FOREVER = float("inf")


class Interrupted(Exception):
    """The session was asked to stop at once, and whatever the turn waited for was left."""


class Watch:
    """Looks after the task that enters it, until it leaves.

    Raises:
        Interrupted: on leaving, if the token asked to stop at once meanwhile.
    """

    def __init__(self, token: Any) -> None:
        self._token = token
        self._waits: dict[Wait, None] = {}
        self._shortest = SECONDS_BETWEEN_LOOKS * LOOKS_PER_LIMIT
        self._interruption: _Cancel | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        self._arm()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._interruption is not None and self._interruption.is_what_ended(kind):
            raise Interrupted from None

    def add(self, wait: Wait) -> None:
        self._waits[wait] = None
        if wait.limit < self._shortest:
            self._shortest = wait.limit
            self._timer.cancel()
            self._arm()

    def remove(self, wait: Wait) -> None:
        self._waits.pop(wait, None)

    def _arm(self) -> None:
        self._timer = self._loop.call_later(self._shortest / LOOKS_PER_LIMIT, self._look)

    def _look(self) -> None:
        is_asked = self._token is not None and self._token.is_immediate
        if is_asked and self._interruption is None and self.task is not None:
            self._interruption = _Cancel(self.task)
        now = self._loop.time()
        for wait in list(self._waits):
            wait.look(now)
        self._arm()


class Wait:
    """A context that raises TimeoutError when nothing happens in it for `limit` seconds.

    `task` is the one that waits. A sign of life is to set `silent_since` to None, and FOREVER
    means that the time until then does not count.
    """

    __slots__ = ("_expiry", "_task", "_watch", "limit", "silent_since")

    def __init__(self, watch: Watch, limit: float, task: asyncio.Task[Any] | None) -> None:
        self._watch = watch
        self._expiry: _Cancel | None = None
        self._task = task
        self.limit = limit
        self.silent_since: float | None = None

    def look(self, now: float) -> None:
        if self.silent_since is None:
            self.silent_since = now
        elif now - self.silent_since >= self.limit and self._expiry is None:
            self._expiry = _Cancel(self._task) if self._task is not None else None

    def __enter__(self) -> Self:
        self._watch.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watch.remove(self)
        if self._expiry is not None and self._expiry.is_what_ended(kind):
            raise TimeoutError(f"There was no answer within {self.limit:g} s.") from error


class _Cancel:
    """A cancellation of our own, to be told from those that others ask for."""

    __slots__ = ("_before", "_task")

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self._before = task.cancelling()
        task.cancel()

    def is_what_ended(self, kind: type[BaseException] | None) -> bool:
        """Take it back; whether it alone is what comes out of a block with error `kind`."""
        others = self._task.uncancel() > self._before
        return kind is asyncio.CancelledError and not others


def being_cancelled() -> bool:
    """Whether somebody cancels the running task, so that a CancelledError is meant for it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def to_the_end(work: Coroutine[Any, Any, Any]) -> None:
    """Await `work` even if the running task is cancelled meanwhile; raise that afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
