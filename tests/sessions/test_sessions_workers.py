"""Threads that wait for disks, so that the event loop does not."""

import asyncio
import threading

import pytest

from amplifier.sessions.workers import Workers

SECONDS = 30


async def test_work_is_done_elsewhere_side_by_side() -> None:
    workers, together = Workers(2), threading.Barrier(2, timeout=SECONDS)

    def work() -> int:
        together.wait()
        return threading.get_ident()

    found = await asyncio.gather(workers.run(work), workers.run(work))

    assert len({*found, threading.get_ident()}) == 3
    workers.close()


async def test_no_more_threads_are_begun_than_are_allowed() -> None:
    workers = Workers(1)

    found = await asyncio.gather(*(workers.run(threading.get_ident) for _ in range(5)))

    assert len(set(found)) == 1
    workers.close()


async def test_what_work_raises_reaches_the_caller() -> None:
    workers = Workers(1)

    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)

    assert await workers.run(lambda: 1) == 1
    workers.close()


async def test_work_that_nobody_waits_for_any_more_is_finished() -> None:
    workers, begun, free, done = Workers(1), *(threading.Event() for _ in range(3))

    def work() -> None:
        begun.set()
        free.wait(SECONDS)
        done.set()

    waiting = asyncio.ensure_future(workers.run(work))
    await asyncio.to_thread(begun.wait, SECONDS)
    waiting.cancel()
    free.set()

    assert await workers.run(done.is_set)
    assert waiting.cancelled()
    workers.close()


def test_a_loop_that_is_gone_does_not_end_a_worker() -> None:
    workers, free = Workers(1), threading.Event()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await workers.run(lambda: free.wait(SECONDS))

    asyncio.run(leave())
    free.set()

    assert asyncio.run(workers.run(lambda: 7)) == 7
    workers.close()
