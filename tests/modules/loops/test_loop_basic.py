"""loop-basic: from a prompt to an answer."""

import asyncio
from typing import Any

import pytest
from amplifier_core.content_models import ThinkingContent
from amplifier_core.llm_errors import ContextLengthError, LLMError, RateLimitError
from amplifier_core.message_models import Message, TextBlock, ThinkingBlock, ToolCallBlock
from helpers_loops import (
    LOOPS,
    Memory,
    Model,
    OldMemory,
    Tool,
    calls,
    check_history,
    deny,
    model_of,
    mounted,
    says,
    stage,
    usage,
)


@pytest.mark.parametrize("loop", LOOPS)
async def test_an_answer_is_returned_and_stored_after_the_prompt(loop: str) -> None:
    ready = await stage(says("hello"), loop=loop)

    assert await ready.run("hi") == "hello"
    assert ready.context.messages == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
    ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_tools_run_until_the_model_answers(loop: str) -> None:
    tool = Tool("4")
    ready = await stage(calls(("add", {"a": 2})), calls("add"), says("four"), loop=loop, add=tool)

    assert await ready.run() == "four"
    assert tool.inputs == [{"a": 2}, {}]
    assert ready.context.roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert ready.context.messages[1:3] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c0", "tool": "add", "arguments": {"a": 2}}],
        },
        {"role": "tool", "tool_call_id": "c0", "name": "add", "content": "4"},
    ]


async def test_a_tool_that_changes_its_input_does_not_change_the_history() -> None:
    async def careless(input: dict[str, Any]) -> str:
        input.clear()
        return "ok"

    ready = await stage(calls(("t", {"path": "a"})), says("done"), t=Tool(careless))
    await ready.run()

    assert ready.context.messages[1]["tool_calls"][0]["arguments"] == {"path": "a"}


async def test_text_blocks_are_joined_by_a_blank_line_and_thinking_is_stored_unread() -> None:
    content = [
        ThinkingBlock(thinking="hm", signature="s"),
        TextBlock(text="one"),
        TextBlock(text="two"),
    ]
    ready = await stage(says("").model_copy(update={"content": content}))

    assert await ready.run() == "one\n\ntwo"
    stored = ready.context.messages[-1]["content"]
    assert stored[0] == {"type": "thinking", "thinking": "hm", "signature": "s"}


async def test_metadata_of_a_response_is_stored_unchanged() -> None:
    ready = await stage(
        calls("t", metadata={"chain": 1}), says("done", metadata={"chain": 2}), t=Tool()
    )
    await ready.run()

    assert ready.context.messages[1]["metadata"] == {"chain": 1}
    assert ready.context.messages[-1]["metadata"] == {"chain": 2}


async def test_a_call_block_that_nobody_runs_is_not_stored() -> None:
    stray = ToolCallBlock(id="x", name="t", input={})
    own = ToolCallBlock(id="c0", name="t", input={"deep": None})
    ready = await stage(
        calls("t", content=[own, stray]),
        says("").model_copy(update={"content": [TextBlock(text="done"), stray]}),
        t=Tool(),
    )
    await ready.run()

    assert ready.context.messages[1]["content"] == [
        {"type": "tool_call", "id": "c0", "name": "t", "input": {"deep": None}}
    ]
    assert ready.context.messages[-1]["content"] == [{"type": "text", "text": "done"}]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_denied_prompt_is_answered_with_the_reason_and_leaves_no_trace(loop: str) -> None:
    ready = await stage(loop=loop)
    ready.on("prompt:submit", deny("not today"))

    assert await ready.run() == "Operation denied: not today"
    assert ready.context.messages == []
    assert ready.names == ["prompt:submit"]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_denied_request_is_stored_as_the_answer(loop: str) -> None:
    ready = await stage(calls("t"), loop=loop, t=Tool())
    ready.on("provider:request", None, deny("enough"))

    assert await ready.run() == "Operation denied: enough"
    check_history(ready.context.messages)
    assert ready.context.messages[-1]["content"] == "Operation denied: enough"
    assert ready.payload("orchestrator:complete")["status"] == "incomplete"


async def test_the_provider_with_the_lowest_priority_number_is_asked() -> None:
    ready = await mounted("loop-basic")
    first, second, third = (Model(says(name), name=name) for name in ("a", "b", "c"))
    second.priority = 10  # type: ignore[attr-defined]
    third.config = {"priority": 5}  # type: ignore[attr-defined]
    ready.set(Memory(), [first, second, third], {})

    assert await ready.run() == "c"


@pytest.mark.parametrize("loop", LOOPS)
async def test_the_default_provider_is_asked_whatever_its_priority(loop: str) -> None:
    ready = await mounted(loop, {"default_provider": "b"})
    first, second = Model(says("a"), name="a"), Model(says("b"), name="b")
    first.priority = 1  # type: ignore[attr-defined]
    ready.set(Memory(), [first, second], {})

    assert await ready.run() == "b"


async def test_a_default_provider_that_is_not_mounted_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ready = await stage(says("hello"), config={"default_provider": "gone"})

    assert await ready.run() == "hello"
    assert "no provider 'gone'" in caplog.text


async def test_without_a_provider_loop_basic_raises_and_the_history_stays_sound() -> None:
    ready = await mounted("loop-basic")
    ready.set(Memory(), [], {})

    with pytest.raises(RuntimeError, match="No provider is mounted"):
        await ready.run()
    check_history(ready.context.messages)
    assert ready.payload("orchestrator:complete")["status"] == "error"


@pytest.mark.parametrize("loop", ["loop-streaming", "loop-events"])
async def test_without_a_provider_the_other_loops_say_so(loop: str) -> None:
    ready = await mounted(loop)
    ready.set(Memory(), [], {})

    assert "No provider is mounted" in await ready.run()
    check_history(ready.context.messages)
    assert ready.payload("execution:end")["status"] == "error"


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_a_failing_provider_is_announced_and_its_error_raised(loop: str) -> None:
    error = RateLimitError("slow down", status_code=429)
    ready = await stage(calls("t"), error, loop=loop, t=Tool())

    with pytest.raises(RateLimitError) as raised:
        await ready.run()
    assert raised.value is error
    check_history(ready.context.messages)
    announced = ready.payload("provider:error")
    assert announced["error"] == {"type": "RateLimitError", "msg": "slow down"}
    assert (announced["retryable"], announced["status_code"]) == (True, 429)
    assert announced["provider"] == "model"


async def test_other_errors_of_a_provider_are_announced_without_llm_details() -> None:
    ready = await stage(KeyError())

    with pytest.raises(KeyError):
        await ready.run()
    announced = ready.payload("provider:error")
    assert announced["error"] == {"type": "KeyError", "msg": "KeyError"}
    assert "retryable" not in announced


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        "just text",
        ["blocks"],
        object(),
        says("x").model_copy(update={"content": 5}),
        says("x").model_copy(update={"content": [object()]}),
        says("x").model_copy(update={"content": [{"type": "weird"}]}),
        says("x").model_copy(update={"tool_calls": [object()]}),
        calls("t").model_copy(update={"tool_calls": calls("t", "t").tool_calls * 2}),
    ],
)
async def test_a_response_that_cannot_be_read_is_an_llm_error(garbage: Any) -> None:
    ready = await stage(garbage)

    with pytest.raises(LLMError):
        await ready.run()
    check_history(ready.context.messages)
    assert len(ready.payloads("provider:error")) == 1


async def test_responses_of_other_classes_are_read_by_their_fields() -> None:
    class Response:
        def __init__(self, content: Any, tool_calls: Any = None) -> None:
            self.content = content
            self.tool_calls = tool_calls

    call = {"id": "7", "tool": "t", "arguments": '{"a": 1}'}
    tool = Tool()
    ready = await stage(
        Response([{"type": "text", "text": "wait"}], [call]), Response("bye"), t=tool
    )

    assert await ready.run() == "bye"
    assert tool.inputs == [{"a": 1}]
    assert ready.context.messages[1]["content"] == [{"type": "text", "text": "wait"}]


async def test_calls_are_found_although_the_provider_parses_none() -> None:
    tool = Tool()
    ready = await stage(calls("t"), says("done"), t=tool)
    model_of(ready).parse_tool_calls = lambda response: []  # type: ignore[method-assign]

    assert await ready.run() == "done"
    assert tool.inputs == [{}]


async def test_a_provider_that_cancels_its_own_call_has_failed() -> None:
    ready = await stage(asyncio.CancelledError())

    with pytest.raises(LLMError, match="cancelled its own call"):
        await ready.run()
    assert ready.payload("orchestrator:complete")["status"] == "error"


async def test_usage_is_told_with_the_response_and_the_last_block() -> None:
    answer = says("one", usage=usage())
    answer.content.append(TextBlock(text="two"))
    ready = await stage(answer)
    await ready.run()

    told = usage().model_dump()
    assert ready.payload("provider:response")["usage"] == told
    first, last = ready.payloads("content_block:end")
    assert "usage" not in first
    assert (last["usage"], last["block"]) == (told, {"type": "text", "text": "two"})
    assert last["total_blocks"] == 2


async def test_blocks_made_for_display_are_announced_in_place_of_the_content() -> None:
    answer = says("one", content_blocks=[ThinkingContent(text="hm")])
    ready = await stage(answer)
    await ready.run()

    assert ready.payload("content_block:start")["block_type"] == "thinking"
    assert ready.payload("content_block:end")["block"]["text"] == "hm"
    assert ready.context.messages[-1]["content"] == [{"type": "text", "text": "one"}]


async def test_a_context_of_the_older_contract_serves_a_turn() -> None:
    ready = await stage(calls("t"), says("done"), context=OldMemory(), t=Tool())

    assert await ready.run() == "done"
    check_history(ready.context.kept)
    assert [message.role for message in model_of(ready).last_messages] == [
        "user",
        "assistant",
        "tool",
    ]


async def test_messages_that_a_context_has_validated_are_sent_as_they_are() -> None:
    class Validated(Memory):
        async def get_validated_messages(
            self, token_budget: int | None = None, provider: Any = None
        ) -> list[Message]:
            assert provider is model_of(ready)
            return kept

    kept = [Message(role="user", content="as validated")]
    ready = await stage(says("done"), context=Validated())
    await ready.run()

    assert model_of(ready).requests[0].messages == kept
    assert model_of(ready).requests[0].messages[0] is kept[0]


async def test_a_context_with_nothing_but_a_list_of_messages_serves_a_turn() -> None:
    class Oldest:
        def __init__(self) -> None:
            self.messages: list[dict[str, Any]] = []

        async def add_message(self, message: dict[str, Any]) -> None:
            self.messages.append(message)

    ready = await stage(says("done"), context=Oldest())

    assert await ready.run() == "done"


async def test_an_older_context_that_wants_to_be_compacted_is() -> None:
    class Full(OldMemory):
        def should_compact(self) -> bool:
            return len(self.kept) > 3

    ready = await stage(calls("t"), calls("t"), says("done"), context=Full(), t=Tool())
    await ready.run()

    assert ready.context.compactions == 1
    assert ready.names.count("context:pre_compact") == 1


async def test_a_request_that_is_too_long_is_repeated_once_the_context_is_compacted() -> None:
    ready = await stage(
        calls("t"), ContextLengthError("too long"), says("done"), context=OldMemory(), t=Tool()
    )
    ready.on("provider:request", None, None, None)

    assert await ready.run() == "done"
    assert ready.context.compactions == 1
    assert "provider:error" not in ready.names


async def test_a_request_that_compaction_does_not_shorten_is_not_repeated() -> None:
    ready = await stage(ContextLengthError("too long"), context=OldMemory())

    with pytest.raises(ContextLengthError):
        await ready.run()
    assert len(model_of(ready).requests) == 1


async def test_a_request_that_stays_too_long_is_repeated_only_once() -> None:
    class Slow(OldMemory):
        async def compact(self) -> None:
            self.compactions += 1
            del self.kept[:1]

    too_long = [ContextLengthError("too long")] * 3
    ready = await stage(calls("t"), *too_long, context=Slow(), t=Tool())

    with pytest.raises(ContextLengthError):
        await ready.run()
    assert ready.context.compactions == 1
    assert len(ready.payloads("provider:error")) == 1


async def test_a_turn_runs_without_a_coordinator() -> None:
    ready = await stage(calls("t"), says("done"), t=Tool())
    ready.loop.coordinator = None

    answer = await ready.loop.execute(
        "hi", ready.context, {"m": model_of(ready)}, {"t": Tool()}, ready.hooks
    )
    assert answer == "done"
    check_history(ready.context.messages)
