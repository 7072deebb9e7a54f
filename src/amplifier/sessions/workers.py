"""Threads that wait for disks, so that the event loop does not. Waking them costs half of what
an executor does: nobody else sees their futures.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Job(NamedTuple):
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class Workers:
    """Up to so many threads, begun when they are needed; they never keep a process alive."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = 0
        self._busy = 0

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. Cancelled or not, once begun it is finished."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._busy >= self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._work, name="amplifier-sessions", daemon=True).start()
        self._busy += 1
        self._jobs.put(_Job(future, work))
        return await future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            result, error = None, None
            try:
                result = job.work()
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop was closed meanwhile
                job.future.get_loop().call_soon_threadsafe(self._done, job.future, result, error)
            del job, result, error

    def _done(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        self._busy -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def close(self) -> None:
        """Let the threads end when they have done what they were given."""
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = self._busy = 0
