"""What every provider of a remote API does, against a real socket.

A provider's tests import all of this into a test file and have a fixture `wire` (see
`helpers_wire.Wire`) that says how its API looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from helpers_wire import (
    WAIT,
    Wire,
    WireServer,
    answers,
    asking,
    desk,
    free_url,
    pauses,
    resets_after,
    says_nothing,
    serving,
    stalls_after,
    streams,
)

LONG_WAIT = 60.0


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


def text_of(response: Any) -> str:
    return "".join(each.text for each in response.content if each.type == "text")


# -- answers -----------------------------------------------------------------------------------


async def test_an_answer_is_streamed_and_returned_whole(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hel", "lo")))
    async with desk(wire, server) as at:
        response = await at.ask("Hi")

        assert text_of(response) == "Hello"
        assert response.finish_reason == "stop"
        assert response.usage.input_tokens == 10
        deltas = at.of("llm:stream_block_delta")
        assert [(d["sequence"], d["text"]) for d in deltas] == [(0, "Hel"), (1, "lo")]


async def test_all_events_of_a_call_have_one_request_id(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")), streams(*wire.text("Hi")))
    async with desk(wire, server) as at:
        await at.ask("Hi")
        first = {data["request_id"] for _, data in at.seen}
        at.seen.clear()
        await at.ask("Hi")

        assert len(first) == 1
        assert {data["request_id"] for _, data in at.seen}.isdisjoint(first)


async def test_a_response_event_has_the_normative_keys(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, pricing={wire.model: {"input": 2, "output": 10}}) as at:
        await at.ask("Hi")

        (told,) = at.of("llm:response")
        assert (told["provider"], told["model"], told["status"]) == (
            wire.mount_name,
            wire.model,
            "ok",
        )
        assert told["usage"] == {"input_tokens": 10, "output_tokens": 5, "cost_usd": "0.00007"}
        assert told["duration_ms"] > 0
        assert "raw" not in told


async def test_chunks_carry_the_text_and_the_last_one_the_response(
    wire: Wire, server: WireServer
) -> None:
    server.will(streams(*wire.text("Hel", "lo")))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        *chunks, last = [c async for c in at.provider.stream_complete(asking("Hi"))]

    assert chunks == [{"text": "Hel"}, {"text": "lo"}]
    assert text_of(last["response"]) == "Hello"


async def test_a_request_may_switch_streaming_off(wire: Wire, server: WireServer) -> None:
    server.will(answers(200, wire.whole("Quietly")))
    async with desk(wire, server) as at:
        response = await at.ask("Hi", metadata={"stream": False})

        assert text_of(response) == "Quietly"
        assert not server.body.get("stream")
        assert not at.of("llm:stream_block_start")
        assert at.of("llm:response")[0]["usage"]["input_tokens"] == 10


async def test_config_may_switch_streaming_off(wire: Wire, server: WireServer) -> None:
    server.will(answers(200, wire.whole("Quietly")))
    async with desk(wire, server, use_streaming="false") as at:
        assert text_of(await at.ask("Hi")) == "Quietly"


async def test_a_tool_call_is_parsed_and_its_arguments_are_not_streamed(
    wire: Wire, server: WireServer
) -> None:
    server.will(streams(*wire.call("call_1", "look", '{"path": ', '"a.txt"}')))
    async with desk(wire, server) as at:
        response = await at.ask("Look")

        (call,) = at.provider.parse_tool_calls(response)
        assert (call.id, call.name, call.arguments) == ("call_1", "look", {"path": "a.txt"})
        assert at.of("llm:stream_block_start")[0]["name"] == "look"
        assert len(at.of("llm:stream_block_end")) == 1
        assert not at.of("llm:stream_block_delta")


async def test_a_call_without_arguments_has_an_empty_mapping(
    wire: Wire, server: WireServer
) -> None:
    server.will(streams(*wire.call("call_1", "look")))
    async with desk(wire, server) as at:
        response = await at.ask("Look")

    assert response.tool_calls[0].arguments == {}


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", "not json"])
async def test_arguments_that_are_no_json_object_are_refused(
    wire: Wire, server: WireServer, arguments: str
) -> None:
    server.will(streams(*wire.call("call_1", "look", arguments)))
    async with desk(wire, server) as at:
        with pytest.raises(InvalidToolCallError) as caught:
            await at.ask("Look")

    assert caught.value.tool_name == "look"
    assert caught.value.raw_arguments == arguments


async def test_an_answer_may_be_empty(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.nothing()))
    async with desk(wire, server) as at:
        response = await at.ask("Hi")

    assert response.content == []
    assert response.tool_calls is None


async def test_characters_may_be_split_between_packets(wire: Wire, server: WireServer) -> None:
    data = b"".join(wire.text("Grüße, 🌍", "e\u0301"))
    server.will(streams(*(data[i : i + 1] for i in range(len(data)))))
    async with desk(wire, server) as at:
        assert text_of(await at.ask("Hi")) == "Grüße, 🌍e\u0301"


async def test_ten_megabytes_arrive_whole(wire: Wire, server: WireServer) -> None:
    fragment = "0123456789" * 6_400
    server.will(streams(*wire.text(*[fragment] * 160)))
    patient = {"timeout": LONG_WAIT, "first_byte_timeout": LONG_WAIT, "idle_timeout": LONG_WAIT}
    async with desk(wire, server, **patient) as at, asyncio.timeout(LONG_WAIT):
        response = await at.provider.complete(asking("Hi"))

    assert len(text_of(response)) == 10_240_000


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "messages: field required", InvalidRequestError),
        (400, "prompt is too long: 300000 tokens", ContextLengthError),
        (400, "blocked by our safety system", ContentFilterError),
        (400, "Your credit balance is too low", QuotaExceededError),
        (401, "invalid key", AuthenticationError),
        (403, "not for you", AccessDeniedError),
        (404, "no such model", NotFoundError),
        (413, "too large", ContextLengthError),
        (422, "cannot be processed", InvalidRequestError),
    ],
)
async def test_a_refusal_for_good_is_not_tried_again(
    wire: Wire, server: WireServer, status: int, message: str, kind: type[LLMError]
) -> None:
    server.will(answers(status, wire.refusal(status, message)))
    async with desk(wire, server, max_retries=3) as at:
        with pytest.raises(LLMError) as caught:
            await at.ask("Hi")

        assert type(caught.value) is kind
        assert message in str(caught.value)
        assert caught.value.status_code == status
        assert caught.value.provider == wire.mount_name
        assert len(server.heard) == 1
        (told,) = at.of("llm:response")
        assert told["status"] == "error"
        assert told["error"]["type"] == kind.__name__


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, RateLimitError),
        (500, ProviderUnavailableError),
        (502, ProviderUnavailableError),
        (529, ProviderUnavailableError),
    ],
)
async def test_a_passing_failure_is_tried_again(
    wire: Wire, server: WireServer, status: int, kind: type[LLMError]
) -> None:
    failure = answers(status, wire.refusal(status, "later"))
    server.will(failure, failure, streams(*wire.text("At last")))
    async with desk(wire, server, max_retries=2) as at:
        assert text_of(await at.ask("Hi")) == "At last"

        retries = at.of("provider:retry")
        assert [each["attempt"] for each in retries] == [1, 2]
        assert retries[0]["max_retries"] == 2
        assert retries[0]["error_type"] == kind.__name__
        assert retries[1]["delay"] == pytest.approx(2 * retries[0]["delay"])
        assert [each["status"] for each in at.of("llm:response")] == ["ok"]


async def test_tries_run_out(wire: Wire, server: WireServer) -> None:
    server.will(*[answers(500, wire.refusal(500, "down"))] * 3)
    async with desk(wire, server, max_retries=2) as at:
        with pytest.raises(ProviderUnavailableError, match="down"):
            await at.ask("Hi")

    assert len(server.heard) == 3


@pytest.mark.parametrize("header", [{"retry-after": "0.05"}, {"x-ms-retry-after-ms": "50"}])
async def test_the_wait_that_a_vendor_asks_for_is_kept(
    wire: Wire, server: WireServer, header: dict[str, str]
) -> None:
    server.will(answers(429, wire.refusal(429, "slow"), header), streams(*wire.text("Hi")))
    async with desk(wire, server, max_retries=1, retry_jitter=True) as at:
        await at.ask("Hi")

        (retry,) = at.of("provider:retry")
        assert retry["retry_after"] == pytest.approx(0.05)
        assert retry["delay"] >= 0.05


async def test_a_wait_longer_than_allowed_is_refused(wire: Wire, server: WireServer) -> None:
    server.will(answers(429, wire.refusal(429, "slow"), {"retry-after": "30"}))
    async with desk(wire, server, max_retries=3) as at:
        with pytest.raises(RateLimitError, match="max_retry_delay") as caught:
            await at.ask("Hi")

    assert caught.value.retry_after == 30
    assert not caught.value.retryable


async def test_a_challenge_page_is_a_passing_failure(wire: Wire, server: WireServer) -> None:
    page = answers(
        403, b"<!DOCTYPE html><html>Are you human?</html>", {"content-type": "text/html"}
    )
    server.will(page)
    async with desk(wire, server) as at:
        with pytest.raises(ProviderUnavailableError):
            await at.ask("Hi")


async def test_an_overload_waits_longer(wire: Wire, server: WireServer) -> None:
    server.will(answers(529, wire.refusal(529, "full")), streams(*wire.text("Hi")))
    async with desk(wire, server, max_retries=1, overloaded_delay_multiplier=20) as at:
        await at.ask("Hi")

        assert at.of("provider:retry")[0]["delay"] == pytest.approx(0.02)


# -- the network ------------------------------------------------------------------------------


async def test_a_refused_connection_is_a_network_error(wire: Wire, server: WireServer) -> None:
    async with desk(wire, server, base_url=free_url()) as at:
        with pytest.raises(NetworkError) as caught:
            await at.ask("Hi")

    assert caught.value.retryable


async def test_a_reset_in_mid_stream_is_taken_back_and_tried_again(
    wire: Wire, server: WireServer
) -> None:
    server.may_go_on.clear()
    parts = wire.text("Half", " an answer")
    server.will(resets_after(*parts[:-4]), streams(*wire.text("Whole")))
    async with desk(wire, server, max_retries=1) as at, asyncio.timeout(WAIT):
        chunks = []
        async for chunk in at.provider.stream_complete(asking("Hi")):
            chunks.append(chunk)
            server.may_go_on.set()

        assert chunks[0] == {"text": "Half"}
        assert chunks[1]["aborted"]["type"] == "StreamError"
        assert chunks[2] == {"text": "Whole"}
        assert text_of(chunks[-1]["response"]) == "Whole"
        (aborted,) = at.of("llm:stream_aborted")
        assert aborted["error"]["type"] == "StreamError"
        assert [each["block_index"] for each in at.of("llm:stream_block_start")] == [0, 0]


async def test_nothing_is_taken_back_if_nothing_was_shown(wire: Wire, server: WireServer) -> None:
    server.will(answers(500, wire.refusal(500, "down")))
    async with desk(wire, server) as at:
        with pytest.raises(ProviderUnavailableError):
            await at.ask("Hi")

        assert not at.of("llm:stream_aborted")


async def test_a_stream_that_ends_too_early_is_an_error(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Half", " an answer")[:-3]))
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Hi")


async def test_a_stream_without_any_event_is_an_error(wire: Wire, server: WireServer) -> None:
    server.will(streams())
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Hi")


async def test_a_malformed_event_is_an_error(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")[:3], wire.malformed() + b"\n\n"))
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Hi")


async def test_a_page_in_place_of_an_answer_is_an_error(wire: Wire, server: WireServer) -> None:
    server.will(answers(200, b"<html>Welcome</html>", {"content-type": "text/html"}))
    async with desk(wire, server, use_streaming=False) as at:
        with pytest.raises(LLMError) as caught:
            await at.ask("Hi")

    assert caught.value.retryable


# -- deadlines --------------------------------------------------------------------------------


async def test_a_stream_that_stalls_is_given_up(wire: Wire, server: WireServer) -> None:
    server.will(stalls_after(*wire.text("Half", " an answer")[:-4]))
    async with desk(wire, server, idle_timeout=0.1) as at:
        with pytest.raises(LLMTimeoutError, match="idle_timeout"):
            await at.ask("Hi")
        async with asyncio.timeout(WAIT):
            await server.hung_up.wait()


async def test_a_vendor_that_does_not_begin_is_given_up(wire: Wire, server: WireServer) -> None:
    server.will(says_nothing)
    async with desk(wire, server, first_byte_timeout=0.3) as at:
        with pytest.raises(LLMTimeoutError, match="first_byte_timeout"):
            await at.ask("Hi")
        async with asyncio.timeout(WAIT):
            await server.hung_up.wait()


async def test_an_answer_that_has_begun_may_take_longer_than_its_beginning(
    wire: Wire, server: WireServer
) -> None:
    server.will(pauses(0.4, *wire.text("Slow", "ly")))
    async with desk(wire, server, first_byte_timeout=0.3) as at:
        assert text_of(await at.ask("Hi")) == "Slowly"


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_an_answer_that_takes_too_long_is_given_up(
    wire: Wire, server: WireServer, is_streamed: bool
) -> None:
    server.will(stalls_after(*wire.text("Half", " an answer")[:-4]))
    async with desk(wire, server, timeout=0.3, use_streaming=is_streamed) as at:
        with pytest.raises(LLMTimeoutError):
            await at.ask("Hi")
        async with asyncio.timeout(WAIT):
            await server.hung_up.wait()


async def test_the_timeout_of_a_request_covers_its_retries(wire: Wire, server: WireServer) -> None:
    server.will(*[answers(500, wire.refusal(500, "down"))] * 9)
    async with desk(wire, server, max_retries=8, min_retry_delay=10, max_retry_delay=10) as at:
        with pytest.raises(ProviderUnavailableError, match="down"):
            await at.ask("Hi", timeout=1.0)

    assert len(server.heard) == 1


async def test_cancelling_closes_the_connection(wire: Wire, server: WireServer) -> None:
    server.will(stalls_after(*wire.text("Half", " an answer")[:-4]))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        stream = at.provider.stream_complete(asking("Hi"))
        assert await anext(stream) == {"text": "Half"}
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await server.hung_up.wait()

        assert at.of("llm:response")[0]["error"]["type"] == "AbortError"


async def test_leaving_a_stream_closes_the_connection(wire: Wire, server: WireServer) -> None:
    server.will(stalls_after(*wire.text("Half", " an answer")[:-4]))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        async with aclosing(at.provider.stream_complete(asking("Hi"))) as chunks:
            assert await anext(chunks) == {"text": "Half"}
        await server.hung_up.wait()

        assert len(at.of("llm:stream_aborted")) == 1


# -- many at once -----------------------------------------------------------------------------


async def test_so_many_requests_are_under_way_at_once(wire: Wire, server: WireServer) -> None:
    server.will(*[streams(*wire.text("Hi"))] * 6)
    async with desk(wire, server, max_concurrent_requests=2) as at:
        await asyncio.gather(*(at.ask("Hi") for _ in range(6)))

        assert server.busiest <= 2
        told = at.of("provider:concurrency")
        assert max(each["waiting_requests"] for each in told) > 0
        assert {each["max_concurrent"] for each in told} == {2}


async def test_a_call_that_waits_to_retry_lets_others_in(wire: Wire, server: WireServer) -> None:
    slow = answers(429, wire.refusal(429, "slow"), {"retry-after": "0.3"})
    server.will(slow, streams(*wire.text("Second")), streams(*wire.text("First")))
    async with desk(wire, server, max_retries=1, max_concurrent_requests=1) as at:
        first = asyncio.ensure_future(at.ask("Hi"))
        async with asyncio.timeout(WAIT):
            await server.spoken_to.wait()
        second = asyncio.ensure_future(at.ask("Hi"))

        assert text_of(await second) == "Second"
        assert text_of(await first) == "First"


async def test_two_instances_talk_to_two_addresses(wire: Wire, server: WireServer) -> None:
    async with serving() as other, desk(wire, server) as at, desk(wire, other) as there:
        server.will(streams(*wire.text("Here")))
        other.will(streams(*wire.text("There")))

        assert text_of(await at.ask("Where?")) == "Here"
        assert text_of(await there.ask("Where?")) == "There"
