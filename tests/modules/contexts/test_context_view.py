"""A request shows every call with its results right behind it, whatever happened in between."""

from helpers_contexts import (
    add_all,
    assistant,
    contents,
    result,
    simple_context,
    system,
    user,
)


async def test_a_call_that_was_interrupted_is_answered_before_the_next_message() -> None:
    async with simple_context() as context:
        await add_all(context, [user("go"), assistant("", "a", "b"), result("a", "done")])
        await context.add_message(user("again"))
        shown = await context.get_messages_for_request()

        assert [each["role"] for each in shown] == ["user", "assistant", "tool", "tool", "user"]
        assert shown[3]["tool_call_id"] == "b"
        assert "interrupted" in shown[3]["content"]
        assert len(await context.get_messages()) == 4


async def test_an_answer_that_comes_too_late_or_twice_is_not_shown() -> None:
    async with simple_context() as context:
        await add_all(context, [assistant("", "a", "b"), result("a", "done"), user("again")])
        await add_all(context, [result("b", "late"), result("a", "twice")])
        shown = await context.get_messages_for_request()

    assert [each.get("tool_call_id") for each in shown] == [None, "a", "b", None]


async def test_what_hooks_inject_while_tools_run_moves_behind_the_results() -> None:
    reminder = user("reminder", source="hook")
    async with simple_context() as context:
        await add_all(context, [assistant("", "a", "b"), reminder, system("note", source="hook")])
        await add_all(context, [result("a", "one"), result("b", "two"), assistant("fine")])

        shown = contents(await context.get_messages_for_request())
        history = contents(await context.get_messages())

    assert shown == ["", "one", "two", "reminder", "note", "fine"]
    assert history == ["", "reminder", "note", "one", "two", "fine"]


async def test_a_request_in_the_middle_of_calls_is_valid_and_shows_everything() -> None:
    async with simple_context() as context:
        await add_all(context, [assistant("", "a"), user("reminder", source="hook")])
        _, note, reminder = await context.get_messages_for_request()
        validated = await context.get_validated_messages()
        await context.add_message(result("a", "done"))

        assert (note["role"], note["tool_call_id"]) == ("tool", "a")
        assert [validated[1].tool_call_id, validated[2].content] == ["a", reminder["content"]]
        assert contents(await context.get_messages_for_request()) == ["", "done", "reminder"]


async def test_an_id_that_is_used_again_belongs_to_the_newest_call() -> None:
    async with simple_context() as context:
        for answer in ("first", "second"):
            await add_all(context, [assistant("", "call_0"), result("call_0", answer)])

        assert contents(await context.get_messages_for_request()) == ["", "first", "", "second"]


async def test_calls_and_results_in_content_blocks_are_pairs_too() -> None:
    call = {"type": "tool_call", "id": "a", "name": "read", "input": {}}
    answer = {"type": "tool_result", "tool_call_id": "a", "output": "text"}
    async with simple_context() as context:
        await context.add_message({"role": "assistant", "content": [call]})
        await context.add_message({"role": "user", "content": [answer]})
        await context.add_message(user("next"))

        assert contents(await context.get_messages_for_request()) == [[call], [answer], "next"]


async def test_a_result_without_an_id_does_not_end_an_open_call() -> None:
    async with simple_context() as context:
        await add_all(context, [assistant("", "a"), {"role": "tool", "content": "?"}])
        await context.add_message(result("a", "done"))

        assert contents(await context.get_messages_for_request()) == ["", "?", "done"]
