"""Many sessions in one process: they do not meet, and nothing of them stays."""

import asyncio
import gc
import tracemalloc
import weakref
from itertools import pairwise
from typing import Any

import pytest
from amplifier_core import AmplifierSession, HookResult
from helpers_modules import Loop, Memory, MemoryLoader, Tool, entries, mounts, plan

SESSIONS = 1_000
MODULES = {
    "tool-t": mounts("tools", lambda: Tool("t")),
    "loop": mounts("orchestrator", lambda: Loop(_turn)),
}
PLAN = plan(tools=entries("tool-t"))


async def _turn(prompt: str, context: Memory, tools: Any, hooks: Any, **_: Any) -> str:
    """A turn that gives way to others at every step."""
    await context.add_message({"role": "user", "content": prompt})
    await asyncio.sleep(0)
    await hooks.emit("tool:pre", {"tool_name": "t"})
    result = await tools["t"].execute({"prompt": prompt})
    await asyncio.sleep(0)
    await hooks.emit("tool:post", {"tool_name": "t", "result": result})
    return f"{prompt} after {len(context.messages)}"


def _session(number: int) -> AmplifierSession:
    loader: Any = MemoryLoader(MODULES)
    return AmplifierSession(PLAN, loader=loader, session_id=f"s{number}")


async def _life(number: int, heard: list[tuple[str, str]]) -> list[str]:
    async def hear(event: str, data: dict[str, Any]) -> HookResult:
        await asyncio.sleep(0)
        heard.append((event, data["session_id"]))
        return HookResult()

    async with _session(number) as session:
        session.coordinator.hooks.register("*", hear)
        answers = [await session.execute(f"s{number} turn {turn}") for turn in range(2)]
        assert session.status.tool_successes == 2
        return answers


@pytest.mark.slow
async def test_a_thousand_sessions_at_once_stay_independent() -> None:
    heard: list[list[tuple[str, str]]] = [[] for _ in range(SESSIONS)]

    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(_life(n, heard[n]) for n in range(SESSIONS)))

    turn = ["tool:pre", "tool:post"]
    for number in range(SESSIONS):
        own = f"s{number}"
        assert answers[number] == [f"{own} turn 0 after 1", f"{own} turn 1 after 2"]
        events = ["session:start", *turn, *turn, "session:end"]
        assert heard[number] == [(event, own) for event in events]


@pytest.mark.slow
async def test_cancelling_half_of_a_thousand_sessions_leaves_the_other_half_alone() -> None:
    sessions = [_session(number) for number in range(SESSIONS)]
    for session in sessions[::2]:
        session.coordinator.cancellation.request_graceful()

    async with asyncio.timeout(60):
        await asyncio.gather(*(session.execute("hello") for session in sessions))

    assert [session.status.status for session in sessions[:4]] == [
        "cancelled", "completed", "cancelled", "completed",
    ]  # fmt: skip
    assert [session.status.status for session in sessions].count("cancelled") == SESSIONS // 2


async def _lives(count: int) -> "list[weakref.ref[Any]]":
    """Bring sessions up at once, use them, end them; what they were is watched."""
    sessions = [_session(number) for number in range(count)]
    await asyncio.gather(*(session.execute("hello") for session in sessions))
    watched = [
        weakref.ref(each)
        for session in sessions
        for each in (
            session,
            session.coordinator,
            session.coordinator.hooks,
            session.coordinator.get("orchestrator"),
            session.coordinator.get("context"),
            session.coordinator.get("tools", "t"),
        )
    ]
    await asyncio.gather(*(session.cleanup() for session in sessions))
    return watched


@pytest.mark.slow
async def test_after_cleanup_nothing_of_a_thousand_sessions_is_alive() -> None:
    async with asyncio.timeout(60):
        watched = await _lives(SESSIONS)
    gc.collect()

    assert len(watched) == 6 * SESSIONS
    assert not [each for each in watched if each() is not None]


async def test_after_cleanup_modules_are_free_even_while_the_session_is_kept() -> None:
    session = _session(0)
    await session.execute("hello")
    watched = [
        weakref.ref(session.coordinator.get(slot)) for slot in ("orchestrator", "context")
    ] + [weakref.ref(session.coordinator.get("tools", "t"))]

    await session.cleanup()
    gc.collect()

    assert [each() for each in watched] == [None, None, None]


@pytest.mark.slow
async def test_memory_returns_to_where_it_was_after_hundreds_of_sessions() -> None:
    async def round_of_sessions() -> int:
        async with asyncio.timeout(60):
            await _lives(300)
            # The loop itself forgets timers and tasks only when it goes round.
            await asyncio.sleep(0)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        # The first round also pays for the tables of the event loop, which it keeps.
        sizes = [await round_of_sessions() for _ in range(4)]
    finally:
        tracemalloc.stop()

    # What sessions leave behind, they leave in every round; others may allocate in one of them.
    kept = min(after - before for before, after in pairwise(sizes))
    # A few kB that every hundredth session left behind would be seen.
    assert kept < 9_000
