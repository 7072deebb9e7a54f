"""Turns that are stopped, by the session's token or by cancelling their task."""

import asyncio
import gc
import json
import warnings
from typing import Any

import pytest
from amplifier_core.llm_errors import LLMError
from helpers_loops import (
    LOOPS,
    Memory,
    Stage,
    Tool,
    calls,
    cancelled,
    check_history,
    hangs,
    inject,
    says,
    stage,
    until,
)


def last_events(ready: Stage, count: int) -> list[str]:
    return ready.names[-count:]


# -- by token ---------------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_graceful_stop_lets_tools_finish_and_keeps_their_results(loop: str) -> None:
    async def stop(_: Any) -> str:
        ready.token.request_graceful()
        await asyncio.sleep(0)
        return "finished"

    ready = await stage(calls("t", "t"), loop=loop, t=Tool(stop))

    assert await ready.run() == ""
    check_history(ready.context.messages)
    assert [message["content"] for message in ready.context.messages[2:4]] == ["finished"] * 2
    assert ready.payload("cancel:requested")["state"] == "graceful"
    assert ready.payload("cancel:completed")["was_immediate"] is False
    complete = ready.payload("orchestrator:complete")
    assert (complete["status"], complete["turn_count"]) == ("cancelled", 1)
    assert ready.payload("execution:end")["status"] == "cancelled"
    assert "prompt:complete" not in ready.names


async def test_a_turn_that_is_stopped_before_it_begins_asks_no_model() -> None:
    ready = await stage(says("never"))
    ready.token.request_graceful()

    assert await ready.run() == ""
    check_history(ready.context.messages)
    assert "provider:request" not in ready.names


async def test_an_immediate_stop_during_the_model_call_drops_the_response() -> None:
    async def answer(_: Any) -> Any:
        ready.token.request_immediate()
        return calls("t")

    tool = Tool()
    ready = await stage(answer, t=tool)

    assert await ready.run() == ""
    assert ready.context.roles == ["user", "assistant"]
    assert tool.inputs == []
    assert "provider:response" not in ready.names
    assert ready.payload("cancel:completed")["was_immediate"] is True


async def test_a_graceful_stop_during_the_model_call_lets_its_tools_run() -> None:
    async def answer(_: Any) -> Any:
        ready.token.request_graceful()
        return calls("t")

    tool = Tool()
    ready = await stage(answer, t=tool)
    await ready.run()

    assert tool.inputs == [{}]
    check_history(ready.context.messages)


@pytest.mark.parametrize("waits_for", ["model", "tool", "one of two tools", "hook"])
async def test_an_immediate_stop_does_not_wait_for_anything(waits_for: str) -> None:
    first = calls("t", "u") if waits_for.startswith("one") else calls("t")
    tool = Tool(hangs) if "tool" in waits_for else Tool()
    ready = await stage(hangs if waits_for == "model" else first, t=tool, u=Tool("quick"))
    if waits_for == "hook":
        ready.hooks.register("tool:pre", hangs)
    turn = asyncio.create_task(ready.run())
    await until(lambda: "provider:request" in ready.names)
    await ready.coordinator.request_cancel(immediate=True)

    assert await turn == ""
    assert not turn.cancelling()
    check_history(ready.context.messages)
    assert ready.payload("orchestrator:complete")["status"] == "cancelled"
    if waits_for == "one of two tools":
        cut_off, quick = (m["content"] for m in ready.context.messages if m["role"] == "tool")
        assert json.loads(cut_off)["cancelled"] is True
        assert quick == "quick"


async def test_an_error_that_comes_of_the_stop_is_not_the_turns() -> None:
    async def answer(_: Any) -> Any:
        try:
            await hangs()
        except asyncio.CancelledError:
            raise LLMError("the connection was closed") from None

    ready = await stage(answer)
    turn = asyncio.create_task(ready.run())
    await until(lambda: "provider:request" in ready.names)
    ready.token.request_immediate()

    assert await turn == ""
    assert "provider:error" not in ready.names
    check_history(ready.context.messages)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_wrap_up_can_be_stopped(fails: bool) -> None:
    async def answer(_: Any) -> Any:
        ready.token.request_immediate()
        if fails:
            raise LLMError("closed")
        return says("too late")

    ready = await stage(answer, config={"max_iterations": 0})

    assert await ready.run() == ""
    check_history(ready.context.messages)
    assert ready.payload("orchestrator:complete")["status"] == "cancelled"


async def test_the_tokens_callbacks_run_once_and_may_fail() -> None:
    ran: list[int] = []

    def callback() -> None:
        ran.append(1)
        raise RuntimeError("broken")

    ready = await stage(says("never"))
    ready.token.on_cancel(callback)
    ready.token.request_graceful()
    await ready.run()

    assert ran == [1]
    assert last_events(ready, 4) == [
        "cancel:requested",
        "cancel:completed",
        "execution:end",
        "orchestrator:complete",
    ]


async def test_the_next_turn_builds_on_a_stopped_one() -> None:
    ready = await stage(says("never"))
    ready.token.request_graceful()
    await ready.run()
    ready.token.reset()

    assert await ready.run("again") == "never"
    check_history(ready.context.messages)


# -- by cancelling the task -------------------------------------------------------------


async def test_calls_that_were_cut_off_get_a_result_that_says_so() -> None:
    ready = await stage(calls("quick", "slow"), quick=Tool("quick"), slow=Tool(hangs))
    turn = asyncio.create_task(ready.run())
    await until(lambda: "tool:post" in ready.names)
    await cancelled(turn)

    check_history(ready.context.messages)
    quick, slow = (m["content"] for m in ready.context.messages if m["role"] == "tool")
    assert quick == "quick"
    assert json.loads(slow) == {
        "error": "The tool call was cancelled.",
        "cancelled": True,
        "tool": "slow",
    }
    requested = ready.payload("cancel:requested")
    assert (requested["state"], requested["orchestrator"]) == ("immediate", "loop-basic")
    assert ready.payload("cancel:completed")["was_immediate"] is True
    assert ready.payload("orchestrator:complete")["status"] == "cancelled"


async def test_a_turn_without_a_coordinator_can_be_cut_off_too() -> None:
    ready = await stage(hangs)
    ready.loop.coordinator = None
    models = {"m": _only_model(ready)}
    turn = asyncio.create_task(ready.loop.execute("hi", ready.context, models, {}, ready.hooks))
    await until(lambda: "provider:request" in ready.names)
    await cancelled(turn)

    check_history(ready.context.messages)
    assert ready.payload("cancel:requested")["state"] == "immediate"


async def test_tools_are_cancelled_and_waited_for() -> None:
    ended: list[str] = []

    async def tidy(_: Any) -> None:
        try:
            await hangs()
        finally:
            await asyncio.sleep(0.01)
            ended.append(f"tidied up before {ready.context.roles.count('tool')} results")

    ready = await stage(calls("t", "t"), t=Tool(tidy))
    turn = asyncio.create_task(ready.run())
    await until(lambda: ready.names.count("tool:pre") == 2)
    await asyncio.sleep(0)
    await cancelled(turn)

    assert ended == ["tidied up before 0 results"] * 2
    assert not ready.token.running_tools


async def test_a_cancellation_wins_over_a_tools_time_limit() -> None:
    out_of_time = asyncio.Event()

    async def slow(_: Any) -> None:
        try:
            await hangs()
        finally:
            out_of_time.set()
            await asyncio.sleep(0.01)

    ready = await stage(calls("t"), config={"tool_timeout": 0.01}, t=Tool(slow))
    turn = asyncio.create_task(ready.run())
    await out_of_time.wait()
    await cancelled(turn)

    check_history(ready.context.messages)


async def test_a_stop_that_is_cut_off_is_announced_once() -> None:
    ready = await stage(says("never"))
    ready.hooks.register("cancel:completed", hangs)
    ready.token.request_graceful()
    turn = asyncio.create_task(ready.run())
    await until(lambda: "cancel:completed" in ready.names)
    ready.hooks.unregister(ready.hooks.list_handlers("cancel:completed")["cancel:completed"][-1])
    await cancelled(turn)

    assert ready.names.count("cancel:requested") == 1
    assert last_events(ready, 2) == ["execution:end", "orchestrator:complete"]


async def test_a_hook_that_hangs_does_not_keep_a_broken_turn_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amplifier_modules.loops.turn.SECONDS_PER_CLOSING_STEP", 0.01)
    ready = await stage(LLMError("down"))
    ready.hooks.register("execution:end", hangs)

    with pytest.raises(LLMError):
        await ready.run()
    assert last_events(ready, 2) == ["execution:end", "orchestrator:complete"]


async def test_a_turn_that_fails_after_an_injection_was_stored_has_a_last_word() -> None:
    ready = await stage(LLMError("down"))
    ready.on("provider:request", inject("remember", ephemeral=False))

    with pytest.raises(LLMError):
        await ready.run()
    assert ready.context.roles == ["user", "system", "assistant"]


async def test_a_timeout_around_a_turn_is_a_timeout() -> None:
    ready = await stage(hangs)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ready.run()
    check_history(ready.context.messages)


class SlowMemory(Memory):
    """A context that can be cut off before and after it has stored a message."""

    async def add_message(self, message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        await super().add_message(message)
        await asyncio.sleep(0)


async def _tick(*_: Any) -> str:
    await asyncio.sleep(0)
    return "ok"


async def _rounds_until_cancelled(loop: str, rounds: int, again_after: int | None) -> bool:
    """Cancel a turn after some rounds of the event loop; whether it was still running."""
    before = asyncio.all_tasks()
    ready = await stage(
        calls("t", "t"), calls("t"), says("done"), loop=loop, context=SlowMemory(), t=Tool(_tick)
    )
    # Every event is a point where the turn can be cut off.
    ready.hooks.register("*", lambda event, data: asyncio.sleep(0), priority=1)
    turn = asyncio.create_task(ready.run())
    for _ in range(rounds):
        await asyncio.sleep(0)
    was_running = turn.cancel()
    for _ in range(again_after or 0):
        await asyncio.sleep(0)
    if again_after is not None:
        turn.cancel()
    await asyncio.wait([turn], timeout=5)
    assert turn.done()
    if "user" in ready.context.roles:
        check_history(ready.context.messages)
    starts = ready.names.count("execution:start")
    assert ready.names.count("execution:end") == starts
    assert ready.names.count("orchestrator:complete") == starts
    assert asyncio.all_tasks() == before
    return was_running


@pytest.mark.parametrize("again_after", [None, 0, 2, 9])
@pytest.mark.parametrize("loop", LOOPS)
async def test_a_turn_can_be_cut_off_at_every_await_even_twice(
    loop: str, again_after: int | None
) -> None:
    rounds = 0
    while await _rounds_until_cancelled(loop, rounds, again_after):
        rounds += 1

    assert rounds > 30


async def test_a_cancellation_while_a_failed_turn_is_closed_goes_through() -> None:
    closing = asyncio.Event()

    async def wait(event: str, data: dict[str, Any]) -> None:
        closing.set()
        await asyncio.sleep(0.01)

    ready = await stage(LLMError("down"))
    ready.hooks.register("execution:end", wait)
    turn = asyncio.create_task(ready.run())
    await closing.wait()
    await cancelled(turn)

    assert last_events(ready, 2) == ["execution:end", "orchestrator:complete"]


async def test_a_context_that_fails_does_not_hide_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Memory):
        async def add_message(self, message: dict[str, Any]) -> None:
            raise OSError("disk full")

    ready = await stage(says("never"), context=Broken())

    with pytest.raises(OSError, match="disk full"):
        await ready.run()
    assert last_events(ready, 2) == ["execution:end", "orchestrator:complete"]
    assert ready.context.messages == []
    assert "could not be closed" not in caplog.text


async def test_a_context_that_fails_later_is_reported_and_the_end_is_announced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(Memory):
        async def add_message(self, message: dict[str, Any]) -> None:
            if self.messages:
                raise OSError("disk full")
            await super().add_message(message)

    ready = await stage(says("never"), context=Full())

    with pytest.raises(OSError, match="disk full"):
        await ready.run()
    assert "could not be closed" in caplog.text
    assert last_events(ready, 2) == ["execution:end", "orchestrator:complete"]


async def test_a_history_that_ends_with_a_system_message_gets_no_stray_answer() -> None:
    class Closed(Memory):
        async def add_message(self, message: dict[str, Any]) -> None:
            if message["role"] == "user":
                raise OSError("read only")
            await super().add_message(message)

    context = Closed()
    await context.add_message({"role": "system", "content": "You are brief."})
    ready = await stage(says("never"), context=context)

    with pytest.raises(OSError, match="read only"):
        await ready.run()
    assert context.roles == ["system"]


def test_a_turn_that_outlives_its_event_loop_ends_without_a_word() -> None:
    async def begin() -> Any:
        ready = await stage(hangs)
        turn = ready.loop.execute("hi", ready.context, {"m": _only_model(ready)}, {}, ready.hooks)
        turn.send(None)
        return turn

    loop = asyncio.new_event_loop()
    turn = loop.run_until_complete(begin())
    loop.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turn.close()
        del turn
        gc.collect()


def _only_model(ready: Stage) -> Any:
    [model] = ready.coordinator.get("providers").values()
    return model
