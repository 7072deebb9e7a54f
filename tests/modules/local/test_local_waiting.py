"""provider-local while the model is at work: waiting, giving up, cancelling, sharing."""

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest
from amplifier_core.llm_errors import AbortError, LLMTimeoutError
from helpers_local import WAIT, Endless, FakeEngine, asking, desk, says

from amplifier_modules.local.provider import mount


async def happens(event: threading.Event) -> bool:
    return await asyncio.to_thread(event.wait, WAIT)


async def test_cancelling_the_task_stops_the_model_and_the_next_request_works(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    story = Endless()
    engine.will(story, says("Fine."))
    task = asyncio.create_task(at.provider.complete(asking()))
    assert await happens(story.started)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await happens(story.ended)
    assert (await at.provider.complete(asking())).content[0].text == "Fine."


async def test_leaving_the_stream_early_stops_the_model(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    story = Endless()
    engine.will(story)

    async with aclosing(at.provider.stream_complete(asking())) as chunks:
        assert await anext(chunks) == {"text": "word "}

    assert await happens(story.ended)


async def test_a_session_that_is_to_stop_at_once_stops_the_model(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    story = Endless()
    engine.will(story)
    chunks = at.provider.stream_complete(asking())
    await anext(chunks)

    at.coordinator.cancellation.request_graceful()
    assert await anext(chunks) == {"text": "word "}

    at.coordinator.cancellation.request_immediate()
    with pytest.raises(AbortError):
        _ = [chunk async for chunk in chunks]
    assert await happens(story.ended)
    assert at.of("llm:stream_aborted")[0]["error"]["type"] == "AbortError"


@pytest.mark.parametrize("text", [None, "word "])
async def test_an_answer_that_takes_too_long_is_given_up(
    engine: FakeEngine, model: str, text: str | None
) -> None:
    at = await desk(engine, model_path=model, timeout=0.1)
    story = Endless(text)
    engine.will(story)

    with pytest.raises(LLMTimeoutError, match=r"within 0\.1 seconds.*`timeout`") as caught:
        await at.provider.complete(asking())

    assert caught.value.retryable
    assert not story.started.is_set() or await happens(story.ended)


async def test_the_request_says_how_long_it_will_wait(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(Endless())

    with pytest.raises(LLMTimeoutError, match=r"within 0\.1 seconds"):
        await at.provider.complete(asking(timeout=0.1))


async def test_a_first_token_that_does_not_come_is_given_up(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model, first_token_timeout=0.1)
    engine.will(Endless(None))

    with pytest.raises(LLMTimeoutError, match="`first_token_timeout`"):
        await at.provider.complete(asking())


async def test_after_the_first_token_its_limit_no_longer_counts(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model, first_token_timeout=0.5, timeout=0.7)
    engine.will(says("Loaded."), Endless())
    await at.provider.complete(asking(timeout=WAIT))

    with pytest.raises(LLMTimeoutError, match="`timeout`"):
        await at.provider.complete(asking())


async def test_requests_of_all_sessions_take_turns_on_one_thread(
    engine: FakeEngine, model: str
) -> None:
    desks = [await desk(engine, model_path=model) for _ in range(4)]
    engine.will(*[says(str(number)) for number in range(4)])

    async with asyncio.timeout(WAIT):
        responses = await asyncio.gather(*(each.provider.complete(asking()) for each in desks))

    assert [each.content[0].text for each in responses] == ["0", "1", "2", "3"]
    assert engine.threads == {"model tiny"}


async def test_a_request_cancelled_in_the_queue_never_reaches_the_model(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    story = Endless()
    engine.will(story, says("Third."))
    first = asyncio.create_task(at.provider.complete(asking("one")))
    assert await happens(story.started)
    second = asyncio.create_task(at.provider.complete(asking("two")))
    third = asyncio.create_task(at.provider.complete(asking("three")))
    await asyncio.sleep(0)

    second.cancel()
    first.cancel()

    async with asyncio.timeout(WAIT):
        assert (await third).content[0].text == "Third."
    assert [body["messages"][-1]["content"] for body in engine.bodies] == ["one", "three"]


async def test_closing_the_session_ends_its_requests_and_leaves_others_alone(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    story = Endless()
    engine.will(story, says("Fine."))
    running = asyncio.create_task(at.provider.complete(asking()))
    assert await happens(story.started)

    at.provider.close()

    async with asyncio.timeout(WAIT):
        with pytest.raises(AbortError):
            await running
        other = await desk(engine, model_path=model)
        assert (await other.provider.complete(asking())).content[0].text == "Fine."


async def test_mount_returns_what_closes_the_session(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)

    cleanup: Any = await mount(at.coordinator, {"model_path": model})

    assert cleanup() is None


def test_a_loop_that_is_gone_does_not_disturb_the_next_one(engine: FakeEngine, model: str) -> None:
    story = Endless()
    engine.will(story, says("Fine."))

    async def leaves() -> None:
        at = await desk(engine, model_path=model)
        await anext(at.provider.stream_complete(asking()))

    async def comes() -> str:
        at = await desk(engine, model_path=model)
        async with asyncio.timeout(WAIT):
            return (await at.provider.complete(asking())).content[0].text

    asyncio.run(leaves())

    assert asyncio.run(comes()) == "Fine."
    assert story.ended.is_set()
