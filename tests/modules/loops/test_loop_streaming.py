"""loop-streaming: what is shown while the model works, steering and pacing."""

import asyncio
import time
from typing import Any

import pytest
from amplifier_core.llm_errors import LLMTimeoutError, StreamError
from helpers_loops import (
    Model,
    Stage,
    StreamingModel,
    Tool,
    calls,
    check_history,
    deny,
    hangs,
    model_of,
    says,
    stage,
)

LOOP = "loop-streaming"


async def streaming(*steps: list[Any], config: Any = None, **tools: Any) -> Stage:
    return await stage(loop=LOOP, config=config, model=StreamingModel(*steps), **tools)


def chunks(ready: Stage) -> list[Any]:
    return [data["chunk"] for data in ready.payloads("provider:stream")]


# -- streams ----------------------------------------------------------------------------


async def test_every_chunk_is_passed_on_as_it_arrives() -> None:
    steps = [{"text": "hel"}, {"text": "lo"}, {"response": says("hello")}]
    ready = await streaming(steps)

    assert await ready.run() == "hello"
    assert chunks(ready) == steps


async def test_tool_calls_work_on_the_streaming_path() -> None:
    tool = Tool("4")
    ready = await streaming(
        [{"text": "let me see"}, {"response": calls(("t", {"a": 1}))}],
        [{"response": says("four")}],
        t=tool,
    )

    assert await ready.run() == "four"
    assert tool.inputs == [{"a": 1}]
    check_history(ready.context.messages)


async def test_a_stream_without_a_response_is_an_error() -> None:
    ready = await streaming([{"text": "hel"}])

    with pytest.raises(StreamError, match="'model' ended without a response"):
        await ready.run()
    check_history(ready.context.messages)
    assert ready.payload("provider:error")["retryable"] is True


async def test_a_stream_that_breaks_off_is_an_error_and_is_closed() -> None:
    ready = await streaming([{"text": "hel"}, StreamError("connection lost")])

    with pytest.raises(StreamError, match="connection lost"):
        await ready.run()
    assert model_of(ready).closed == 1  # type: ignore[attr-defined]


async def test_a_chunk_that_is_no_mapping_is_an_error() -> None:
    ready = await streaming([None])

    with pytest.raises(TypeError):
        await ready.run()
    assert len(ready.payloads("provider:error")) == 1


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    ready = await streaming([{"text": "hel"}, hangs], config={"stream_idle_timeout": 0.02})

    with pytest.raises(LLMTimeoutError, match=r"silent for 0\.02 s"):
        await ready.run()
    check_history(ready.context.messages)
    assert model_of(ready).closed == 1  # type: ignore[attr-defined]
    assert ready.payload("provider:error")["retryable"] is True


async def test_a_stream_may_be_silent_for_ever_if_there_is_no_limit() -> None:
    ready = await streaming([{"response": says("done")}], config={"stream_idle_timeout": 0})

    assert await ready.run() == "done"


async def test_a_slow_listener_is_not_the_streams_silence() -> None:
    ready = await streaming(
        [{"text": "hel"}, {"response": says("done")}], config={"stream_idle_timeout": 0.02}
    )

    async def listener(event: str, data: dict[str, Any]) -> None:
        await asyncio.sleep(0.06)

    ready.hooks.register("provider:stream", listener)

    assert await ready.run() == "done"


async def test_a_stream_that_keeps_talking_may_last_longer_than_the_limit() -> None:
    async def pause() -> dict[str, Any]:
        await asyncio.sleep(0.03)
        return {"text": "."}

    ready = await streaming(
        [*[pause] * 4, {"response": says("done")}], config={"stream_idle_timeout": 0.1}
    )

    assert await ready.run() == "done"


async def test_a_stream_is_left_and_closed_when_the_turn_must_stop() -> None:
    ready = await streaming([{"text": "a"}, {"text": "b"}, {"response": says("ab")}])

    def stop(event: str, data: dict[str, Any]) -> None:
        ready.token.request_immediate()

    ready.hooks.register("provider:stream", stop)

    assert await ready.run() == ""
    assert chunks(ready) == [{"text": "a"}]
    assert model_of(ready).closed == 1  # type: ignore[attr-defined]
    check_history(ready.context.messages)


async def test_iterators_without_aclose_are_streamed_from_too() -> None:
    class Once:
        def __init__(self) -> None:
            self.left = [{"response": says("done")}]

        def __aiter__(self) -> "Once":
            return self

        async def __anext__(self) -> dict[str, Any]:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    ready = await streaming()
    model_of(ready).stream_complete = lambda request: Once()  # type: ignore[attr-defined]

    assert await ready.run() == "done"


async def test_extended_thinking_is_asked_for_on_both_paths() -> None:
    config = {"extended_thinking": True}
    whole = await stage(says("done"), loop=LOOP, config=config)
    streamed = await streaming([{"response": says("done")}], config=config)

    for ready in (whole, streamed):
        await ready.run()
        assert model_of(ready).options == [{"extended_thinking": True}]


# -- answers in one piece ---------------------------------------------------------------


async def test_an_answer_in_one_piece_is_one_chunk() -> None:
    ready = await stage(calls("t"), says("all at once"), loop=LOOP, t=Tool())
    await ready.run()

    assert chunks(ready) == [{"text": "all at once"}]


async def test_with_a_delay_it_is_shown_word_by_word() -> None:
    ready = await stage(says("one  two\nthree"), loop=LOOP, config={"stream_delay": 0.0001})

    assert await ready.run() == "one  two\nthree"
    assert chunks(ready) == [{"text": "one  "}, {"text": "two\n"}, {"text": "three"}]


async def test_words_are_no_longer_shown_when_the_turn_must_stop() -> None:
    ready = await stage(says("one two"), loop=LOOP, config={"stream_delay": 0.0001})

    def stop(event: str, data: dict[str, Any]) -> None:
        ready.token.request_immediate()

    ready.hooks.register("provider:stream", stop)
    await ready.run()

    assert chunks(ready) == [{"text": "one "}]


# -- steering ---------------------------------------------------------------------------


def steer(ready: Stage, text: str) -> None:
    ready.coordinator.get_capability("session.steer")(text)


async def test_what_the_user_says_in_mid_turn_is_read_at_the_next_step() -> None:
    async def interject(_: Any) -> str:
        steer(ready, "the other one")
        steer(ready, "please")
        return "ok"

    ready = await stage(calls("t"), says("right"), loop=LOOP, t=Tool(interject))
    await ready.run("do it")

    read = [message.content for message in model_of(ready).last_messages]
    assert read == ["do it", "", "ok", "the other one", "please"]
    assert ready.payloads("orchestrator:steering_injected")[0].items() >= {
        ("orchestrator", LOOP),
        ("content", "the other one"),
        ("iteration", 2),
        ("queued_remaining", 1),
    }
    check_history(ready.context.messages)


async def test_the_turn_goes_on_if_the_user_spoke_while_the_model_answered() -> None:
    async def answer(_: Any) -> Any:
        steer(ready, "wait")
        return says("done")

    ready = await stage(answer, says("waiting"), loop=LOOP)

    assert await ready.run() == "waiting"
    assert ready.context.roles == ["user", "assistant", "user", "assistant"]


async def test_an_answer_before_the_user_spoke_starts_the_count_of_silence_anew() -> None:
    async def answer(_: Any) -> Any:
        steer(ready, "and?")
        return says("done")

    silence = [says(""), says("")]
    ready = await stage(*silence, answer, *silence, says("more"), loop=LOOP)

    assert await ready.run() == "more"


async def test_what_was_said_before_the_wrap_up_is_read_in_it() -> None:
    async def interject(_: Any) -> str:
        steer(ready, "hurry")
        return "ok"

    config = {"max_iterations": 1}
    ready = await stage(calls("t"), says("done"), loop=LOOP, config=config, t=Tool(interject))
    await ready.run()

    assert "hurry" in [message.content for message in model_of(ready).last_messages]


async def test_a_turn_stopped_after_the_user_spoke_ends_with_a_closing_word() -> None:
    async def answer(_: Any) -> Any:
        steer(ready, "wait")
        return says("done")

    async def stop(_: Any) -> Any:
        ready.token.request_immediate()
        return says("too late")

    ready = await stage(answer, stop, loop=LOOP)

    assert await ready.run() == "done"
    check_history(ready.context.messages)
    assert ready.context.roles == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("blank", ["", "  \n", None])
async def test_a_blank_text_cannot_steer(blank: Any) -> None:
    ready = await stage(loop=LOOP)

    with pytest.raises(ValueError, match="blank"):
        steer(ready, blank)


async def test_too_many_texts_are_refused() -> None:
    ready = await stage(loop=LOOP)
    for number in range(100):
        steer(ready, str(number))

    with pytest.raises(RuntimeError, match="100 messages are waiting"):
        steer(ready, "one more")


async def test_what_was_said_between_turns_is_dropped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ready = await stage(says("hello"), loop=LOOP)
    steer(ready, "too early")
    await ready.run()

    assert ready.context.roles == ["user", "assistant"]
    assert "1 messages to steer by" in caplog.text


# -- pacing -----------------------------------------------------------------------------


async def test_a_pause_is_kept_between_model_calls_also_across_turns() -> None:
    config = {"min_delay_between_calls_ms": 20}
    ready = await stage(calls("t"), says("done"), says("again"), loop=LOOP, config=config, t=Tool())
    started = time.monotonic()
    await ready.run()
    await ready.run()

    assert time.monotonic() - started >= 0.04
    first, second = ready.payloads("orchestrator:rate_limit_delay")
    assert (first["iteration"], second["iteration"]) == (2, 1)
    assert first["configured_ms"] == 20
    assert first["delay_ms"] + first["elapsed_ms"] == pytest.approx(20)


async def test_there_is_no_pause_when_enough_time_has_passed() -> None:
    async def work(_: Any) -> str:
        await asyncio.sleep(0.02)
        return "ok"

    config = {"min_delay_between_calls_ms": 5}
    ready = await stage(calls("t"), says("done"), loop=LOOP, config=config, t=Tool(work))
    await ready.run()

    assert ready.payloads("orchestrator:rate_limit_delay") == []


# -- what it tells ----------------------------------------------------------------------


async def test_iterations_are_counted_from_one() -> None:
    ready = await stage(calls("t"), says("done"), loop=LOOP, t=Tool())
    await ready.run()

    assert [data["iteration"] for data in ready.payloads("provider:request")] == [1, 2]
    assert [data["iteration"] for data in ready.payloads("provider:response")] == [1, 2]


async def test_its_own_events_are_declared() -> None:
    ready = await stage(loop=LOOP)

    assert set(ready.coordinator.get_capability("observability.events")) == {
        "provider:stream",
        "orchestrator:steering_injected",
        "orchestrator:rate_limit_delay",
        "orchestrator:goal_progress",
    }


@pytest.mark.parametrize("end", ["answer", "denial", "stop"])
async def test_completion_tells_of_goals_on_every_path(end: str) -> None:
    ready = await stage(says("done"), loop=LOOP)
    if end == "denial":
        ready.on("provider:request", deny("no"))
    elif end == "stop":
        ready.token.request_graceful()
    await ready.run()

    complete = ready.payload("orchestrator:complete")
    assert (complete["goal_turn"], complete["goal_final"], complete["continuations"]) == (
        False,
        True,
        0,
    )


async def test_a_provider_that_cannot_stream_is_asked_as_usual() -> None:
    model = Model(says("done"))
    ready = await stage(loop=LOOP, model=model)

    assert await ready.run() == "done"
    assert len(model.requests) == 1
