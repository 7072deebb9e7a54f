"""How a call is timed: in batches long enough for the clock, and the median batch counts."""

from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter_ns
from typing import Any

BATCHES = 5
BATCH_NS = 150_000_000


async def us_per_await(function: Callable[..., Awaitable[Any]], *args: Any) -> float:
    """Microseconds that one `await function(*args)` takes."""

    async def batch(count: int) -> int:
        start = perf_counter_ns()
        for _ in range(count):
            await function(*args)
        return perf_counter_ns() - start

    count = 1
    while (took := await batch(count)) < BATCH_NS // 4:
        count *= 2
    count = max(1, count * BATCH_NS // took)
    return median([await batch(count) for _ in range(BATCHES)]) / count / 1_000


def us_per_call(function: Callable[..., Any], **kwargs: Any) -> float:
    """Microseconds that one `function(**kwargs)` takes."""

    def batch(count: int) -> int:
        start = perf_counter_ns()
        for _ in range(count):
            function(**kwargs)
        return perf_counter_ns() - start

    count = 1
    while (took := batch(count)) < BATCH_NS // 4:
        count *= 2
    count = max(1, count * BATCH_NS // took)
    return median([batch(count) for _ in range(BATCHES)]) / count / 1_000
