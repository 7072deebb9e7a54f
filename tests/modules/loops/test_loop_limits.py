"""No turn runs away."""

import pytest
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ToolCallBlock
from helpers_loops import LOOPS, Tool, calls, check_history, deny, model_of, says, stage, usage


@pytest.mark.parametrize("loop", LOOPS)
async def test_at_the_limit_the_model_is_asked_to_wrap_up(loop: str) -> None:
    ready = await stage(
        calls("t"),
        calls("t"),
        says("so far so good", usage=usage()),
        loop=loop,
        config={"max_iterations": 2},
        t=Tool(),
    )

    assert await ready.run() == "so far so good"
    check_history(ready.context.messages)
    reminder = model_of(ready).last_messages[-1]
    assert reminder.role == "user"
    assert 'source="orchestrator-loop-limit"' in reminder.content
    assert "orchestrator-loop-limit" not in str(ready.context.messages)
    last = ready.payloads("provider:request")[-1]
    assert last["max_reached"] is True
    assert ready.payloads("provider:response")[-1]["usage"]["input_tokens"] == 3
    complete = ready.payload("orchestrator:complete")
    assert (complete["status"], complete["turn_count"]) == ("incomplete", 3)
    assert ready.payload("execution:end")["status"] == "completed"


async def test_a_limit_of_zero_leaves_only_the_wrap_up() -> None:
    ready = await stage(says("nothing yet"), config={"max_iterations": 0})

    assert await ready.run() == "nothing yet"
    assert len(model_of(ready).requests) == 1


async def test_an_answer_within_the_limit_is_a_success() -> None:
    ready = await stage(calls("t"), says("done"), config={"max_iterations": 2}, t=Tool())
    await ready.run()

    assert ready.payload("orchestrator:complete")["status"] == "success"


async def test_calls_in_the_wrap_up_are_neither_run_nor_stored() -> None:
    tool = Tool()
    block = ToolCallBlock(id="c0", name="t", input={})
    last = calls("t", content=[*says("enough").content, block])
    ready = await stage(last, config={"max_iterations": 0}, t=tool)

    assert await ready.run() == "enough"
    assert tool.inputs == []
    assert ready.context.messages[-1]["content"] == [{"type": "text", "text": "enough"}]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("failure", [LLMError("down"), calls("t")])
async def test_a_wrap_up_that_fails_is_replaced_by_a_notice(loop: str, failure: object) -> None:
    ready = await stage(calls("t"), failure, loop=loop, config={"max_iterations": 1}, t=Tool())

    assert "cut off" in await ready.run()
    check_history(ready.context.messages)
    assert len(ready.payloads("provider:error")) == isinstance(failure, LLMError)
    assert ready.payload("orchestrator:complete")["status"] == "incomplete"


async def test_a_wrap_up_can_be_denied() -> None:
    ready = await stage(config={"max_iterations": 0})
    ready.on("provider:request", deny("no budget"))

    assert await ready.run() == "Operation denied: no budget"
    check_history(ready.context.messages)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("empty", ["", "  \n"])
async def test_a_model_that_says_nothing_is_asked_three_times(loop: str, empty: str) -> None:
    ready = await stage(*[says(empty)] * 3, loop=loop)

    assert "gave no answer" in await ready.run()
    check_history(ready.context.messages)
    assert ready.context.roles == ["user", "assistant"]
    assert ready.payload("orchestrator:complete")["status"] == "incomplete"


async def test_an_answer_after_silence_counts() -> None:
    ready = await stage(says(""), says(""), says("at last"))

    assert await ready.run() == "at last"
    assert ready.payload("orchestrator:complete")["turn_count"] == 3


async def test_work_in_between_starts_the_count_anew() -> None:
    silence = [says(""), says("")]
    ready = await stage(*silence, calls("t"), *silence, says("at last"), t=Tool())

    assert await ready.run() == "at last"
