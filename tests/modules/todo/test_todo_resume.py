"""A resumed session goes on with the todo list that its conversation left behind."""

import asyncio
from typing import Any

import pytest
from helpers_todo import item, requests_of, session_with, todo_call

pytestmark = pytest.mark.together

OLD, NEW = item("Old"), item("New", "in_progress", "Making it new")
ANSWER = {"text": "done"}


async def conversation(*script: dict[str, Any]) -> list[dict[str, Any]]:
    """What a session that plays `script` leaves behind."""
    session = session_with(*script)
    async with asyncio.timeout(5), session:
        await session.execute("go")
        return await session.coordinator.get("context").get_messages()


async def list_after(messages: list[dict[str, Any]], *, is_resumed: bool = True) -> Any:
    """The list that a session with this history has when it is asked something."""
    session = session_with(ANSWER, is_resumed=is_resumed)
    async with asyncio.timeout(5), session:
        await session.coordinator.get("context").set_messages(messages)
        await session.execute("go on")
        [request] = requests_of(session)
        reminder = request[-1].content if "system-reminder" in request[-1].content else None
        state = session.coordinator.get_capability("todo.state")
        assert session.coordinator.todo_state == state
        return state, reminder


async def test_the_newest_list_is_taken_up_and_shown_in_the_first_request() -> None:
    left = await conversation(todo_call("create", OLD), todo_call("update", OLD, NEW), ANSWER)

    state, reminder = await list_after(left)

    assert state == [OLD, NEW]
    assert "☐ Old\n→ Making it new" in reminder


async def test_looking_at_the_list_does_not_hide_the_call_that_made_it() -> None:
    look = {"tool_calls": [{"name": "todo", "arguments": {"action": "list"}}]}
    left = await conversation(todo_call("create", OLD), look, ANSWER)

    assert (await list_after(left))[0] == [OLD]


async def test_a_call_that_was_refused_does_not_count() -> None:
    bad = todo_call("update", {**NEW, "status": "odd"})
    left = await conversation(todo_call("create", OLD), bad, ANSWER)

    assert (await list_after(left))[0] == [OLD]


@pytest.mark.parametrize("result", ["Denied by hook: no", '{"error": "x", "cancelled": true}'])
async def test_a_call_that_was_never_made_does_not_count(result: str) -> None:
    left = await conversation(todo_call("create", OLD), todo_call("update", NEW), ANSWER)
    [*_, last] = [message for message in left if message["role"] == "tool"]
    last["content"] = result

    assert (await list_after(left))[0] == [OLD]


async def test_a_result_that_was_cut_short_still_counts() -> None:
    left = await conversation(todo_call("create", OLD, NEW), ANSWER)
    [result] = [message for message in left if message["role"] == "tool"]
    result["content"] = result["content"][:40] + " ... [cut]"

    assert (await list_after(left))[0] == [OLD, NEW]


async def test_a_list_that_was_emptied_stays_empty() -> None:
    left = await conversation(todo_call("create", OLD), todo_call("update"), ANSWER)

    assert await list_after(left) == ([], None)


async def test_without_a_todo_call_there_is_no_list() -> None:
    assert await list_after(await conversation(ANSWER)) == ([], None)


async def test_a_new_session_does_not_look_back() -> None:
    left = await conversation(todo_call("create", OLD), ANSWER)

    assert await list_after(left, is_resumed=False) == ([], None)


async def test_a_list_that_the_host_restored_is_left_alone() -> None:
    left = await conversation(todo_call("create", OLD), ANSWER)
    session = session_with(ANSWER, is_resumed=True)
    async with asyncio.timeout(5), session:
        await session.coordinator.get("context").set_messages(left)
        session.coordinator.todo_state = [NEW]
        await session.execute("go on")

        assert session.coordinator.todo_state == [NEW]


async def test_a_context_that_cannot_be_read_costs_the_list_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = session_with(ANSWER, is_resumed=True)
    async with asyncio.timeout(5), session:

        async def fails() -> None:
            raise OSError("gone")

        session.coordinator.get("context").get_messages = fails

        assert await session.execute("go on") == "done"

    assert "todo list of the earlier run cannot be read" in caplog.text
