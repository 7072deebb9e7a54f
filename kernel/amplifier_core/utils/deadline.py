"""A deadline that costs nothing for work that finishes at once, as most work does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from types import CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_within(timeout: float | None, work: Awaitable[T]) -> T:
    """The result of `work`.

    Raises:
        TimeoutError: it is not there within `timeout` seconds; None means no limit.
    """
    if timeout is None:
        return await work
    if work.__class__ is not CoroutineType or timeout <= 0:
        async with asyncio.timeout(timeout):
            return await work
    # The first step is made by hand: a timer is set only for work that has to wait.
    try:
        pending = work.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    async with asyncio.timeout(timeout):
        rest: T = await _Rest(work, pending)
        return rest


class _Rest:
    """A coroutine that has already begun and waits for `pending`."""

    __slots__ = ("_begun", "_pending")

    def __init__(self, begun: Any, pending: Any) -> None:
        self._begun = begun
        self._pending = pending

    def __await__(self) -> Generator[Any, Any, Any]:
        pending = self._pending
        while True:
            try:
                received = yield pending
            except GeneratorExit:
                self._begun.close()
                raise
            except BaseException as error:
                step, argument = self._begun.throw, error
            else:
                step, argument = self._begun.send, received
            try:
                pending = step(argument)
            except StopIteration as finished:
                return finished.value
