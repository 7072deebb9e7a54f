"""What provider-ollama makes of answers of an Ollama server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from amplifier_core.llm_errors import (
    ContextLengthError,
    InvalidToolCallError,
    LLMError,
    ProviderUnavailableError,
    StreamError,
)
from amplifier_core.models import HookResult
from helpers_ollama import OllamaWire, call, end, line
from helpers_wire import WireServer, answers, desk, serving, streams


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
    return {"role": "assistant", "content": content, "tool_calls": calls}


async def test_thoughts_text_and_calls_survive_the_way_there_and_back(
    wire: OllamaWire, server: WireServer
) -> None:
    arguments = {"a": [1, {"b": None}]}
    parts = [
        line(thinking="H"),
        line(thinking="m."),
        line(content="I "),
        line(content="look."),
        line(tool_calls=[call("look", arguments, "c1")]),
        *end(),
    ]
    server.will(streams(*parts), streams(*wire.text("Done")))
    async with desk(wire, server) as at:
        response = await at.ask("Q")
        answer = {"role": "tool", "content": "ok", "tool_call_id": "c1"}
        await at.ask("Q", as_message(response), answer)

        assert server.body["messages"][1] == {
            "role": "assistant",
            "content": "I look.",
            "thinking": "Hm.",
            "tool_calls": [call("look", arguments, "c1")],
        }
        kinds = [each["block_type"] for each in at.of("llm:stream_block_start")[:3]]
        assert kinds == ["thinking", "text", "tool_use"]
        assert response.finish_reason == "tool_calls"


async def test_calls_of_older_servers_get_an_id(wire: OllamaWire, server: WireServer) -> None:
    server.will(streams(line(tool_calls=[call("look", {}), call("look", {})]), *end()))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    ids = [each.id for each in response.tool_calls]
    assert len(set(ids)) == 2
    assert all(each.replace("_", "").isalnum() and len(each) <= 64 for each in ids)


async def test_fragments_are_told_under_the_vendors_own_names_too(
    wire: OllamaWire, server: WireServer
) -> None:
    told: list[tuple[str, str]] = []

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        told.append((event, data["content"]))
        return HookResult(action="continue")

    server.will(streams(line(thinking="Hm."), line(content="Hi"), *end()))
    async with desk(wire, server) as at:
        for event in ("llm:stream:chunk", "llm:stream:thinking"):
            at.coordinator.hooks.register(event, listen)
        await at.ask("Q")
        offered = await at.coordinator.collect_contributions("observability.events")

    assert told == [("llm:stream:thinking", "Hm."), ("llm:stream:chunk", "Hi")]
    assert {"llm:stream:chunk", "llm:stream:thinking"} <= {*offered[0]}


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_finish_reasons_are_those_of_the_contract(
    wire: OllamaWire, server: WireServer, reason: str
) -> None:
    server.will(streams(line(content="Hi"), *end(reason)))
    async with desk(wire, server) as at:
        response = await at.ask("Q")

    assert response.finish_reason == reason
    assert response.metadata["ollama:done_reason"] == reason
    assert (response.usage.input_tokens, response.usage.output_tokens) == (10, 5)
    assert response.usage.cost_usd is None


async def test_a_call_cut_by_the_token_limit_says_what_to_raise(
    wire: OllamaWire, server: WireServer
) -> None:
    server.will(streams(line(tool_calls=[call("look", '{"pa')]), *end("length")))
    async with desk(wire, server) as at:
        with pytest.raises(InvalidToolCallError, match="Raise `max_tokens`"):
            await at.ask("Q")


async def test_a_prompt_that_is_too_long_is_typed_and_not_sent_again(
    wire: OllamaWire, server: WireServer
) -> None:
    server.will(answers(400, {"error": "the input length exceeds the context length"}))
    async with desk(wire, server, max_retries=3) as at:
        with pytest.raises(ContextLengthError):
            await at.ask("Q")

    assert len(server.heard) == 1


async def test_an_error_in_mid_stream_is_tried_again(wire: OllamaWire, server: WireServer) -> None:
    broken = b'{"error": "model runner has unexpectedly stopped"}\n'
    server.will(streams(line(content="Half"), broken), streams(*wire.text("Whole")))
    async with desk(wire, server, max_retries=1) as at:
        assert (await at.ask("Q")).content[0].text == "Whole"

        (retry,) = at.of("provider:retry")
        assert retry["error_type"] == ProviderUnavailableError.__name__


NONSENSE = [
    [],
    "text",
    {"message": "text"},
    {"message": {"content": 1}},
    {"message": {"tool_calls": 1}},
    {"message": {"tool_calls": [1]}},
    {"message": {"tool_calls": [{"function": 1}]}},
]


@pytest.mark.parametrize("part", NONSENSE)
async def test_nonsense_is_one_clear_error(wire: OllamaWire, server: WireServer, part: Any) -> None:
    server.will(streams(json.dumps(part).encode() + b"\n", *end()))
    async with desk(wire, server) as at:
        with pytest.raises(StreamError):
            await at.ask("Q")


@pytest.mark.parametrize("body", [[], ["text"], {"error": {"message": "odd"}}, {"error": 1}])
async def test_an_error_of_another_shape_keeps_its_status(
    wire: OllamaWire, server: WireServer, body: Any
) -> None:
    server.will(answers(404, body))
    async with desk(wire, server) as at:
        with pytest.raises(LLMError) as caught:
            await at.ask("Q")

    assert caught.value.status_code == 404


async def test_models_for_embeddings_are_listed_only_if_asked_for(
    wire: OllamaWire, server: WireServer
) -> None:
    listed = wire.models("llama3.2:3b", "nomic-embed-text")
    listed["models"][1]["details"]["families"] = ["nomic-bert"]
    server.will(answers(200, listed), answers(200, listed))
    async with desk(wire, server) as at, desk(wire, server, filtered=False) as everything:
        assert [each.id for each in await at.provider.list_models()] == ["llama3.2:3b"]
        assert len(await everything.provider.list_models()) == 2


async def test_what_is_not_counted_has_no_known_cost(wire: OllamaWire, server: WireServer) -> None:
    answer = wire.whole("Hi")
    del answer["eval_count"]
    server.will(answers(200, answer))
    price = {wire.model: {"input": 1, "output": 1}}
    async with desk(wire, server, use_streaming=False, pricing=price) as at:
        assert (await at.ask("Q")).usage.cost_usd is None
