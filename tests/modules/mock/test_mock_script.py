"""What provider-mock answers: the script, step by step, and what happens after it."""

import asyncio
from typing import Any

import pytest
from amplifier_core import llm_errors
from amplifier_core.message_models import ChatRequest, ChatResponse, Message
from amplifier_core.testing import MockCoordinator
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.mock.provider import mount


async def provider_with(**config: Any) -> Any:
    coordinator = MockCoordinator()
    await mount(coordinator, config)
    return coordinator.get("providers", "mock")


def asking(text: str = "Hello", **fields: Any) -> ChatRequest:
    return ChatRequest(messages=[Message(role="user", content=text)], **fields)


def said(response: ChatResponse) -> str:
    return "".join(block.text for block in response.content if block.type == "text")


async def test_steps_are_played_in_order() -> None:
    provider = await provider_with(script=[{"text": "one"}, {"text": "two"}])

    answers = [said(await provider.complete(asking())) for _ in range(2)]

    assert answers == ["one", "two"]


async def test_a_step_may_think_speak_and_call_tools() -> None:
    calls = [{"name": "look", "arguments": {"at": "it"}}, {"name": "wait", "id": "mine"}]
    provider = await provider_with(
        script=[{"thinking": "Hm.", "text": "Let me see.", "tool_calls": calls}]
    )

    response = await provider.complete(asking())

    assert [block.type for block in response.content] == [
        "thinking",
        "text",
        "tool_call",
        "tool_call",
    ]
    parsed = provider.parse_tool_calls(response)
    assert [(call.id, call.name, call.arguments) for call in parsed] == [
        ("call_1", "look", {"at": "it"}),
        ("mine", "wait", {}),
    ]
    assert response.finish_reason == "tool_calls"


async def test_call_ids_never_repeat_within_one_provider() -> None:
    step = {"tool_calls": [{"name": "look"}, {"name": "look"}]}
    provider = await provider_with(script=[step], on_exhausted="repeat")

    ids = [call.id for _ in range(3) for call in (await provider.complete(asking())).tool_calls]

    assert ids == [f"call_{number}" for number in range(1, 7)]


async def test_whoever_changes_the_arguments_of_a_call_changes_no_later_one() -> None:
    step = {"tool_calls": [{"name": "look", "arguments": {"at": ["a"]}}]}
    provider = await provider_with(script=[step], on_exhausted="last")

    first = await provider.complete(asking())
    first.tool_calls[0].arguments["at"].append("b")

    assert (await provider.complete(asking())).tool_calls[0].arguments == {"at": ["a"]}


async def test_usage_and_finish_reason_are_as_scripted() -> None:
    usage = {"input_tokens": 7, "output_tokens": 5}
    provider = await provider_with(script=[{"usage": usage, "finish_reason": "length"}])

    response = await provider.complete(asking())

    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 5)
    assert response.usage.total_tokens == 12
    assert response.finish_reason == "length"


async def test_without_a_scripted_usage_messages_and_words_are_counted() -> None:
    provider = await provider_with(script=[{"text": "three little words"}])

    response = await provider.complete(asking())

    assert (response.usage.input_tokens, response.usage.output_tokens) == (1, 3)
    assert response.finish_reason == "stop"


async def test_a_scripted_error_is_raised_with_its_data() -> None:
    error = {"type": "RateLimitError", "message": "Slow down.", "retry_after": 2}
    provider = await provider_with(script=[{"error": error}, {"text": "fine"}])

    with pytest.raises(llm_errors.RateLimitError, match=r"Slow down\.") as caught:
        await provider.complete(asking())

    assert (caught.value.retry_after, caught.value.retryable) == (2, True)
    assert (caught.value.provider, caught.value.model) == ("mock", "mock-model")
    assert said(await provider.complete(asking())) == "fine"


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, kind in vars(llm_errors).items()
        if isinstance(kind, type) and issubclass(kind, llm_errors.LLMError)
    ],
)
async def test_every_kernel_error_can_be_scripted(name: str) -> None:
    data = {"retry_after": 1, "retryable": True, "status_code": 418, "delay_multiplier": 3}
    provider = await provider_with(script=[{"error": {"type": name, **data}}])

    with pytest.raises(getattr(llm_errors, name)) as caught:
        await provider.complete(asking())

    assert {key: getattr(caught.value, key) for key in data} == data


async def test_a_script_that_is_over_is_an_error_that_names_the_ways_out() -> None:
    provider = await provider_with(script=[{"text": "only"}])
    await provider.complete(asking())

    with pytest.raises(llm_errors.ConfigurationError, match="1 steps and this is call 2") as caught:
        await provider.complete(asking())

    assert "on_exhausted" in str(caught.value)
    assert caught.value.retryable is False


@pytest.mark.parametrize(
    ("on_exhausted", "expected"), [("repeat", ["a", "b", "a", "b"]), ("last", ["a", "b", "b", "b"])]
)
async def test_a_script_may_begin_again_or_stay_with_its_last_step(
    on_exhausted: str, expected: list[str]
) -> None:
    provider = await provider_with(script=[{"text": "a"}, {"text": "b"}], on_exhausted=on_exhausted)

    assert [said(await provider.complete(asking())) for _ in range(4)] == expected


@pytest.mark.parametrize("on_exhausted", ["error", "repeat", "last"])
async def test_an_empty_script_expects_no_call_at_all(on_exhausted: str) -> None:
    provider = await provider_with(script=[], on_exhausted=on_exhausted)

    provider.assert_script_used_up()
    with pytest.raises(llm_errors.ConfigurationError):
        await provider.complete(asking())


async def test_an_unfinished_script_is_reported_with_the_steps_that_are_left() -> None:
    provider = await provider_with(
        script=[
            {"text": "played"},
            {"text": "a greeting", "tool_calls": [{"name": "look"}]},
            {"error": {"type": "StreamError"}},
            {},
        ]
    )
    await provider.complete(asking())

    with pytest.raises(AssertionError) as caught:
        provider.assert_script_used_up()

    text = str(caught.value)
    assert "3 scripted replies" in text
    assert "played" not in text
    for left in (
        "step 2 says 'a greeting' and calls 'look'",
        "step 3 raises StreamError",
        "step 4 says nothing",
    ):
        assert left in text


async def test_a_script_that_was_played_to_its_end_is_no_failure() -> None:
    provider = await provider_with(script=[{"text": "one"}])
    await provider.complete(asking())

    provider.assert_script_used_up()


async def test_a_delayed_step_can_be_cancelled() -> None:
    provider = await provider_with(script=[{"text": "late", "delay": 60}])
    call = asyncio.ensure_future(provider.complete(asking()))
    await asyncio.sleep(0)

    call.cancel()

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_requests_are_kept_for_the_test_to_look_at() -> None:
    provider = await provider_with()
    first, second = asking("one"), asking("two")

    await provider.complete(first)
    _ = [chunk async for chunk in provider.stream_complete(second)]

    assert provider.requests == [first, second]
    assert provider.call_count == 2


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"respones": []}, "Did you mean 'responses'?"),
        ({"responses": []}, "'responses'"),
        ({"on_exhausted": "stop"}, "'on_exhausted'"),
        ({"script": [{"text": "a"}, {"txt": "b"}]}, "script step 2': there is no key 'txt'"),
        ({"script": [{"text": "a", "stream": ["b"]}]}, "`text` differs from `stream`"),
        ({"script": [{"error": {"type": "ValueError"}}]}, "no error of amplifier_core.llm_errors"),
        ({"script": [{"error": {"type": "__name__"}}]}, "no error of amplifier_core.llm_errors"),
        ({"script": [{"tool_calls": [{"arguments": {}}]}]}, "tool_calls.0.name"),
        ({"script": [{"delay": -1}]}, "'delay'"),
    ],
)
async def test_a_config_that_cannot_be_understood_is_refused(
    config: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match="provider-mock") as caught:
        await provider_with(**config)

    assert complaint in str(caught.value)


@given(
    length=st.integers(min_value=1, max_value=6),
    on_exhausted=st.sampled_from(["repeat", "last"]),
    calls=st.integers(min_value=1, max_value=20),
)
async def test_call_n_plays_step_n_for_scripts_of_any_length(
    length: int, on_exhausted: str, calls: int
) -> None:
    script = [{"text": str(number)} for number in range(length)]
    provider = await provider_with(script=script, on_exhausted=on_exhausted)

    played = [int(said(await provider.complete(asking()))) for _ in range(calls)]

    expected = [
        n % length if on_exhausted == "repeat" else min(n, length - 1) for n in range(calls)
    ]
    assert played == expected
