"""Goal pursuit: what happens when turn after turn makes no progress."""

from typing import Any

import pytest
from helpers_goal import asked, goal_in, last_progress, model, prompts, pursuing, states
from helpers_loops import Stage, Tool, calls

LOCKED = "TIME-LOCKED The build takes an hour."
IDLE = "3 turns in a row called no tool."
BUSY = "The last 3 turns failed for much the same reason."


def purposes(ready: Stage) -> list[str]:
    asides = [data for data in ready.payloads("provider:request") if data["iteration"] == 0]
    return [data["purpose"].removeprefix("goal-") for data in asides]


def working(turns: int) -> list[Any]:
    """Turns that call a tool each."""
    return [step for _ in range(turns) for step in (calls("t"), "worked")]


async def idle(judge: list[Any], turns: int, **options: Any) -> Stage:
    ready = await pursuing([f"turn {n}" for n in range(turns)], judge, **options)
    await ready.run("go")
    return ready


async def test_three_continuations_without_tools_make_a_judge_look() -> None:
    ready = await idle(
        ["NO alpha", "NO beta", "NO gamma", "NO delta", "RESOLVABLE Read the log.", "YES done"], 5
    )

    assert purposes(ready) == [*["evaluator"] * 4, "judge", "evaluator"]
    assert states(ready) == [*["continuing"] * 4, "achieved"]


async def test_a_resolvable_obstacle_is_told_and_the_pursuit_goes_on() -> None:
    goal: dict[str, Any] = {"condition": "c", "no_tool_turns": 2, "cap": 9}
    ready = await pursuing(
        ["one", "two", "three"], ["NO a", "NO b", "RESOLVABLE: Read it.", "YES c"], goal=goal
    )

    await ready.run("go")

    progress = ready.payloads("orchestrator:goal_progress")[1]
    assert progress["stall_verdict"] == "RESOLVABLE"
    assert progress["stall_detail"] == f"{IDLE} Read it."
    assert prompts(ready) == ["go", "a", "b"]
    assert goal["no_tool_turns"] == 1


async def test_a_turn_with_tools_ends_a_row_without_them() -> None:
    ready = await pursuing(
        ["0", "1", "2", calls("t"), "3", "4", "5"],
        ["NO alpha", "NO beta", "NO gamma", "NO delta", "NO epsilon", "YES zeta"],
        t=Tool(),
    )

    await ready.run()

    assert purposes(ready) == ["evaluator"] * 6


async def test_the_first_turn_needs_no_tools() -> None:
    ready = await idle(["NO alpha", "YES beta"], 2, config={"goal_stall_threshold": 2})

    assert purposes(ready) == ["evaluator"] * 2


async def test_turns_that_fail_for_the_same_reason_make_a_judge_look() -> None:
    ready = await pursuing(
        working(4),
        ["NO test_b fails", "NO still test_b fails", "NO test_b fails!", LOCKED, "YES done"],
        t=Tool(),
    )

    await ready.run()

    assert purposes(ready) == [*["evaluator"] * 3, "judge", "evaluator"]
    progress = ready.payloads("orchestrator:goal_progress")[2]
    assert progress["stall_detail"] == f"{BUSY} The build takes an hour."
    assert progress["stall_verdict"] == "TIME-LOCKED"


async def test_turns_that_fail_for_other_reasons_are_progress() -> None:
    reasons = ["NO test_a fails", "NO lint complains", "NO docs are missing", "YES done"]
    ready = await pursuing(working(4), reasons, t=Tool())

    await ready.run()

    assert purposes(ready) == ["evaluator"] * 4


async def test_window_and_overlap_can_be_set() -> None:
    ready = await pursuing(
        working(3),
        ["NO a b c d", "NO a x y z", LOCKED, "YES done"],
        config={"goal_busy_stall_window": 2, "goal_busy_stall_min_overlap": 0.1},
        t=Tool(),
    )

    await ready.run()

    assert purposes(ready) == ["evaluator", "evaluator", "judge", "evaluator"]


async def test_after_a_resolvable_obstacle_only_new_reasons_count() -> None:
    same = ["NO it fails"] * 3
    ready = await pursuing(
        working(6), [*same, "RESOLVABLE Go on.", "NO it fails", "NO it fails", "YES done"], t=Tool()
    )

    await ready.run()

    assert purposes(ready) == [*["evaluator"] * 3, "judge", *["evaluator"] * 3]


# -- escalation --------------------------------------------------------------------------


async def test_the_first_locked_verdict_is_put_to_the_model() -> None:
    goal: dict[str, Any] = {"condition": "it is green", "no_tool_turns": 3}
    ready = await pursuing(["one", "two"], ["NO It is red.", LOCKED, "YES done"], goal=goal)

    await ready.run("go")

    escalation = prompts(ready)[1]
    for part in ("it is green", "It is red.", "TIME-LOCKED", "The build takes an hour."):
        assert part in escalation
    assert goal["escalated"] is True
    assert states(ready) == ["continuing", "achieved"]


@pytest.mark.parametrize("kind", ["TIME", "STRUCTURE", "HISTORY"])
async def test_a_second_locked_verdict_ends_the_pursuit(kind: str) -> None:
    goal: dict[str, Any] = {"condition": "c", "no_tool_turns": 3}
    verdict = f"{kind}-LOCKED No way."
    ready = await pursuing(
        ["one", "two"], ["NO a", verdict, "NO b", verdict, "We are stuck."], goal=goal
    )

    assert await ready.run() == "two"
    assert states(ready) == ["continuing", "stalled"]
    told = last_progress(ready)
    assert told["stall_verdict"] == f"{kind}-LOCKED"
    assert told["stall_detail"].endswith("No way.")
    assert told["summary"] == "We are stuck."
    assert (told["reason"], told["reasons"]) == ("b", ["a", "b"])
    assert goal_in(ready) is None


async def test_a_locked_verdict_leaves_no_turn_for_an_escalation_at_the_cap() -> None:
    goal = {"condition": "c", "no_tool_turns": 3, "cap": 1}
    ready = await pursuing(["one"], ["NO a", LOCKED, "sum"], goal=goal)

    await ready.run()

    assert states(ready) == ["stalled"]


async def test_a_resolvable_verdict_at_the_cap_is_the_caps_end() -> None:
    goal = {"condition": "c", "no_tool_turns": 3, "cap": 1}
    ready = await pursuing(["one"], ["NO a", "RESOLVABLE b", "sum"], goal=goal)

    await ready.run()

    assert states(ready) == ["cap_hit"]
    assert last_progress(ready)["stall_verdict"] == "RESOLVABLE"


@pytest.mark.parametrize("answer", [RuntimeError("down"), "I cannot tell.", ""])
async def test_a_judge_that_fails_changes_nothing(answer: Any) -> None:
    goal: dict[str, Any] = {"condition": "c", "no_tool_turns": 3}
    ready = await pursuing(["one", "two"], ["NO a", answer, "YES b"], goal=goal)

    await ready.run("go")

    assert states(ready) == ["continuing", "achieved"]
    assert prompts(ready) == ["go", "a"]
    assert ready.payloads("orchestrator:goal_progress")[0]["stall_verdict"] is None


# -- what is told ------------------------------------------------------------------------


async def test_reasons_are_told_without_repeats_and_counted() -> None:
    goal = {"condition": "c", "reasons": ["a b", "a b", "c", "B, a!"]}
    ready = await pursuing(["one"], ["YES d"], goal=goal)

    await ready.run()

    told = last_progress(ready)
    assert told["reasons"] == ["a b", "c", "B, a!"]
    assert told["distinct_blockers"] == 2


async def test_only_the_newest_reasons_are_told() -> None:
    goal = {"condition": "c", "cap": 1, "reasons": ["a", "b", "c"]}
    ready = await pursuing(
        ["one"], ["NO d", "sum"], goal=goal, config={"goal_summary_max_reasons": 2}
    )

    await ready.run()

    assert last_progress(ready)["reasons"] == ["c", "d"]
    assert "<reasons>\n- c\n- d\n</reasons>" in asked(ready)
    assert len(model(ready, "judge").requests) == 2
