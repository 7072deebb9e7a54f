"""What goes into a context comes out again: the history is complete and nobody else's."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from amplifier_core.message_models import Message, TextBlock
from amplifier_core.testing import MockCoordinator
from helpers_contexts import add_all, assistant, contents, result, simple_context, turns, user

from amplifier_modules.contexts import simple


async def test_the_history_comes_back_complete_and_in_order() -> None:
    messages = turns(3)
    async with simple_context() as context:
        await add_all(context, messages)

        assert contents(await context.get_messages()) == contents(messages)
        assert context.messages == await context.get_messages()


async def test_the_list_that_is_handed_out_belongs_to_the_caller() -> None:
    async with simple_context() as context:
        await context.add_message(user("one"))
        for ask in (context.get_messages, context.get_messages_for_request):
            (await ask()).clear()

        assert contents(await context.get_messages()) == ["one"]
        assert contents(await context.get_messages_for_request()) == ["one"]


async def test_a_dict_that_its_owner_changes_later_is_kept_as_it_was() -> None:
    message = user("one", timestamp="long ago")
    async with simple_context() as context:
        await context.add_message(message)
        message["content"] = "changed"

        assert contents(await context.get_messages()) == ["one"]


async def test_every_message_is_stamped_with_the_time_in_utc_to_the_millisecond() -> None:
    async with simple_context() as context:
        await context.add_message(user("one"))
        (message,) = await context.get_messages()

    stamp = datetime.fromisoformat(message["metadata"]["timestamp"])
    assert stamp.utcoffset() == timedelta(0)
    assert stamp.microsecond % 1_000 == 0


async def test_metadata_is_returned_as_given_and_keeps_its_own_timestamp() -> None:
    given = {"openai:response_id": "r1", "nested": {"a": [1]}, "timestamp": "2026-01-01T00:00:00Z"}
    async with simple_context() as context:
        await context.add_message({**assistant("hi"), "metadata": given})

        assert (await context.get_messages())[0]["metadata"] == given


async def test_set_messages_replaces_the_history() -> None:
    async with simple_context() as context:
        await context.add_message(user("old"))
        await context.set_messages([user("a"), assistant("b")])

        assert contents(await context.get_messages()) == ["a", "b"]
        assert contents(await context.get_messages_for_request()) == ["a", "b"]


async def test_clear_forgets_everything() -> None:
    async with simple_context() as context:
        await add_all(context, turns(2))
        await context.clear()

        assert await context.get_messages() == []
        assert await context.get_messages_for_request() == []


async def test_a_message_model_is_stored_as_a_dict_with_plain_blocks() -> None:
    async with simple_context() as context:
        await context.add_message(Message(role="user", content=[TextBlock(text="hi")]))
        await context.add_message({"role": "user", "content": [TextBlock(text="ho")]})
        first, second = await context.get_messages()

    assert first["content"] == [{"type": "text", "text": "hi"}]
    assert second["content"] == [{"type": "text", "text": "ho"}]


@pytest.mark.parametrize("message", [{}, {"content": "no role"}, {"role": "oracle"}])
async def test_odd_dicts_are_admitted(message: dict[str, Any]) -> None:
    async with simple_context() as context:
        await context.add_message(message)
        (kept,) = await context.get_messages()

    assert {key: kept[key] for key in message} == message


@pytest.mark.parametrize("message", ["text", None, 3, [user("one")]])
async def test_what_is_no_message_is_refused(message: Any) -> None:
    async with simple_context() as context:
        with pytest.raises(ValueError, match="A message is a dict"):
            await context.add_message(message)

        assert await context.get_messages() == []


async def test_unknown_and_dead_config_keys_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="there is no key 'truncate_boundary'"):
        await simple.mount(MockCoordinator(), {"truncate_boundary": 10})
    with pytest.raises(ValueError, match="Did you mean 'compact_threshold'"):
        await simple.mount(MockCoordinator(), {"compact_treshold": 0.5})


@pytest.mark.parametrize(
    "config",
    [
        {"target_usage": 0.95},
        {"compact_threshold": 0},
        {"protected_recent": 1.5},
        {"protected_tool_results": -1},
        {"max_tokens": 0},
        {"token_meter": "guess"},
        {"compaction_notice_verbosity": "loud"},
    ],
)
async def test_values_that_make_no_sense_are_refused(config: dict[str, Any]) -> None:
    (key,) = config
    with pytest.raises(ValueError, match=f"'context-simple'.*'{key}'"):
        await simple.mount(MockCoordinator(), config)


async def test_cleanup_leaves_no_listener_behind() -> None:
    coordinator = MockCoordinator()
    async with simple_context(coordinator):
        assert "llm:response" in coordinator.hooks.list_handlers()

    assert coordinator.hooks.list_handlers() == {}


async def test_a_result_without_its_call_is_still_shown() -> None:
    async with simple_context() as context:
        await add_all(
            context, [user("go"), result("gone", "late"), {"role": "tool", "content": "?"}]
        )

        assert contents(await context.get_messages_for_request()) == ["go", "late", "?"]
