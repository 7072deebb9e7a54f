"""What provider-anthropic makes of answers of the Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.llm_errors import (
    ContentFilterError,
    InvalidToolCallError,
    ProviderUnavailableError,
    RateLimitError,
    StreamError,
)
from helpers_anthropic import (
    AnthropicWire,
    block,
    call_block,
    end,
    event,
    start,
    text_block,
    thinking_block,
)
from helpers_wire import WireServer, answers, desk, serving, sse, streams


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
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": calls,
        "metadata": response.metadata,
    }  # fmt: skip


async def test_thoughts_text_and_calls_survive_the_way_there_and_back(
    wire: AnthropicWire, server: WireServer
) -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    parts = [
        start(),
        *thinking_block(0, "Hm.", "sig=="),
        *block(1, redacted),
        *text_block(2, "I look."),
        *call_block(3, "toolu_1", "look", '{"a": [1, {"b": null}]}'),
        *end("tool_use"),
    ]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server, enable_prompt_caching=False) as at:
        response = await at.ask("Q")
        answer = {"role": "tool", "content": "ok", "tool_call_id": "toolu_1"}
        await at.ask("Q", as_message(response), answer)

        assert server.body["messages"][1]["content"] == [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig=="},
            redacted,
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": [1, {"b": None}]}},
        ]
        kinds = [each["block_type"] for each in at.of("llm:stream_block_start")[:3]]
        assert kinds == ["thinking", "text", "tool_use"]


async def test_blocks_of_the_vendors_own_tools_survive_too(
    wire: AnthropicWire, server: WireServer
) -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    query = {"type": "input_json_delta", "partial_json": '{"query": "rain"}'}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    parts = [
        start(server_tool_use={"web_search_requests": 2, "web_fetch_requests": 0}),
        *block(0, use, query),
        *block(1, found),
        *text_block(2, "It rains."),
        *end(),
    ]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server, enable_prompt_caching=False) as at:
        response = await at.ask("Q")
        await at.ask("Q", as_message(response), "And?")

    sent = server.body["messages"][1]["content"]
    assert sent[0] == use | {"input": {"query": "rain"}}
    assert sent[1]["tool_use_id"] == "srvtoolu_1"
    assert sent[2] == {"type": "text", "text": "It rains."}
    assert response.usage.cost_usd == Decimal("0.02007")


async def test_a_paused_turn_goes_on_by_itself(wire: AnthropicWire, server: WireServer) -> None:
    first = [start(), *text_block(0, "One, "), *end("pause_turn")]
    server.will(streams(*first), streams(*wire.text("two.")))
    async with desk(wire, server, enable_prompt_caching=False) as at:
        response = await at.ask("Count")

    assert [each.text for each in response.content] == ["One, ", "two."]
    assert response.usage.output_tokens == 10
    assert server.body["messages"][-1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "One, "}],
    }


async def test_citations_are_kept(wire: AnthropicWire, server: WireServer) -> None:
    cited = {"type": "char_location", "cited_text": "rain", "document_index": 0,
             "document_title": None, "start_char_index": 0, "end_char_index": 4}  # fmt: skip
    text = block(
        0,
        {"type": "text", "text": "", "citations": []},
        {"type": "text_delta", "text": "It rains."},
        {"type": "citations_delta", "citation": cited},
    )
    server.will(streams(start(), *text, *end()))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    assert response.content[0].model_extra["citations"][0]["cited_text"] == "rain"


async def test_usage_is_gross_of_reads_and_writes_come_on_top(
    wire: AnthropicWire, server: WireServer
) -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
    }
    server.will(streams(start(**usage), *text_block(0, "Hi"), *end(output=50)))
    async with desk(wire, server) as at:
        used = (await at.ask("Q")).usage

    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (1100, 50, 1450)
    assert (used.cache_read_tokens, used.cache_write_tokens) == (1000, 300)
    dollars = 100 * 2 + 50 * 10 + 1000 * Decimal("0.1") + 100 * Decimal("2.5") + 200 * 4
    assert used.cost_usd == dollars / 1_000_000


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length")],
)
async def test_finish_reasons_are_those_of_the_contract(
    wire: AnthropicWire, server: WireServer, reason: str, finish: str
) -> None:
    server.will(streams(start(), *text_block(0, "Hi"), *end(reason)))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    assert response.finish_reason == finish
    assert response.metadata["anthropic:stop_reason"] == reason


async def test_a_call_cut_by_the_token_limit_says_what_to_raise(
    wire: AnthropicWire, server: WireServer
) -> None:
    server.will(streams(start(), *call_block(0, "c", "look", '{"pa'), *end("max_tokens")))
    async with desk(wire, server) as at:
        with pytest.raises(InvalidToolCallError, match="Raise `max_tokens`"):
            await at.ask("Q")


@pytest.mark.parametrize(
    ("kind", "error"),
    [("overloaded_error", ProviderUnavailableError), ("rate_limit_error", RateLimitError)],
)
async def test_an_error_in_mid_stream_is_what_it_says(
    wire: AnthropicWire, server: WireServer, kind: str, error: type[Exception]
) -> None:
    broken = event("error", error={"type": kind, "message": "No room"})
    server.will(streams(start(), *text_block(0, "Half"), broken), streams(*wire.text("Whole")))
    async with desk(wire, server, max_retries=1) as at:
        response = await at.ask("Q")

        assert response.content[0].text == "Whole"
        assert at.of("provider:retry")[0]["error_type"] == error.__name__
        assert at.of("provider:retry")[0]["error_message"] == "No room"


async def test_rate_limits_are_told(wire: AnthropicWire, server: WireServer) -> None:
    limits = {"anthropic-ratelimit-requests-remaining": "49"}
    server.will(streams(*wire.text("Hi"), headers=limits))
    async with desk(wire, server) as at:
        await at.ask("Q")

        assert at.of("llm:response")[0]["rate_limits"] == {"requests-remaining": "49"}


REFUSAL = [
    start(),
    *end("refusal", stop_details={"type": "refusal", "explanation": "Not that.", "category": None}),
]


async def test_a_refusal_is_asked_about_once_more(wire: AnthropicWire, server: WireServer) -> None:
    server.will(streams(*REFUSAL), streams(*wire.text("Well, then")))
    async with desk(wire, server, max_retries=5) as at:
        assert (await at.ask("Q")).content[0].text == "Well, then"


async def test_a_second_refusal_is_final(wire: AnthropicWire, server: WireServer) -> None:
    server.will(streams(*REFUSAL), streams(*REFUSAL))
    async with desk(wire, server, max_retries=5) as at:
        with pytest.raises(ContentFilterError, match=r"Not that\."):
            await at.ask("Q")

    assert len(server.heard) == 2


async def test_refusals_may_be_final_at_once(wire: AnthropicWire, server: WireServer) -> None:
    server.will(streams(*REFUSAL))
    async with desk(wire, server, max_retries=5, refusal_fallback_enabled=False) as at:
        with pytest.raises(ContentFilterError):
            await at.ask("Q")


# -- overload -----------------------------------------------------------------------------------


def overload(wire: AnthropicWire) -> Any:
    return answers(529, wire.refusal(529, "Overloaded"))


async def test_an_overloaded_model_is_stood_in_for_during_its_rest(
    wire: AnthropicWire, server: WireServer
) -> None:
    server.will(*[overload(wire)] * 2, *[streams(*wire.text("Hi"))] * 2)
    async with desk(
        wire, server, max_retries=5, fallback_on_overload=True, default_model="claude-opus-5-5"
    ) as at:
        response = await at.ask("Q")
        await at.ask("Q")

    models = [heard.json["model"] for heard in server.heard]
    assert models == ["claude-opus-5-5"] * 2 + ["claude-sonnet-5-5"] * 2
    assert response.degradation.actual == "claude-sonnet-5-5"


async def test_stand_ins_may_be_named_and_the_rest_be_over(
    wire: AnthropicWire, server: WireServer
) -> None:
    server.will(overload(wire), *[streams(*wire.text("Hi"))] * 2)
    config = {
        "fallback_on_overload": True,
        "fallback_models": ["claude-haiku-4-5"],
        "fallback_retry_count": 1,
        "fallback_cooldown_seconds": 0,
    }
    async with desk(wire, server, max_retries=5, **config) as at:
        await at.ask("Q")
        await at.ask("Q")

    models = [heard.json["model"] for heard in server.heard]
    assert models == ["claude-sonnet-5-5", "claude-haiku-4-5", "claude-sonnet-5-5"]
    assert "temperature" in server.heard[1].json


async def test_after_its_rest_a_model_is_given_all_its_chances_again(
    wire: AnthropicWire, server: WireServer
) -> None:
    full, hello = overload(wire), streams(*wire.text("Hi"))
    server.will(full, full, hello, full, hello)
    config = {"fallback_on_overload": True, "fallback_cooldown_seconds": 0}
    async with desk(wire, server, max_retries=5, **config) as at:
        await at.ask("Q")
        await at.ask("Q")

    sonnet, haiku = "claude-sonnet-5-5", "claude-haiku-5-5"
    models = [heard.json["model"] for heard in server.heard]
    assert models == [sonnet, sonnet, haiku, sonnet, sonnet]


async def test_without_a_wish_for_it_no_model_stands_in(
    wire: AnthropicWire, server: WireServer
) -> None:
    server.will(*[overload(wire)] * 3, streams(*wire.text("Hi")))
    async with desk(wire, server, max_retries=5) as at:
        await at.ask("Q")

    assert {heard.json["model"] for heard in server.heard} == {"claude-sonnet-5-5"}


# -- models -------------------------------------------------------------------------------------


async def test_the_large_window_is_told_only_if_wanted(
    wire: AnthropicWire, server: WireServer
) -> None:
    async with desk(wire, server) as at, desk(wire, server, enable_1m_context=True) as large:
        assert at.provider.get_model_info().context_window == 200_000
        assert large.provider.get_model_info().context_window == 1_000_000
        assert large.provider.get_info().defaults["context_window"] == 1_000_000


async def test_retired_models_are_listed_only_if_asked_for(
    wire: AnthropicWire, server: WireServer
) -> None:
    listed = wire.models("claude-new", "claude-old")
    listed["data"][1]["lifecycle"] = "retired"
    listed["data"][0] |= {"max_input_tokens": 150_000, "max_tokens": 9_000}
    server.will(answers(200, listed), answers(200, listed))
    async with desk(wire, server) as at, desk(wire, server, filtered=False) as everything:
        (model,) = await at.provider.list_models()

        assert (model.id, model.context_window, model.max_output_tokens) == (
            "claude-new",
            150_000,
            9_000,
        )
        assert len(await everything.provider.list_models()) == 2


async def test_what_is_not_counted_has_no_known_cost(
    wire: AnthropicWire, server: WireServer
) -> None:
    answer = wire.whole("Hi")
    del answer["usage"]
    server.will(answers(200, answer))
    async with desk(wire, server, use_streaming=False) as at:
        assert (await at.ask("Q")).usage.cost_usd is None


@pytest.mark.parametrize(
    "nonsense",
    [
        [],
        "text",
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 1}},
        {"type": "content_block_delta", "index": 0, "delta": "text"},
        {"type": "content_block_start", "index": 0, "content_block": None},
        {"type": "message_start"},
        {"type": "message_delta", "delta": None, "usage": 3},
    ],
)
async def test_nonsense_is_one_clear_error(
    wire: AnthropicWire, server: WireServer, nonsense: Any
) -> None:
    named = nonsense["type"] if isinstance(nonsense, dict) else "content_block_delta"
    opened = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    closed = event("content_block_stop", index=0)
    server.will(streams(start(), opened, sse(named, nonsense), closed, *end()))
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Q")
