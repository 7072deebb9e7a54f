"""Loops get messages that are validated already, each of them once."""

import json
import logging
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest, Message, TextBlock, ToolCallBlock
from helpers_contexts import add_all, assistant, result, simple_context, system, turns, user


async def test_both_forms_of_a_request_say_the_same() -> None:
    async with simple_context() as context:
        await add_all(context, [system("be brief"), *turns(2)])
        dicts = await context.get_messages_for_request()
        messages = await context.get_validated_messages()

    assert [each.role for each in messages] == [each["role"] for each in dicts]
    assert [each.metadata for each in messages] == [each["metadata"] for each in dicts]
    assert ChatRequest(messages=messages).messages[3] is messages[3]


async def test_messages_are_validated_once_and_shared_by_all_requests() -> None:
    async with simple_context() as context:
        await add_all(context, turns(2))
        first = await context.get_validated_messages()
        await context.add_message(user("more"))
        second = await context.get_validated_messages()

    assert len(second) == len(first) + 1
    assert all(a is b for a, b in zip(first, second, strict=False))


async def test_a_compaction_keeps_what_was_validated_before() -> None:
    async with simple_context() as context:
        await add_all(context, turns(20))
        before = await context.get_validated_messages()
        await context.compact()
        after = await context.get_validated_messages()

    assert len(after) < len(before)
    assert after[0] is before[0]
    assert after[-2] is before[-1]


async def test_tool_calls_become_blocks_and_stay_beside_them() -> None:
    async with simple_context() as context:
        await add_all(context, [assistant("I look.", "a"), result("a", "text")])
        call, answer = await context.get_validated_messages()

    assert call.content == [
        TextBlock(text="I look."),
        ToolCallBlock(id="a", name="read", input={"path": "a"}),
    ]
    assert call.tool_calls == [{"id": "a", "tool": "read", "arguments": {"path": "a"}}]
    assert (answer.role, answer.tool_call_id, answer.content) == ("tool", "a", "text")


async def test_a_call_that_is_in_the_content_already_is_not_added_again() -> None:
    block = {"type": "tool_call", "id": "a", "name": "read", "input": {"path": "x"}}
    message = {**assistant("", "a"), "content": [{"type": "thinking", "thinking": "hm"}, block]}
    async with simple_context() as context:
        await context.add_message(message)
        shown, *_ = await context.get_validated_messages()

    assert [each.type for each in shown.content] == ["thinking", "tool_call"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ("not json", {"arguments": "not json"}),
        ("[1]", {"arguments": [1]}),
        (None, {}),
    ],
)
async def test_arguments_of_any_shape_become_a_mapping(arguments: Any, expected: Any) -> None:
    call = {"id": "a", "name": "read", "arguments": arguments}
    async with simple_context() as context:
        await context.add_message({"role": "assistant", "content": None, "tool_calls": [call]})
        shown, *_ = await context.get_validated_messages()

    assert shown.content == [ToolCallBlock(id="a", name="read", input=expected)]


@pytest.mark.parametrize("content", [None, ""])
async def test_a_message_without_content_has_empty_text(content: Any) -> None:
    async with simple_context() as context:
        await context.add_message({"role": "assistant", "content": content})
        (shown,) = await context.get_validated_messages()

    assert shown.content == ""


async def test_structured_content_is_sent_as_json() -> None:
    async with simple_context() as context:
        await context.add_message({**result("a", ""), "content": {"rows": [1, 2]}})
        (shown,) = await context.get_validated_messages()

    assert json.loads(shown.content) == {"rows": [1, 2]}


async def test_what_does_not_validate_is_sent_as_plain_text_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    blocks = [{"type": "hologram"}, {"type": "text", "text": "look"}, "here"]
    async with simple_context() as context:
        await context.add_message({**assistant("", "a"), "content": blocks})
        await context.add_message(result("a", "done"))
        await context.add_message({"role": "oracle", "content": "42", "tool_call_id": 7})
        with caplog.at_level(logging.WARNING):
            first, _, second = await context.get_validated_messages()
            await context.get_validated_messages()
        kept = await context.get_messages()

    assert [each["role"] for each in kept] == ["assistant", "tool", "oracle"]
    assert first.content[0] == TextBlock(text="look\n\nhere")
    assert first.content[1].id == "a"
    assert (second.role, second.content, second.tool_call_id) == ("user", "42", "7")
    assert len(caplog.records) == 2, "once per message, not once per request"


async def test_the_flags_of_shortened_messages_are_not_sent() -> None:
    async with simple_context() as context:
        await add_all(context, turns(20))
        shown = await context.get_validated_messages(token_budget=1_500)

    assert all(isinstance(each, Message) for each in shown)
    assert not [key for each in shown for key in (each.model_extra or {}) if key.startswith("_")]


def sent_as(stored: dict[str, Any]) -> Message:
    """What validation makes of a stored message, once its calls are blocks of the content."""
    if "tool_calls" not in stored:
        return Message.model_validate(stored)
    blocks = [
        {"type": "tool_call", "id": call["id"], "name": call["tool"], "input": call["arguments"]}
        for call in stored["tool_calls"]
    ]
    text = [{"type": "text", "text": stored["content"]}] if stored["content"] else []
    return Message.model_validate({**stored, "content": [*text, *blocks]})


@pytest.mark.parametrize(
    "message",
    [
        user("hello"),
        system("be brief", pinned=True),
        {**user("hello"), "name": "Ann"},
        {**user("hello"), "name": None, "tool_call_id": None},
        assistant("done"),
        assistant("", "a"),
        assistant("I look.", "a", "b"),
        {**result("a", "text"), "name": "read"},
        {**user("hello"), "importance": 3},
    ],
)
async def test_a_usual_message_is_what_validation_would_make_of_it(message: Any) -> None:
    async with simple_context() as context:
        await context.add_message(message)
        stored, *_ = await context.get_messages()
        made, *_ = await context.get_validated_messages()

    expected = sent_as(stored)
    assert made == expected
    assert made.model_dump_json() == expected.model_dump_json()
    assert made.model_fields_set == expected.model_fields_set
    assert made.model_extra == expected.model_extra
    assert made.metadata is not stored["metadata"]
    assert made.model_copy(update={"name": "other"}).name == "other"


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "nobody"},
        {"name": 5},
        {"tool_call_id": 5},
        {"metadata": {1: "one"}},
        {"tool_calls": "many"},
        {"tool_calls": [{"id": 5, "tool": "read", "arguments": {}}]},
        {"tool_calls": [{"id": "a", "tool": "", "arguments": {}}]},
        {"tool_calls": [{"id": "a", "tool": "read", "arguments": {1: 2}}]},
        {"tool_calls": [["a"]]},
    ],
)
async def test_an_odd_message_becomes_one_that_is_valid(odd: Any) -> None:
    async with simple_context() as context:
        await context.add_message({**assistant("hello"), **odd})
        made, *_ = await context.get_validated_messages()

    again = Message.model_validate(made.model_dump(exclude_unset=True))
    assert again == made
