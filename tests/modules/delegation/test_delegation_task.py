"""tool-task runs agents as child sessions and answers with what they say."""

import asyncio
import re
from typing import Any

import pytest
from amplifier_core.testing import wait_for
from helpers_delegation import AGENTS, Brain, calls, says, text_of, world

pytestmark = pytest.mark.together


async def test_a_turn_hands_a_task_to_an_agent_and_gets_its_answer() -> None:
    order = calls("task", instruction="count", agent="reader")
    brain = Brain(start=[order, says("The reader found it.")], count=[says("42 files")])

    async with world(brain) as stage:
        assert await stage.session.execute("start") == "The reader found it."

    result = str(brain.requests[2].messages[-1].content)
    assert '"response": "42 files"' in result
    assert '"session_id": "root-' in result


async def test_the_child_begins_with_the_agents_instruction_and_the_task() -> None:
    async with world() as stage:
        result = await stage.run(instruction="look", agent="reader")

        (request,) = stage.brain.requests
        told = [(each.role, each.content) for each in request.messages]

    assert told == [("system", "You read."), ("user", "look")]
    assert result.output["response"] == "did look"
    assert re.fullmatch(r"root-[0-9a-f]{16}_reader", result.output["session_id"])


async def test_an_instruction_may_stand_under_system() -> None:
    agents = {"a": {"system": {"instruction": "Be brief."}}}

    async with world(agents=agents) as stage:
        await stage.run(instruction="look", agent="a")

        assert stage.brain.requests[0].messages[0].content == "Be brief."


async def test_its_events_tell_which_agent_and_which_sessions() -> None:
    async with world() as stage:
        result = await stage.run(instruction="look", agent="reader")

        ids = {
            "agent": "reader",
            "sub_session_id": result.output["session_id"],
            "parent_session_id": "root",
        }
        for event in ("task:agent_spawned", "task:agent_completed"):
            (data,) = stage.seen(event)
            assert ids.items() <= data.items()
        assert stage.seen("task:agent_completed")[0]["success"] is True


async def test_the_childs_events_carry_the_parents_call() -> None:
    order = calls("task", instruction="count", agent="reader")
    brain = Brain(start=[order, says("ok")])

    async with world(brain) as stage:
        await stage.session.execute("start")
        child_id = stage.seen("task:agent_spawned")[0]["sub_session_id"]
        of_child = [data for _, data in stage.events if data.get("session_id") == child_id]
        prompts = [data for data in stage.seen("prompt:submit") if data["session_id"] == child_id]

    assert {data["parent_tool_call_id"] for data in of_child} == {"call-1"}
    assert [data["prompt"] for data in prompts] == ["count"]
    metadata = stage.seen("session:fork")[0]["metadata"]
    assert metadata["agent_name"] == "reader"
    assert metadata["tool_call_id"] == "call-1"
    assert metadata["delegation_depth"] == 1


async def test_events_of_the_parent_carry_no_call_of_their_own() -> None:
    async with world() as stage:
        await stage.run(instruction="look", agent="reader")

        of_parent = [data for _, data in stage.events if data.get("session_id") == "root"]

    assert of_parent
    assert not any("parent_tool_call_id" in data for data in of_parent)


async def test_the_description_lists_the_agents_in_order() -> None:
    agents = {"z": {}, **AGENTS, "include": ["x:y"]}

    async with world(agents=agents) as stage:
        listed = stage.tool.description.split("Agents:\n")[1]

    assert listed == "- reader: Reads files.\n- writer: Writes files.\n- z"


async def test_it_says_what_kind_of_tool_it_is() -> None:
    async with world() as stage:
        assert stage.tool.annotations == {"effect": "external"}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no instruction": ({"agent": "reader"}, "'instruction' is missing."),
    "an empty one": (
        {"agent": "reader", "instruction": "  "},
        "'instruction' is wrong: String should have at least 1 character.",
    ),
    "nobody": (
        {"instruction": "x"},
        "Give either 'agent' to begin or 'session_id' to go on, and only one.",
    ),
    "two": (
        {"instruction": "x", "agent": "reader", "session_id": "root-1"},
        "Give either 'agent' to begin or 'session_id' to go on, and only one.",
    ),
    "an unknown agent": (
        {"instruction": "x", "agent": "rader"},
        "There is no agent 'rader'. Agents: 'reader', 'writer'.",
    ),
    "a foreign session": (
        {"instruction": "x", "session_id": "other-1_reader"},
        "There is no child session 'other-1_reader' that could go on. "
        "Use the session_id of an earlier answer, or name an agent to begin anew.",
    ),
    "an unknown key": (
        {"instruction": "x", "agent": "reader", "inherit_contxt": "all"},
        "There is no 'inherit_contxt'. Did you mean 'inherit_context'?",
    ),
    "a wrong depth": (
        {"instruction": "x", "agent": "reader", "inherit_context": "some"},
        "'inherit_context' is wrong: Input should be 'none', 'recent' or 'all'.",
    ),
    "no turns": (
        {"instruction": "x", "agent": "reader", "inherit_context_turns": 0},
        "'inherit_context_turns' is wrong: Input should be greater than or equal to 1.",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_cannot_be_done_is_a_failed_result_that_says_why(what: str) -> None:
    input, message = REFUSED[what]

    async with world() as stage:
        result = await stage.run(**input)
        (error,) = stage.seen("tool:error")

    assert not result.success
    assert result.error is not None
    assert result.error["message"] == message
    assert result.output == message
    assert (error["tool_name"], error["error"]["msg"]) == ("task", message)
    assert error["result"]["success"] is False


async def test_without_agents_it_says_so() -> None:
    async with world(agents={}) as stage:
        result = await stage.run(instruction="x", agent="reader")

    assert result.output == "There is no agent 'reader'. Agents: none."


async def test_a_child_that_fails_is_a_failed_result_and_is_cleaned_up() -> None:
    brain = Brain(look=[RuntimeError("the model is down")])

    async with world(brain) as stage:
        result = await stage.run(instruction="look", agent="reader")
        (ended,) = stage.seen("session:end")
        (completed,) = stage.seen("task:agent_completed")

    assert result.output == "Agent 'reader' failed: RuntimeError: the model is down"
    assert ended["session_id"] != "root"
    assert completed["success"] is False


async def test_a_failed_task_is_counted_once() -> None:
    order = calls("task", instruction="count", agent="nobody")

    async with world(Brain(start=[order, says("ok")])) as stage:
        await stage.session.execute("start")

        assert stage.session.status.tool_invocations == 1
        assert stage.session.status.tool_failures == 1


async def forever(request: Any) -> Any:
    await asyncio.Event().wait()


async def test_a_child_that_takes_too_long_is_stopped() -> None:
    async with world(Brain(look=[forever]), timeout=0.1) as stage:
        result = await stage.run(instruction="look", agent="reader")

        assert len(stage.seen("session:end")) == 1

    assert result.output == "Agent 'reader' did not finish within 0.1 s and was stopped."


async def test_a_childs_own_timeout_is_told_as_its_failure() -> None:
    brain = Brain(look=[TimeoutError("no route")])

    async with world(brain, timeout=4) as stage:
        result = await stage.run(instruction="look", agent="reader")

    assert result.output == "Agent 'reader' failed: TimeoutError: no route"


async def test_cancelling_the_task_stops_the_child_and_cleans_it_up() -> None:
    async with world(Brain(look=[forever])) as stage:
        running = asyncio.create_task(stage.run(instruction="look", agent="reader"))
        assert await wait_for(lambda: bool(stage.brain.requests), 5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert [data["session_id"] for data in stage.seen("session:end")] != ["root"]
        assert len(stage.seen("session:end")) == 1
        assert len(stage.seen("task:agent_cancelled")) == 1


@pytest.mark.parametrize("immediate", [True, False], ids=["immediate", "graceful"])
async def test_cancelling_the_parents_turn_reaches_the_child(immediate: bool) -> None:
    order = calls("task", instruction="count", agent="reader")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(request: Any) -> Any:
        begun.set()
        await go_on.wait()
        return calls("nothing")

    async with world(Brain(start=[order, says("never")], count=[wait])) as stage:
        running = asyncio.create_task(stage.session.execute("start"))
        async with asyncio.timeout(5):
            await begun.wait()
            await stage.session.coordinator.request_cancel(immediate=immediate)
            if not immediate:
                go_on.set()
            await running

        assert stage.child().cancellation.is_cancelled
        assert len(stage.brain.requests) == 2
        assert len(stage.seen("session:end")) == 1


async def test_tasks_run_side_by_side() -> None:
    together = asyncio.Barrier(3)

    async def meet(request: Any) -> Any:
        await together.wait()
        return says("met")

    async with world(Brain(one=[meet], two=[meet], three=[meet])) as stage:
        ordered = (stage.run(instruction=each, agent="reader") for each in ("one", "two", "three"))
        results = await asyncio.gather(*ordered)

    assert [each.output["response"] for each in results] == ["met"] * 3
    assert len({each.output["session_id"] for each in results}) == 3


async def test_nothing_of_a_child_is_kept_alive_by_its_parent() -> None:
    async with world() as stage:
        await stage.run(instruction="look", agent="reader")

        assert stage.child().get("tools") == {}
        assert stage.child().get("providers") == {}


def priced(response: Any) -> Any:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "cost_usd": "0.25"}
    return response.model_copy(update={"usage": usage})


async def test_the_cost_of_children_is_added_up_for_the_session() -> None:
    brain = Brain(one=[priced(says("1"))], two=[priced(says("2"))])
    async with world(brain) as stage:
        coordinator = stage.session.coordinator
        before = await coordinator.collect_contributions("session.cost")
        for each in ("one", "two"):
            await stage.run(instruction=each, agent="reader")
        (after,) = await coordinator.collect_contributions("session.cost")

    assert before == []
    assert str(after["cost_usd"]) == "0.50"


async def test_what_a_child_spent_before_it_failed_is_counted() -> None:
    brain = Brain(one=[priced(calls("task", instruction="x")), RuntimeError("down")])
    async with world(brain) as stage:
        result = await stage.run(instruction="one", agent="reader")
        (cost,) = await stage.session.coordinator.collect_contributions("session.cost")

    assert not result.success
    assert str(cost["cost_usd"]) == "0.25"


async def test_what_children_of_children_spent_is_counted() -> None:
    handed_on = priced(calls("task", instruction="two", agent="reader"))
    brain = Brain(one=[handed_on, priced(says("1"))], two=[priced(says("2"))])
    async with world(brain, max_recursion_depth=2) as stage:
        await stage.run(instruction="one", agent="reader")
        (cost,) = await stage.session.coordinator.collect_contributions("session.cost")

    assert str(cost["cost_usd"]) == "0.75"


async def test_the_name_of_an_agent_makes_a_session_id_that_is_a_file_name() -> None:
    name = "team:../re\0ad\rer" + "x" * 300
    async with world(agents={name: {}}) as stage:
        result = await stage.run(instruction="x", agent=name)

    assert re.fullmatch(r"root-[0-9a-f]{16}_team-\.\.-re-ad-erx{48}", result.output["session_id"])


async def test_a_child_can_be_asked_again_and_remembers() -> None:
    async with world() as stage:
        first = await stage.run(instruction="look", agent="reader")
        session_id = first.output["session_id"]
        second = await stage.run(instruction="more", session_id=session_id)
        told = [(each.role, text_of(each)) for each in stage.brain.requests[-1].messages]
        (resumed,) = stage.seen("task:agent_resumed")

    assert second.output == {"response": "did more", "session_id": session_id}
    assert told == [
        ("system", "You read."),
        ("user", "look"),
        ("assistant", "did look"),
        ("user", "more"),
    ]
    assert (resumed["agent"], resumed["sub_session_id"]) == ("reader", session_id)
    assert len(stage.seen("session:resume")) == 1


async def test_only_so_many_children_are_remembered() -> None:
    async with world(max_resumable=1) as stage:
        old = await stage.run(instruction="a", agent="reader")
        new = await stage.run(instruction="b", agent="reader")
        assert (await stage.run(instruction="c", session_id=new.output["session_id"])).success
        forgotten = await stage.run(instruction="d", session_id=old.output["session_id"])

    assert "that could go on" in str(forgotten.output)


async def test_a_child_that_is_still_at_work_cannot_be_asked_again() -> None:
    async with world(Brain(more=[forever])) as stage:
        first = await stage.run(instruction="look", agent="reader")
        session_id = first.output["session_id"]
        running = asyncio.create_task(stage.run(instruction="more", session_id=session_id))
        assert await wait_for(lambda: len(stage.brain.requests) == 2, 5)
        result = await stage.run(instruction="again", session_id=session_id)
        running.cancel()
        await asyncio.wait([running])

    assert result.output == f"Session {session_id!r} is still at work. Wait for its answer."
