"""What provider-gemini makes of answers of the GenAI API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.llm_errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from helpers_gemini import USAGE, GeminiWire, body, call, chunk, end
from helpers_wire import WireServer, answers, desk, serving, sse, streams

from amplifier_modules.provider_gemini.models import prices_on


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


def as_message(response: Any) -> dict[str, Any]:
    """The response as a context keeps it and gives it back."""
    content = [each.model_dump(exclude_none=True) for each in response.content]
    calls = [
        {"id": c.id, "tool": c.name, "arguments": c.arguments} for c in response.tool_calls or ()
    ]
    metadata = response.metadata
    return {"role": "assistant", "content": content, "tool_calls": calls, "metadata": metadata}


async def test_thoughts_text_and_calls_survive_the_way_there_and_back(
    wire: GeminiWire, server: WireServer
) -> None:
    parts = [
        chunk({"text": "H", "thought": True}),
        chunk({"text": "m.", "thought": True}),
        chunk({"text": "I "}),
        chunk({"text": "look."}),
        chunk(call("look", {"a": [1, {"b": None}]}, "c1", thoughtSignature="sig==")),
        chunk(call("look", {}, "c2")),
        *end(),
    ]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server) as at:
        response = await at.ask("Q")
        results = [{"role": "tool", "content": "ok", "tool_call_id": c} for c in ("c1", "c2")]
        await at.ask("Q", as_message(response), *results)

        assert server.body["contents"][1]["parts"] == [
            {"text": "Hm.", "thought": True},
            {"text": "I look."},
            call("look", {"a": [1, {"b": None}]}, "c1", thoughtSignature="sig=="),
            call("look", {}, "c2"),
        ]
        kinds = [each["block_type"] for each in at.of("llm:stream_block_start")[:4]]
        assert kinds == ["thinking", "text", "tool_use", "tool_use"]
        assert response.finish_reason == "tool_calls"


async def test_a_signature_on_text_goes_back_with_that_text(
    wire: GeminiWire, server: WireServer
) -> None:
    fragments = [{"text": "On"}, {"text": "e"}, {"text": "", "thoughtSignature": "s"}]
    parts = [*(chunk(each) for each in fragments), chunk({"text": "Two"}), *end()]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server) as at:
        response = await at.ask("Q")
        await at.ask("Q", as_message(response), "And?")

    expected = [{"text": "One", "thoughtSignature": "s"}, {"text": "Two"}]
    assert server.body["contents"][1]["parts"] == expected


async def test_calls_without_an_id_get_one_that_results_find(
    wire: GeminiWire, server: WireServer
) -> None:
    server.will(streams(chunk(call("look", {}), call("look", {})), *end()))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    ids = [each.id for each in response.tool_calls]
    assert len(set(ids)) == 2
    assert all(each.replace("_", "").isalnum() and len(each) <= 64 for each in ids)


async def test_what_the_vendors_own_tools_bring_survives_too(
    wire: GeminiWire, server: WireServer
) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    outcome = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    unheard = {"brandNew": {"x": 1}}
    parts = [chunk(code), chunk(outcome), chunk(unheard), chunk({"text": "One."}), *end()]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server) as at:
        response = await at.ask("Q")
        await at.ask("Q", as_message(response), "And?")

    sent = server.body["contents"][1]["parts"]
    assert sent == [code, outcome, unheard, {"text": "One."}]
    assert [each.type for each in response.content] == ["text"]


async def test_pictures_in_an_answer_are_blocks(wire: GeminiWire, server: WireServer) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}
    server.will(streams(chunk(picture), *end()), streams(*wire.text("Done")))
    async with desk(wire, server) as at:
        response = await at.ask("Q")
        await at.ask("Q", as_message(response), "And?")

    assert response.content[0].source["data"] == "QQ=="
    assert server.body["contents"][1]["parts"] == [picture]


async def test_an_answer_that_is_cut_goes_on_by_itself(
    wire: GeminiWire, server: WireServer
) -> None:
    first = [chunk({"text": "One, "}), *end("CONTINUATION", continuationToken="dG9r")]
    server.will(streams(*first), streams(*wire.text("two.")))
    async with desk(wire, server) as at:
        response = await at.ask("Count")

    assert "".join(each.text for each in response.content) == "One, two."
    assert response.usage.output_tokens == 10
    assert server.body["generationConfig"]["continuationToken"] == "dG9r"


async def test_usage_is_gross_of_reads_and_thinking_is_output(
    wire: GeminiWire, server: WireServer
) -> None:
    usage = {
        "promptTokenCount": 1100,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 40,
        "thoughtsTokenCount": 10,
    }
    server.will(answers(200, body({"text": "Hi"}, finishReason="STOP", usage=usage)))
    async with desk(wire, server, use_streaming=False, default_model="gemini-2.5-flash") as at:
        used = (await at.ask("Q")).usage

    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (1100, 50, 1150)
    assert (used.cache_read_tokens, used.reasoning_tokens) == (1000, 10)
    dollars = 100 * Decimal("0.3") + 50 * Decimal("2.5") + 1000 * Decimal("0.03")
    assert used.cost_usd == dollars / 1_000_000


def test_introductory_prices_end_when_they_are_said_to() -> None:
    def of(year: int, month: int, model: str = "gemini-3.7-flash") -> Decimal:
        return prices_on(date(year, month, 1)).prices[model].input

    assert (of(2026, 12), of(2027, 1)) == (Decimal("0.75"), Decimal("1.5"))
    assert (of(2026, 11, "gemini-4-argon"), of(2026, 12, "gemini-4-argon")) == (2, 4)


@pytest.mark.parametrize(
    ("reason", "finish"), [("STOP", "stop"), ("MAX_TOKENS", "length"), ("OTHER", "other")]
)
async def test_finish_reasons_are_those_of_the_contract(
    wire: GeminiWire, server: WireServer, reason: str, finish: str
) -> None:
    server.will(streams(chunk({"text": "Hi"}), *end(reason)))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    assert response.finish_reason == finish
    assert response.metadata["gemini:finishReason"] == reason


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("SAFETY", ContentFilterError),
        ("PROHIBITED_CONTENT", ContentFilterError),
        ("MALFORMED_FUNCTION_CALL", InvalidToolCallError),
        ("MISSING_THOUGHT_SIGNATURE", InvalidRequestError),
        ("MALFORMED_RESPONSE", StreamError),
    ],
)
async def test_an_answer_that_the_vendor_takes_back_is_an_error(
    wire: GeminiWire, server: WireServer, reason: str, kind: type[LLMError]
) -> None:
    server.will(streams(chunk({"text": "Half"}), *end(reason, finishMessage="So it is.")))
    async with desk(wire, server) as at:
        with pytest.raises(LLMError) as caught:
            await at.ask("Q")

    assert type(caught.value) is kind
    assert caught.value.provider == "gemini"


async def test_a_call_that_cannot_be_read_is_asked_for_again(
    wire: GeminiWire, server: WireServer
) -> None:
    server.will(streams(*end("MALFORMED_FUNCTION_CALL")), streams(*wire.text("Done")))
    async with desk(wire, server, max_retries=1) as at:
        assert (await at.ask("Q")).content[0].text == "Done"


async def test_a_blocked_prompt_is_an_error(wire: GeminiWire, server: WireServer) -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": USAGE}
    server.will(streams(sse(None, blocked)))
    async with desk(wire, server) as at:
        with pytest.raises(ContentFilterError, match="PROHIBITED_CONTENT"):
            await at.ask("Q")


async def test_a_call_cut_by_the_token_limit_says_what_to_raise(
    wire: GeminiWire, server: WireServer
) -> None:
    server.will(streams(chunk(call("look", '{"pa')), *end("MAX_TOKENS")))
    async with desk(wire, server) as at:
        with pytest.raises(InvalidToolCallError, match="Raise `max_tokens`"):
            await at.ask("Q")


# -- refusals -----------------------------------------------------------------------------------

QUOTA = "You exceeded your current quota, please check your plan and billing details."


def detailed(wire: GeminiWire, status: int, message: str, **detail: Any) -> Any:
    refusal = wire.refusal(status, message)
    refusal["error"]["details"] = [detail]
    return answers(status, refusal)


async def test_a_limit_of_the_minute_is_waited_for_as_long_as_the_vendor_says(
    wire: GeminiWire, server: WireServer
) -> None:
    server.will(detailed(wire, 429, QUOTA, retryDelay="0.05s"), streams(*wire.text("Hi")))
    async with desk(wire, server, max_retries=1) as at:
        await at.ask("Q")

        (retry,) = at.of("provider:retry")
        assert retry["error_type"] == RateLimitError.__name__
        assert retry["retry_after"] == pytest.approx(0.05)


async def test_a_limit_of_the_day_is_final(wire: GeminiWire, server: WireServer) -> None:
    day = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
    server.will(detailed(wire, 429, QUOTA, **day))
    async with desk(wire, server, max_retries=1) as at:
        with pytest.raises(QuotaExceededError):
            await at.ask("Q")


async def test_a_wrong_key_and_a_long_prompt_are_told_apart_from_other_bad_requests(
    wire: GeminiWire, server: WireServer
) -> None:
    long = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
    server.will(
        detailed(wire, 400, "API key not valid.", reason="API_KEY_INVALID"),
        answers(400, wire.refusal(400, long)),
    )
    async with desk(wire, server, max_retries=3) as at:
        with pytest.raises(AuthenticationError):
            await at.ask("Q")
        with pytest.raises(ContextLengthError):
            await at.ask("Q")


async def test_an_error_in_mid_stream_is_what_it_says(wire: GeminiWire, server: WireServer) -> None:
    broken = sse(None, wire.refusal(429, "Slow down"))
    server.will(streams(chunk({"text": "Half"}), broken), streams(*wire.text("Whole")))
    async with desk(wire, server, max_retries=1) as at:
        assert (await at.ask("Q")).content[0].text == "Whole"

        (retry,) = at.of("provider:retry")
        assert (retry["error_type"], retry["error_message"]) == ("RateLimitError", "Slow down")


@pytest.mark.parametrize(
    "event",
    [
        [], "text", {"error": {}}, {"error": "text"}, {"candidates": "text"}, {"candidates": [1]},
        {"candidates": [{"content": "text"}]}, {"candidates": [{"content": {"parts": [1]}}]},
        {"usageMetadata": [1]}, {"promptFeedback": 1},
        {"candidates": [{"content": {"parts": [{"functionCall": 1}]}}]},
    ],
)  # fmt: skip
async def test_nonsense_is_one_clear_error(
    wire: GeminiWire, server: WireServer, event: Any
) -> None:
    server.will(streams(sse(None, event), *end()))
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Q")


# -- models -------------------------------------------------------------------------------------


async def test_models_that_write_no_text_are_listed_only_if_asked_for(
    wire: GeminiWire, server: WireServer
) -> None:
    listed = wire.models("gemini-new", "embedding-1")
    listed["models"][1]["supportedGenerationMethods"] = ["embedContent"]
    listed["models"][0] |= {"inputTokenLimit": 150_000, "outputTokenLimit": 9_000}
    server.will(answers(200, listed), answers(200, listed))
    async with desk(wire, server) as at, desk(wire, server, filtered=False) as everything:
        (model,) = await at.provider.list_models()

        assert (model.id, model.context_window, model.max_output_tokens) == (
            "gemini-new",
            150_000,
            9_000,
        )
        assert len(await everything.provider.list_models()) == 2


async def test_the_model_in_use_is_described(wire: GeminiWire, server: WireServer) -> None:
    async with desk(wire, server) as at:
        info = at.provider.get_model_info()

        assert (info.context_window, info.max_output_tokens) == (1_048_576, 8192)
        assert info.pricing is not None


async def test_what_is_not_counted_has_no_known_cost(wire: GeminiWire, server: WireServer) -> None:
    answer = wire.whole("Hi")
    del answer["usageMetadata"]
    server.will(answers(200, answer))
    async with desk(wire, server, use_streaming=False) as at:
        assert (await at.ask("Q")).usage.cost_usd is None
