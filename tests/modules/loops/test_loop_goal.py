"""Goal pursuit of loop-streaming: turns follow each other until a goal is settled."""

import asyncio
from typing import Any

import pytest
from helpers_goal import (
    COMPLETE,
    PROGRESS,
    completions,
    goal_in,
    last_progress,
    model,
    prompts,
    pursuing,
    said,
    states,
)
from helpers_loops import Stage, Tool, calls, cancelled, check_history, deny, hangs, says, until

# -- without a goal ----------------------------------------------------------------------


async def test_nobody_is_asked_when_there_is_no_goal() -> None:
    ready = await pursuing(["done"], [], goal=None)

    assert await ready.run() == "done"
    assert states(ready) == []
    assert completions(ready) == [(False, True, 0)]


async def test_a_loop_without_a_coordinator_has_no_goal() -> None:
    ready = await pursuing(["done"], [])
    ready.loop.coordinator = None
    parts = {point: ready.coordinator.get(point) for point in ("context", "providers", "tools")}

    assert await ready.loop.execute("hi", hooks=ready.hooks, **parts) == "done"
    assert states(ready) == []


# -- reached -----------------------------------------------------------------------------


async def test_a_goal_that_is_reached_is_cleared() -> None:
    ready = await pursuing(["done"], ["YES The log shows 12 passed."])

    assert await ready.run("go") == "done"
    assert said(ready, PROGRESS) == {
        "orchestrator": "loop-streaming",
        "schema_version": 1,
        "state": "achieved",
        "turn": 1,
        "continuations": 0,
        "cap": None,
        "condition": "all tests pass",
        "reason": "The log shows 12 passed.",
        "reasons": [],
        "distinct_blockers": 0,
        "stall_detail": None,
        "stall_verdict": None,
        "summary": None,
    }
    assert goal_in(ready) is None
    assert completions(ready) == [(True, True, 0)]


async def test_the_reason_is_the_prompt_of_the_next_turn() -> None:
    ready = await pursuing(["one", "two", "three"], ["NO Run them.", "NO Fix b.", "YES Passed."])

    assert await ready.run("go") == "three"
    assert prompts(ready) == ["go", "Run them.", "Fix b."]
    assert [data["prompt"] for data in ready.payloads("prompt:submit")] == prompts(ready)
    assert states(ready) == ["continuing", "continuing", "achieved"]
    check_history(ready.context.messages)


async def test_prompts_that_no_user_wrote_are_marked() -> None:
    ready = await pursuing(["one", "two"], ["NO Run them.", "YES Passed."])

    await ready.run("go")

    users = [m for m in ready.context.messages if m["role"] == "user"]
    assert [m.get("metadata") for m in users] == [None, {"source": "goal"}]


async def test_every_turn_tells_at_its_end_whether_it_was_the_last() -> None:
    ready = await pursuing(["one", "two", "three"], ["NO a", "NO b", "YES c"])

    await ready.run()

    assert completions(ready) == [(True, False, 0), (True, False, 1), (True, True, 2)]
    judged = [name for name in ready.names if name in (PROGRESS, "execution:end", COMPLETE)]
    assert judged == [PROGRESS, "execution:end", COMPLETE] * 3


async def test_progress_is_kept_in_the_goal_itself() -> None:
    goal: dict[str, Any] = {"condition": "c"}
    ready = await pursuing(["one", "two"], ["NO Run them.", "YES Passed."], goal=goal)

    await ready.run()

    assert goal == {
        "condition": "c",
        "cap": None,
        "turns_used": 2,
        "reasons": ["Run them."],
        "no_tool_turns": 1,
        "escalated": False,
        "continuations": 1,
        "last_reason": "Passed.",
    }


async def test_a_goal_set_by_a_tool_counts_from_that_turn_on() -> None:
    async def set_goal(_: dict[str, Any]) -> str:
        ready.coordinator.session_state["goal"] = {"condition": "c"}
        return "set"

    ready = await pursuing(
        [calls("t"), "one", "two"], ["NO Go on.", "YES Done."], goal=None, t=Tool(set_goal)
    )

    assert await ready.run() == "two"
    assert states(ready) == ["continuing", "achieved"]


async def test_a_turn_that_reached_the_iteration_limit_is_continued() -> None:
    ready = await pursuing(
        [calls("t"), "wrapped up", "done"],
        ["NO Go on.", "YES Done."],
        config={"max_iterations": 1},
        t=Tool(),
    )

    assert await ready.run() == "done"
    assert [data["status"] for data in ready.payloads(COMPLETE)] == ["incomplete", "success"]


async def test_what_the_user_says_during_evaluation_is_read_in_the_next_turn() -> None:
    async def steer(_: Any) -> Any:
        ready.loop.steering.steer("use pytest")
        return says("NO Run them.")

    ready = await pursuing(["one", "two"], [steer, "YES Passed."])

    await ready.run("go")

    assert prompts(ready) == ["go", "Run them.", "use pytest"]


# -- cap ---------------------------------------------------------------------------------


async def test_no_more_turns_are_run_than_the_cap_allows() -> None:
    goal = {"condition": "c", "cap": 2}
    ready = await pursuing(["one", "two"], ["NO a", "NO b", "It is not done."], goal=goal)

    assert await ready.run() == "two"
    assert states(ready) == ["continuing", "cap_hit"]
    assert last_progress(ready)["summary"] == "It is not done."
    assert (last_progress(ready)["turn"], last_progress(ready)["cap"]) == (2, 2)
    assert goal_in(ready) is None
    assert completions(ready)[-1] == (True, True, 1)


async def test_a_goal_can_be_reached_in_the_last_turn_that_the_cap_allows() -> None:
    ready = await pursuing(["one"], ["YES a"], goal={"condition": "c", "cap": 1})

    await ready.run()

    assert states(ready) == ["achieved"]


async def test_turns_used_before_count_towards_the_cap() -> None:
    goal = {"condition": "c", "cap": 5, "turns_used": 4}
    ready = await pursuing(["one"], ["NO a", "sum"], goal=goal)

    await ready.run()

    assert states(ready) == ["cap_hit"]


async def test_a_summary_that_fails_is_left_out() -> None:
    goal = {"condition": "c", "cap": 1}
    ready = await pursuing(["one"], ["NO a", RuntimeError("down")], goal=goal)

    assert await ready.run() == "one"
    assert states(ready) == ["cap_hit"]
    assert last_progress(ready)["summary"] is None
    assert ready.payload("provider:error")["purpose"] == "goal-summary"


# -- failures ----------------------------------------------------------------------------


async def check_given_up(ready: Stage, reason: str) -> None:
    assert await ready.run() == "done"
    assert states(ready) == ["error"]
    assert reason in last_progress(ready)["reason"]
    assert goal_in(ready) is None
    assert completions(ready) == [(True, True, 0)]


async def test_an_evaluator_that_fails_ends_the_pursuit_but_not_the_turn() -> None:
    ready = await pursuing(["done"], [RuntimeError("no credit")])

    await check_given_up(ready, "no credit")
    assert said(ready, "provider:error") == {
        "provider": "judge",
        "iteration": 0,
        "purpose": "goal-evaluator",
        "error": {"type": "RuntimeError", "msg": "no credit"},
    }


async def test_an_evaluator_that_cancels_its_own_call_has_failed() -> None:
    await check_given_up(await pursuing(["done"], [asyncio.CancelledError()]), "CancelledError")


async def test_an_evaluator_that_says_nothing_has_failed() -> None:
    await check_given_up(await pursuing(["done"], [" "]), "answered with nothing")


async def test_an_evaluator_that_says_neither_yes_nor_no_has_failed() -> None:
    await check_given_up(await pursuing(["done"], ["Perhaps."]), "neither YES nor NO")


async def test_a_hook_may_deny_the_evaluation() -> None:
    ready = await pursuing(["done"], [])
    ready.on("provider:request", None, deny("too dear"))

    await check_given_up(ready, "too dear")
    assert ready.payloads("provider:error") == []


async def test_a_memory_that_cannot_be_read_ends_the_pursuit() -> None:
    async def fails() -> list[Any]:
        raise OSError("disk gone")

    ready = await pursuing(["done"], [])
    ready.context.get_messages = fails

    await check_given_up(ready, "disk gone")


@pytest.mark.parametrize(
    "goal", ["make it so", {}, {"condition": " "}, {"condition": "c", "cap": "5"}]
)
async def test_a_goal_that_makes_no_sense_is_an_error(goal: Any) -> None:
    await check_given_up(await pursuing(["done"], [], goal=goal), "cannot be used")


async def test_a_turn_that_fails_ends_the_pursuit_and_still_raises() -> None:
    ready = await pursuing(["one", RuntimeError("boom")], ["NO Go on."])

    with pytest.raises(RuntimeError, match="boom"):
        await ready.run()
    assert states(ready) == ["continuing", "error"]
    assert completions(ready) == [(True, False, 0), (True, True, 1)]
    assert goal_in(ready) is None
    check_history(ready.context.messages)


async def test_without_a_provider_a_goal_is_an_error() -> None:
    ready = await pursuing([], [])
    ready.set(ready.context, [], {})

    await ready.run()

    assert states(ready) == ["error"]


async def test_a_denied_continuation_ends_the_pursuit() -> None:
    ready = await pursuing(["one"], ["NO Go on."])
    ready.on("prompt:submit", None, deny("enough"))

    assert await ready.run() == "Operation denied: enough"
    assert states(ready) == ["continuing", "error"]
    assert "enough" in last_progress(ready)["reason"]
    assert completions(ready) == [(True, False, 0), (True, True, 1)]
    assert ready.payloads(COMPLETE)[-1]["status"] == "incomplete"
    assert goal_in(ready) is None


# -- stopping ----------------------------------------------------------------------------


def check_stopped(ready: Stage, *before: str) -> None:
    assert states(ready) == [*before, "cancelled"]
    assert goal_in(ready) is None
    assert ready.payloads(COMPLETE)[-1]["status"] == "cancelled"
    assert completions(ready)[-1][:2] == (True, True)
    assert len(ready.payloads("cancel:requested")) == 1
    assert len(ready.payloads("cancel:completed")) == 1
    check_history(ready.context.messages)


async def test_a_turn_that_is_stopped_ends_the_pursuit() -> None:
    async def stop(_: dict[str, Any]) -> str:
        ready.token.request_graceful()
        return "ok"

    ready = await pursuing([calls("t")], [], t=Tool(stop))

    await ready.run()

    check_stopped(ready)


async def test_a_wish_to_stop_after_the_answer_keeps_the_evaluator_from_being_asked() -> None:
    async def stop(_: Any) -> Any:
        ready.token.request_graceful()
        return says("one")

    ready = await pursuing([stop], [])

    assert await ready.run() == "one"
    check_stopped(ready)


async def test_a_wish_to_stop_during_evaluation_keeps_the_next_turn_from_running() -> None:
    async def stop(_: Any) -> Any:
        ready.token.request_graceful()
        return says("NO Go on.")

    ready = await pursuing(["one"], [stop])

    assert await ready.run() == "one"
    check_stopped(ready)


async def test_a_wish_to_stop_at_once_leaves_the_evaluator() -> None:
    async def stop(_: Any) -> None:
        ready.token.request_immediate()
        await hangs()

    ready = await pursuing(["one"], [stop])

    assert await ready.run() == "one"
    check_stopped(ready)


async def test_cancelling_the_task_during_evaluation_is_told_and_raised() -> None:
    ready = await pursuing(["one"], [hangs])
    task = asyncio.create_task(ready.run())
    await until(lambda: model(ready, "judge").requests)

    await cancelled(task)

    check_stopped(ready)


async def test_cancelling_the_task_while_hooks_look_at_a_continuation_is_told() -> None:
    ready = await pursuing(["one"], ["NO Go on."])

    async def look(_: str, data: dict[str, Any]) -> None:
        if data["prompt"] == "Go on.":
            await hangs()

    ready.hooks.register("prompt:submit", look)
    task = asyncio.create_task(ready.run())
    await until(lambda: PROGRESS in ready.names and len(ready.payloads("prompt:submit")) == 2)

    await cancelled(task)

    assert states(ready) == ["continuing", "cancelled"]
    assert completions(ready)[-1] == (True, True, 1)
    assert goal_in(ready) is None


# -- withdrawn ---------------------------------------------------------------------------


async def test_a_goal_withdrawn_during_evaluation_is_not_pursued() -> None:
    async def withdraw(_: Any) -> Any:
        del ready.coordinator.session_state["goal"]
        return says("NO Go on.")

    ready = await pursuing(["one"], [withdraw])

    assert await ready.run() == "one"
    assert states(ready) == ["cancelled"]
    assert completions(ready) == [(True, True, 0)]


async def test_a_goal_withdrawn_during_a_continuation_ends_with_that_turn() -> None:
    async def withdraw(_: Any) -> Any:
        ready.coordinator.session_state["goal"] = None
        return says("two")

    ready = await pursuing(["one", withdraw], ["NO Go on."])

    assert await ready.run() == "two"
    assert states(ready) == ["continuing", "cancelled"]
    assert completions(ready) == [(True, False, 0), (True, True, 1)]


async def test_another_goal_takes_the_place_of_the_first() -> None:
    async def replace(_: Any) -> Any:
        ready.coordinator.session_state["goal"] = {"condition": "other"}
        return says("NO Go on.")

    ready = await pursuing(["one", "two"], [replace, "NO Other things.", "YES Done."])

    assert await ready.run() == "two"
    told = [(data["state"], data["condition"]) for data in ready.payloads(PROGRESS)]
    assert told == [
        ("cancelled", "all tests pass"),
        ("continuing", "other"),
        ("achieved", "other"),
    ]
    assert prompts(ready) == ["hi", "Other things."]
