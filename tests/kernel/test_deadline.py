"""`finish_within`: results, deadlines and cancellation, whether or not the work has to wait."""

import asyncio
import contextvars
from collections.abc import Generator
from typing import Any

import pytest
from amplifier_core.utils.deadline import finish_within

LIMITS = [None, 60.0]


async def at_once(value: Any) -> Any:
    return value


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return value


async def never() -> None:
    await asyncio.Event().wait()


class Awaitable:
    def __await__(self) -> Generator[Any, Any, str]:
        yield from asyncio.sleep(0).__await__()
        return "awaited"


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("work", [at_once, later])
async def test_the_result_of_the_work_is_returned(work: Any, limit: float | None) -> None:
    assert await finish_within(limit, work(5)) == 5


@pytest.mark.parametrize("limit", LIMITS)
async def test_anything_that_can_be_awaited_may_be_the_work(limit: float | None) -> None:
    assert await finish_within(limit, Awaitable()) == "awaited"


@pytest.mark.parametrize("limit", [0.001, 0, -1])
async def test_work_that_takes_too_long_is_cancelled(limit: float) -> None:
    seen: list[str] = []

    async def notice() -> None:
        try:
            await never()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        await finish_within(limit, notice())

    assert seen == (["cancelled"] if limit > 0 else seen)


async def test_no_timer_is_set_for_work_that_finishes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio, "timeout", lambda limit: pytest.fail("a timer was set"))

    assert await finish_within(60, at_once("done")) == "done"


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("waits", [False, True])
async def test_what_the_work_raises_goes_through(limit: float | None, waits: bool) -> None:
    async def fail() -> None:
        if waits:
            await asyncio.sleep(0)
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await finish_within(limit, fail())


async def test_work_may_catch_what_it_waits_for_and_go_on() -> None:
    loop = asyncio.get_running_loop()
    failing: asyncio.Future[None] = loop.create_future()
    loop.call_soon(failing.set_exception, ValueError("no"))

    async def recover() -> str:
        try:
            await failing
        except ValueError:
            await asyncio.sleep(0)
        return "recovered"

    assert await finish_within(60, recover()) == "recovered"


async def test_cancelling_the_caller_cancels_the_work() -> None:
    task = asyncio.create_task(finish_within(60, never()))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_work_runs_in_the_callers_task_and_context() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    name.set("caller")

    async def look() -> tuple[Any, str]:
        await asyncio.sleep(0)
        name.set("work")
        return asyncio.current_task(), name.get()

    assert await finish_within(60, look()) == (asyncio.current_task(), "work")
    assert name.get() == "work"


def test_closing_unfinished_work_lets_it_clean_up() -> None:
    closed: list[str] = []

    async def main() -> None:
        async def work() -> None:
            try:
                await never()
            finally:
                closed.append("work")

        waiting = finish_within(60, work())
        waiting.send(None)
        waiting.close()

    asyncio.run(main())

    assert closed == ["work"]
