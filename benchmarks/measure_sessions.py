"""What does a session cost: to make, to keep idle, and to forget?"""

import asyncio
import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from amplifier_core import AmplifierSession, ModuleLoader
from standins import plan
from timing import us_per_await

PLAN = plan("loop-standin", "context-standin")


async def opened(loader: ModuleLoader | None = None) -> AmplifierSession:
    session = AmplifierSession(PLAN)
    if loader is not None:
        session.coordinator.loader = loader
    await session.initialize()
    return session


async def open_and_close(loader: ModuleLoader | None = None) -> None:
    session = await opened(loader)
    await session.cleanup()


async def check_that_modules_are_mounted() -> None:
    session = await opened()
    mounted = session.coordinator.to_dict()
    assert mounted["tools"] == mounted["providers"] == ["standin"], mounted
    assert mounted["has_orchestrator"], mounted
    assert mounted["has_context"], mounted
    await session.cleanup()


async def lifecycle() -> dict[str, float]:
    """Create, initialize and clean up; then again with one module loader shared by all sessions."""
    await check_that_modules_are_mounted()
    plain = await us_per_await(open_and_close)
    return {"us": plain, "shared_loader_us": await us_per_await(open_and_close, ModuleLoader())}


def resident_bytes() -> int:
    """Memory of this process, native code included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def traced_bytes() -> int:
    """Memory that Python objects of this process hold, to the byte."""
    return tracemalloc.get_traced_memory()[0]


async def memory_resident(count: int) -> dict[str, float]:
    return await memory(count, resident_bytes)


async def memory_traced(count: int) -> dict[str, float]:
    tracemalloc.start()
    return await memory(count, traced_bytes)


async def memory(count: int, used: Callable[[], int]) -> dict[str, float]:
    """Kilobytes per session: held while it is idle, and still held after cleanup.

    What is kept is the growth after as many sessions have come and gone before, so that caches
    filled once do not count.
    """

    async def settled() -> int:
        # The event loop forgets cancelled timers when it gets a turn, and not before.
        await asyncio.sleep(0)
        gc.collect()
        return used()

    async def used_after_closing(times: int) -> int:
        for _ in range(times):
            await open_and_close()
        return await settled()

    await used_after_closing(count)
    before = await used_after_closing(50)
    after = await used_after_closing(count)
    sessions = [await opened() for _ in range(count)]
    idle = await settled() - after
    assert len(sessions) == count
    return {"idle_kb": idle / count / 1_000, "kept_kb": (after - before) / count / 1_000}
