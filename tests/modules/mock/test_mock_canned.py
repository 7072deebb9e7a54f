"""provider-mock without a script: canned replies and the call of `read`, as the public one does."""

from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.testing import MockCoordinator

from amplifier_modules.mock.provider import mount


async def provider_with(**config: Any) -> Any:
    coordinator = MockCoordinator()
    await mount(coordinator, config)
    return coordinator.get("providers", "mock")


def asking(*messages: dict[str, Any]) -> ChatRequest:
    return ChatRequest(messages=[Message.model_validate(each) for each in messages])


HELLO = {"role": "user", "content": "Hello"}


async def answers(provider: Any, calls: int) -> list[str]:
    return [(await provider.complete(asking(HELLO))).content[0].text for _ in range(calls)]


async def test_the_first_reply_is_the_second_element_and_then_they_go_round() -> None:
    provider = await provider_with(responses=["a", "b", "c"])

    assert await answers(provider, 5) == ["b", "c", "a", "b", "c"]


async def test_a_single_response_is_given_every_time() -> None:
    assert await answers(await provider_with(responses=["same"]), 3) == ["same"] * 3


async def test_there_are_three_replies_by_default() -> None:
    given = await answers(await provider_with(), 6)

    assert len(set(given)) == 3
    assert given[:3] == given[3:]


@pytest.mark.parametrize(
    "content",
    ["please read it", [{"type": "text", "text": "now "}, {"type": "text", "text": "read"}]],
)
async def test_a_message_with_read_in_it_is_answered_by_a_call_of_read(content: Any) -> None:
    provider = await provider_with(responses=["a"])

    response = await provider.complete(asking(HELLO, {"role": "user", "content": content}))

    (call,) = provider.parse_tool_calls(response)
    assert (call.name, call.arguments) == ("read", {"path": "test.txt"})


async def test_only_the_last_message_is_looked_at() -> None:
    provider = await provider_with(responses=["a"])

    response = await provider.complete(asking({"role": "user", "content": "read"}, HELLO))

    assert provider.parse_tool_calls(response) == []


async def test_the_answer_of_a_tool_never_causes_another_call() -> None:
    provider = await provider_with(responses=["a"])
    result = {"role": "tool", "content": "I read it", "tool_call_id": "call_1"}

    response = await provider.complete(asking({"role": "user", "content": "read"}, result))

    assert provider.parse_tool_calls(response) == []


@pytest.mark.parametrize("config", [{"legacy_read_call": False}, {"script": [{"text": "a"}]}])
async def test_the_call_of_read_can_be_switched_off_and_never_disturbs_a_script(
    config: dict[str, Any],
) -> None:
    provider = await provider_with(**config)

    response = await provider.complete(asking({"role": "user", "content": "read"}))

    assert provider.parse_tool_calls(response) == []


async def test_a_request_without_messages_gets_a_reply_too() -> None:
    provider = await provider_with(responses=["a"])

    assert (await provider.complete(ChatRequest(messages=[]))).content[0].text == "a"
