"""The order of events, for each loop and each way a turn can go."""

import pytest
from amplifier_core.llm_errors import LLMError
from helpers_loops import LOOPS, Stage, StreamingModel, Tool, calls, says, stage

STEP = ["provider:request", "provider:response"]
BLOCK = ["content_block:start", "content_block:end"]
BEGIN = {loop: ["prompt:submit", "execution:start"] for loop in LOOPS}
BEGIN["loop-events"] = [*BEGIN["loop-events"], "session:start"]
END = {loop: ["execution:end", "orchestrator:complete"] for loop in LOOPS}
END["loop-events"] = ["session:end", *END["loop-events"]]
CHOICE = {loop: [] for loop in LOOPS} | {"loop-events": ["tool:selecting", "tool:selected"]}
ALSO_TOLD = {loop: [] for loop in LOOPS} | {"loop-events": ["error:tool"]}
SHOWN = {loop: [] for loop in LOOPS} | {"loop-streaming": ["provider:stream"]}


def answer(loop: str) -> list[str]:
    return ["provider:request", *SHOWN[loop], "provider:response", *BLOCK]


async def order(ready: Stage) -> list[str]:
    await ready.run()
    return ready.names


@pytest.mark.parametrize("loop", LOOPS)
async def test_an_answer_at_once(loop: str) -> None:
    ready = await stage(says("hello"), loop=loop)

    assert await order(ready) == [*BEGIN[loop], *answer(loop), "prompt:complete", *END[loop]]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_tool_and_then_an_answer(loop: str) -> None:
    ready = await stage(calls("t"), says("hello"), loop=loop, t=Tool())

    assert await order(ready) == [
        *BEGIN[loop],
        *STEP,
        *CHOICE[loop],
        "tool:pre",
        "tool:post",
        *answer(loop),
        "prompt:complete",
        *END[loop],
    ]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", ["t", "unknown"])
async def test_a_tool_that_fails(loop: str, name: str) -> None:
    ready = await stage(calls(name), says("hello"), loop=loop, t=Tool(OSError()))

    assert await order(ready) == [
        *BEGIN[loop],
        *STEP,
        *CHOICE[loop],
        "tool:pre",
        "tool:error",
        *ALSO_TOLD[loop],
        "tool:post",
        *answer(loop),
        "prompt:complete",
        *END[loop],
    ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_the_limit(loop: str) -> None:
    ready = await stage(
        calls("t"), says("so far"), loop=loop, config={"max_iterations": 1}, t=Tool()
    )

    assert await order(ready) == [
        *BEGIN[loop],
        *STEP,
        *CHOICE[loop],
        "tool:pre",
        "tool:post",
        *answer(loop),
        "prompt:complete",
        *END[loop],
    ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_stop_before_the_first_step(loop: str) -> None:
    ready = await stage(loop=loop)
    ready.token.request_graceful()

    assert await order(ready) == [
        *BEGIN[loop],
        "cancel:requested",
        "cancel:completed",
        *END[loop],
    ]


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_a_provider_that_fails(loop: str) -> None:
    ready = await stage(LLMError("down"), loop=loop)

    with pytest.raises(LLMError):
        await order(ready)
    assert ready.names == [*BEGIN[loop], "provider:request", "provider:error", *END[loop]]


async def test_a_provider_that_fails_in_loop_events() -> None:
    ready = await stage(LLMError("down"), loop="loop-events")

    assert await order(ready) == [
        *BEGIN["loop-events"],
        "provider:request",
        "provider:error",
        "error:provider",
        "prompt:complete",
        *END["loop-events"],
    ]


async def test_steering_and_pacing_come_before_the_request() -> None:
    async def interject(_: object) -> str:
        ready.coordinator.get_capability("session.steer")("look here")
        return "ok"

    config = {"min_delay_between_calls_ms": 20}
    ready = await stage(
        calls("t"), says("hello"), loop="loop-streaming", config=config, t=Tool(interject)
    )
    names = await order(ready)

    first_of_second_step = names.index("tool:post") + 1
    assert names[first_of_second_step : first_of_second_step + 3] == [
        "orchestrator:steering_injected",
        "orchestrator:rate_limit_delay",
        "provider:request",
    ]


async def test_chunks_come_between_request_and_response() -> None:
    steps = [{"text": "hel"}, {"text": "lo"}, {"response": says("hello")}]
    ready = await stage(loop="loop-streaming", model=StreamingModel(steps))

    assert await order(ready) == [
        *BEGIN["loop-streaming"],
        "provider:request",
        *["provider:stream"] * 3,
        "provider:response",
        *BLOCK,
        "prompt:complete",
        *END["loop-streaming"],
    ]


@pytest.mark.parametrize("loop", LOOPS)
async def test_the_end_of_a_turn_tells_the_answer(loop: str) -> None:
    ready = await stage(says("h" * 300), loop=loop)
    await ready.run()

    told = ready.payload("prompt:complete")
    assert (told["response_preview"], told["length"]) == ("h" * 200, 300)
    assert told["response"] == "h" * 300
    ended = ready.payload("execution:end")
    assert (ended["response"], ended["status"]) == ("h" * 300, "completed")
    complete = ready.payload("orchestrator:complete")
    assert complete["orchestrator"] == loop
    assert (complete["turn_count"], complete["status"]) == (1, "success")
