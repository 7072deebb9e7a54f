"""What does a turn cost through a real session, a loop and a context: per tool step and per token?

This kernel runs the bundled loops. The public one runs a stand-in that emits the same events and
stores the same messages with as little code as that takes, and for comparison the bundled loop.
Both keep the conversation in context-simple.
"""

import asyncio
from importlib.metadata import PackageNotFoundError, distribution
from time import perf_counter
from typing import Any

from amplifier_core import AmplifierSession, HookResult
from amplifier_core.events import ALL_EVENTS
from standins import ANSWER, plan
from timing import us_per_await

BUNDLED, STANDIN = "loop-basic", "loop-standin"
CONTINUE = HookResult(action="continue")


async def observe(event: str, data: dict[str, Any]) -> HookResult:
    return CONTINUE


async def opened(mount_plan: Any) -> AmplifierSession:
    session = AmplifierSession(mount_plan)
    await session.initialize()
    return session


async def run_turn(session: AmplifierSession) -> None:
    """One turn of a conversation that has only begun."""
    await session.coordinator.get("context").clear()
    assert await session.execute("go") == ANSWER


async def us_per_turn(loop: str, steps: int, hooks: int = 0) -> float:
    """Microseconds of a turn with so many tool steps and so many hooks on every event."""
    session = await opened(plan(loop, "context-simple", steps=steps))
    for number in range(hooks):
        for event in ALL_EVENTS:
            session.coordinator.hooks.register(event, observe, number, name=f"hook-{number}")
    us = await us_per_await(run_turn, session)
    assert len(await session.coordinator.get("context").get_messages()) == 2 * steps + 2
    await session.cleanup()
    return us


async def events_of(loop: str) -> list[str]:
    session = await opened(plan(loop, "context-simple", steps=2))
    heard: list[str] = []

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        heard.append(event)
        return CONTINUE

    for event in ALL_EVENTS:
        session.coordinator.hooks.register(event, listen, name="listener")
    await run_turn(session)
    await session.cleanup()
    return heard


async def check_that_both_loops_say_the_same() -> None:
    bundled, standin = await events_of(BUNDLED), await events_of(STANDIN)
    assert bundled == standin, f"loop-basic emits {bundled}, the stand-in {standin}"


async def step() -> dict[str, float]:
    """Microseconds per tool step: what 100 of them add to a turn, in either loop."""
    await check_that_both_loops_say_the_same()

    async def us_per_step(loop: str) -> float:
        return (await us_per_turn(loop, 100) - await us_per_turn(loop, 0)) / 100

    return {"us": await us_per_step(BUNDLED), "standin_us": await us_per_step(STANDIN)}


async def hooked_turn() -> dict[str, float]:
    """Microseconds of a turn with 10 tool steps while 20 hooks listen to every event."""
    await check_that_both_loops_say_the_same()
    return {"us": await us_per_turn(own_loop(), steps=10, hooks=20)}


def own_loop() -> str:
    """The bundled loop where it is installed; elsewhere the one that does no more than it must."""
    try:
        distribution("amplifier")
    except PackageNotFoundError:
        return STANDIN
    return BUNDLED


async def concurrency(count: int) -> dict[str, float]:
    """Seconds for `count` sessions to run a turn of 20 tool steps side by side."""
    mount_plan = plan(own_loop(), "context-simple", steps=20)
    sessions = [await opened(mount_plan) for _ in range(count)]
    start = perf_counter()
    answers = await asyncio.gather(*(session.execute("go") for session in sessions))
    took = perf_counter() - start
    assert answers == [ANSWER] * count
    for session in sessions:
        assert len(await session.coordinator.get("context").get_messages()) == 42
    return {"seconds": took}


async def stream() -> dict[str, float]:
    """Tokens per second from a provider through loop-streaming to one listener."""
    tokens, heard = 2_000, 0

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        nonlocal heard
        heard += "text" in data["chunk"]
        return CONTINUE

    mount_plan = plan("loop-streaming", "context-simple", "provider-streaming", tokens=tokens)
    session = await opened(mount_plan)
    session.coordinator.hooks.register("provider:stream", listen, name="listener")
    await run_turn(session)
    assert heard == tokens
    us = await us_per_await(run_turn, session)
    await session.cleanup()
    return {"per_s": tokens / us * 1e6}
