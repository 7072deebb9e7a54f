"""What the Responses API answers, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.llm_errors import (
    ContentFilterError,
    InvalidRequestError,
    LLMTimeoutError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
)
from amplifier_core.message_models import ToolSpec
from helpers_openai import (
    ResponsesWire,
    answer,
    begin,
    call_item,
    called,
    end,
    event,
    said,
    text_item,
    thought,
    thought_item,
)
from helpers_wire import WAIT, Desk, WireServer, answers, asking, desk, serving, streams

CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


def reply(*output: dict[str, Any], **more: Any) -> Any:
    return answers(200, answer(*output, **more))


def kept(response: Any) -> dict[str, Any]:
    """A response as loops put it into the context."""
    content = [each.model_dump(exclude_none=True) for each in response.content]
    return {"role": "assistant", "content": content, "metadata": response.metadata}


def listen(at: Desk, *events: str) -> None:
    for each in events:
        at.coordinator.hooks.register(each, at._listen)


# -- thoughts, texts, calls -------------------------------------------------------------------


async def test_thoughts_are_shown_and_kept_encrypted(
    wire: ResponsesWire, server: WireServer
) -> None:
    output = [thought("Let me see"), said("Hello")]
    server.will(streams(begin(), *thought_item(0, "Let me", " see"), *text_item(1, "Hello"),
                        end(*output)))  # fmt: skip
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        *chunks, last = [c async for c in at.provider.stream_complete(asking("Hi"))]

        assert chunks == [{"thinking": "Let me"}, {"thinking": " see"}, {"text": "Hello"}]
        first, second = last["response"].content
        assert (first.thinking, first.content) == ("Let me see", ["sealed", "rs_01"])
        assert second.text == "Hello"
        kinds = [each["block_type"] for each in at.of("llm:stream_block_start")]
        assert kinds == ["thinking", "text"]
        assert len(at.of("llm:stream_block_end")) == 2
        assert last["response"].metadata["openai:reasoning_items"] == ["rs_01"]


async def test_several_calls_come_in_order(wire: ResponsesWire, server: WireServer) -> None:
    items = [called("a", "look", "{}"), called("b", "see", '{"n": 1}')]
    server.will(streams(begin(), *call_item(0, "a", "look", "{}"),
                        *call_item(1, "b", "see", '{"n": 1}'), end(*items)))  # fmt: skip
    async with desk(wire, server) as at:
        response = await at.ask("Look")

        assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [
            ("a", "look", {}),
            ("b", "see", {"n": 1}),
        ]
        assert response.finish_reason == "tool_calls"
        assert [each["name"] for each in at.of("llm:stream_block_start")] == ["look", "see"]


async def test_a_server_may_send_its_items_at_the_end_only(
    wire: ResponsesWire, server: WireServer
) -> None:
    server.will(streams(begin(), end(said("Hello"))))
    async with desk(wire, server) as at:
        assert (await at.ask("Hi")).content[0].text == "Hello"


async def test_a_refusal_is_a_text_that_says_so(wire: ResponsesWire, server: WireServer) -> None:
    item = said("") | {"content": [{"type": "refusal", "refusal": "I will not."}]}
    server.will(reply(item))
    async with desk(wire, server, use_streaming=False) as at:
        (block,) = (await at.ask("Hi")).content

    assert (block.text, block.refusal) == ("I will not.", True)


async def test_a_filter_that_leaves_nothing_is_an_error(
    wire: ResponsesWire, server: WireServer
) -> None:
    held = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    server.will(reply(**held), reply(said("Well"), **held))
    async with desk(wire, server, use_streaming=False) as at:
        with pytest.raises(ContentFilterError):
            await at.ask("Hi")
        assert (await at.ask("Hi")).finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", ProviderUnavailableError),
        ("rate_limit_exceeded", RateLimitError),
        ("invalid_image", InvalidRequestError),
        ("image_content_policy_violation", ContentFilterError),
        (None, ProviderUnavailableError),
    ],
)
@pytest.mark.parametrize("way", ["failed", "event", "nested"])
async def test_an_error_in_mid_stream_is_what_its_code_says(
    wire: ResponsesWire, server: WireServer, code: str | None, kind: type[Exception], way: str
) -> None:
    error = {"code": code, "message": "Oh no"}
    told = {
        "failed": end(status="failed", error=error),
        "event": event("error", **error, param=None),
        "nested": event("error", error=error | {"type": "x"}),
    }[way]
    server.will(streams(begin(), told))
    async with desk(wire, server) as at:
        with pytest.raises(kind, match="Oh no"):
            await at.ask("Hi")


# -- usage and cost ----------------------------------------------------------------------------


async def test_usage_tells_cache_and_reasoning_and_the_list_has_the_price(
    wire: ResponsesWire, server: WireServer
) -> None:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 0},
        "output_tokens": 100,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 1100,
    }
    server.will(reply(said("Hi"), usage=usage))
    async with desk(wire, server, use_streaming=False) as at:
        told = (await at.ask("Hi", model="gpt-5.5-2026-04-23")).usage

    assert (told.input_tokens, told.output_tokens, told.total_tokens) == (1000, 100, 1100)
    assert (told.cache_read_tokens, told.reasoning_tokens) == (600, 40)
    assert told.cost_usd == Decimal("0.0053")


@pytest.mark.parametrize(
    ("item", "more", "cost"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, {}, "0.0102"),
        ({"type": "code_interpreter_call", "id": "ci_1", "status": "completed"}, {}, None),
        (said("Hi"), {"service_tier": "flex"}, None),
        (said("Hi"), {"service_tier": "default"}, "0.0002"),
    ],
)
async def test_what_the_list_does_not_cover_has_no_known_cost(
    wire: ResponsesWire, server: WireServer, item: Any, more: Any, cost: str | None
) -> None:
    server.will(reply(item, **more))
    async with desk(wire, server, use_streaming=False) as at:
        told = (await at.ask("Hi")).usage

    assert told.cost_usd == (Decimal(cost) if cost else None)


# -- the vendor's own tools ----------------------------------------------------------------------


async def test_what_blocks_cannot_hold_goes_back_unchanged(
    wire: ResponsesWire, server: WireServer
) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    server.will(reply(search, said("Found")), reply(said("Sure")))
    async with desk(wire, server, use_streaming=False, enable_response_chaining=False) as at:
        first = await at.ask("Search")
        await at.ask("Search", kept(first), "Sure?")

    assert server.body["input"][1:3] == [search, said("Found")]


async def test_a_patch_is_a_call_and_its_result_says_whether_it_went_well(
    wire: ResponsesWire, server: WireServer
) -> None:
    operation = {"type": "delete_file", "path": "a.txt"}
    item = {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "call_1",
        "status": "completed",
        "operation": operation,
    }
    server.will(reply(item), reply(said("Done")))
    tools = [ToolSpec(name="apply_patch", parameters={}, type="apply_patch")]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "gone"}
    async with desk(wire, server, use_streaming=False, enable_response_chaining=False) as at:
        first = await at.ask("Delete", tools=tools)
        await at.ask("Delete", kept(first), result, tools=tools)

    assert first.tool_calls[0].arguments == operation
    assert server.body["input"][1:] == [
        item,
        {
            "type": "apply_patch_call_output",
            "call_id": "call_1",
            "status": "completed",
            "output": "gone",
        },
    ]


# -- chains -------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_from_the_vendors_memory(
    wire: ResponsesWire, server: WireServer
) -> None:
    server.will(reply(said("One")), reply(said("Two"), response_id="resp_02"), reply(said("3")))
    async with desk(wire, server, use_streaming=False) as at:
        first = kept(await at.ask("Count"))
        second = kept(await at.ask("Count", first, "Go on"))
        await at.ask("Count", first, "Go on", second, "And?")

    bodies = [each.json for each in server.heard]
    assert bodies[0]["store"] is True
    assert [each.get("previous_response_id") for each in bodies] == [None, "resp_01", "resp_02"]
    assert [len(each["input"]) for each in bodies] == [1, 1, 1]


@pytest.mark.parametrize("changed", ["question", "answer"])
async def test_a_conversation_that_was_changed_is_sent_whole(
    wire: ResponsesWire, server: WireServer, changed: str
) -> None:
    server.will(reply(thought("Hm"), said("One")), reply(said("Two")))
    async with desk(wire, server, use_streaming=False) as at:
        first = kept(await at.ask("Count"))
        if changed == "answer":
            first["content"][1]["text"] = "Uno"
        await at.ask("Count" if changed == "answer" else "A summary", first, "Go on")

    assert "previous_response_id" not in server.body
    kinds = [each["type"] for each in server.body["input"]]
    assert kinds == ["message", "reasoning", "message", "message"]


@pytest.mark.parametrize("status", [404, 400])
async def test_a_chain_that_the_vendor_lost_is_sent_whole_once(
    wire: ResponsesWire, server: WireServer, status: int
) -> None:
    lost = answers(status, wire.refusal(status, "Previous_response with id 'resp_01' not found."))
    server.will(reply(said("One")), lost, reply(said("Two")))
    async with desk(wire, server, use_streaming=False) as at:
        listen(at, "provider:response_chain_invalidated")
        first = kept(await at.ask("Count"))
        assert (await at.ask("Count", first, "Go on")).content[0].text == "Two"

        (told,) = at.of("provider:response_chain_invalidated")
        assert (told["provider"], told["response_id"]) == ("openai", "resp_01")
        assert not at.of("provider:retry")
    assert "previous_response_id" not in server.body
    assert len(server.body["input"]) == 3


async def test_a_model_that_is_not_there_is_an_error_also_in_a_chain(
    wire: ResponsesWire, server: WireServer
) -> None:
    gone = answers(404, wire.refusal(404, "no such model"))
    server.will(reply(said("One")), gone, gone)
    async with desk(wire, server, use_streaming=False) as at:
        first = kept(await at.ask("Count"))
        with pytest.raises(NotFoundError):
            await at.ask("Count", first, "Go on")


# -- continuations ----------------------------------------------------------------------------


async def test_an_answer_that_was_cut_is_completed(wire: ResponsesWire, server: WireServer) -> None:
    half = said("Once upon", status="incomplete")
    server.will(
        streams(begin(), *text_item(0, "Once upon", status="incomplete"), end(half, **CUT)),
        streams(*wire.text(" a time")),
    )
    async with desk(wire, server) as at:
        listen(at, "provider:incomplete_continuation")
        response = await at.ask("Tell")

        assert [each.text for each in response.content] == ["Once upon a time"]
        assert response.finish_reason == "stop"
        assert response.usage.output_tokens == 10
        assert response.metadata["openai:continuation_count"] == 1
        (told,) = at.of("provider:incomplete_continuation")
        told = {name: told[name] for name in ("reason", "continuation_number", "max_attempts")}
        assert told == {
            "reason": "max_output_tokens",
            "continuation_number": 1,
            "max_attempts": 5,
        }
    assert server.body["input"][1]["content"][0]["text"] == "Once upon"


async def test_a_call_that_was_cut_is_made_anew(wire: ResponsesWire, server: WireServer) -> None:
    cut = called("a", "look", '{"path": "a', status="incomplete")
    server.will(reply(said("Looking"), cut, **CUT), reply(called("b", "look", "{}")))
    async with desk(wire, server, use_streaming=False) as at:
        response = await at.ask("Look")

    assert [each.id for each in response.tool_calls] == ["b"]
    assert [each["type"] for each in server.body["input"]] == ["message", "message"]


async def test_five_times_is_enough(wire: ResponsesWire, server: WireServer) -> None:
    server.will(*[reply(said("more "), **CUT)] * 6)
    async with desk(wire, server, use_streaming=False) as at:
        response = await at.ask("Tell")

    assert len(server.heard) == 6
    assert response.finish_reason == "length"
    assert response.content[0].text == "more " * 6


async def test_a_limit_that_the_request_sets_is_kept(
    wire: ResponsesWire, server: WireServer
) -> None:
    server.will(reply(said("Once"), **CUT))
    async with desk(wire, server, use_streaming=False) as at:
        response = await at.ask("Tell", max_output_tokens=1)

    assert response.finish_reason == "length"
    assert response.metadata["openai:incomplete_reason"] == "max_output_tokens"


# -- parameters that a model turns down ------------------------------------------------------------


async def test_retention_is_dropped_for_a_model_that_rejects_it(
    wire: ResponsesWire, server: WireServer
) -> None:
    refused = {
        "error": {
            "message": "Unsupported parameter",
            "type": "invalid_request_error",
            "param": "prompt_cache_retention",
            "code": None,
        }
    }
    server.will(answers(400, refused), *[streams(*wire.text("Hi"))] * 2)
    async with desk(wire, server) as at:
        await at.ask("Hi", model="gpt-4o")
        await at.ask("Hi", model="gpt-4o")

        assert not at.of("provider:retry")
    sent = ["prompt_cache_retention" in each.json for each in server.heard]
    assert sent == [True, False, False]


# -- in the background --------------------------------------------------------------------------

RESEARCH = {"model": "o3-deep-research"}
QUICK_POLLS = {"poll_interval": 0.01}


async def test_research_is_done_in_the_background(wire: ResponsesWire, server: WireServer) -> None:
    server.will(
        reply(status="queued"),
        reply(status="in_progress"),
        answers(500, wire.refusal(500, "hiccup")),
        reply(said("Found")),
    )
    async with desk(wire, server, max_retries=1, **QUICK_POLLS) as at:
        listen(at, "provider:background_status")
        response = await at.ask("Find out", **RESEARCH)

        assert response.content[0].text == "Found"
        statuses = [each["status"] for each in at.of("provider:background_status")]
        assert statuses == ["queued", "in_progress", "completed"]
    first, *polls = server.heard
    assert (first.json["background"], first.json["store"]) == (True, True)
    assert {each.path for each in polls} == {"/responses/resp_01"}


async def test_research_that_takes_too_long_is_cancelled(
    wire: ResponsesWire, server: WireServer
) -> None:
    server.will(*[reply(status="in_progress")] * 1000)
    async with desk(wire, server, background_timeout=0.2, **QUICK_POLLS) as at:
        with pytest.raises(LLMTimeoutError, match="background_timeout"):
            await at.ask("Find out", **RESEARCH)

    assert server.heard[-1].path == "/responses/resp_01/cancel"
