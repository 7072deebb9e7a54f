"""Chat Completions: what goes out, and what becomes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from amplifier_core.message_models import ResponseFormatJson, ResponseFormatJsonSchema, ToolSpec
from helpers_openai import USAGE, ChatWire, chat_end, chunk
from helpers_wire import WAIT, WireServer, answers, asking, desk, serving, streams

PICTURE = {"type": "image", "source": {"media_type": "image/png", "data": "A"}}
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}
LOOK = ToolSpec(name="look", description="Looks.", parameters={"type": "object"})


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


@pytest.fixture
def wire() -> ChatWire:
    return ChatWire()


async def sent(server: WireServer, *messages: Any, config: Any = None, **fields: Any) -> Any:
    wire = ChatWire()
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, **(config or {})) as at:
        await at.ask(*messages, **fields)
    return server.body


async def test_a_conversation_is_written_in_its_words(server: WireServer) -> None:
    call = {"id": "a", "tool": "look", "arguments": {"path": "ä"}}
    body = await sent(
        server,
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "The guide."},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, PICTURE]},
        {"role": "assistant", "content": "Looking", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "See:"}, PICTURE],
        },
        "Well?",
    )

    function = {"name": "look", "arguments": '{"path": "ä"}'}
    calls = [{"id": "a", "type": "function", "function": function}]
    shows = {"type": "text", "text": "What the call a of a tool shows:"}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "<context_file>\nThe guide.\n</context_file>"},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, SHOWN]},
        {"role": "assistant", "content": "Looking", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "See:"},
        {"role": "user", "content": [shows, SHOWN]},
        {"role": "user", "content": "Well?"},
    ]


async def test_config_and_request_set_the_parameters(server: WireServer) -> None:
    config = {"top_p": 0.9, "stop": "END", "seed": 7, "parallel_tool_calls": False}
    body = await sent(
        server, "Hi", config=config, tools=[LOOK], tool_choice="look", max_output_tokens=9
    )

    names = ("top_p", "stop", "seed", "parallel_tool_calls", "temperature", "max_tokens")
    assert [body[name] for name in names] == [0.9, "END", 7, False, 0.7, 9]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert body["tools"][0]["function"]["name"] == "look"
    assert "strict" not in body["tools"][0]["function"]
    assert body["stream_options"] == {"include_usage": True}


async def test_the_request_wins_over_the_config(server: WireServer) -> None:
    config = {"top_p": 0.9, "stop": ["END"], "reasoning_effort": "low"}
    body = await sent(
        server, "Hi", config=config, top_p=0.1, stop=["HALT"], reasoning_effort="high"
    )

    assert (body["top_p"], body["stop"], body["reasoning_effort"]) == (0.1, ["HALT"], "high")


async def test_formats_are_written_in_its_words(server: WireServer) -> None:
    schema = {"type": "object"}
    body = await sent(server, "Hi", response_format=ResponseFormatJsonSchema(json_schema=schema))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema},
    }
    body = await sent(server, "Hi", response_format=ResponseFormatJson())
    assert body["response_format"] == {"type": "json_object"}


async def test_tools_of_a_vendor_are_left_out_with_a_note(
    wire: ChatWire, server: WireServer
) -> None:
    server.will(streams(*wire.text("Hi")))
    search = ToolSpec(name="search", parameters={}, type="web_search")
    async with desk(wire, server) as at:
        response = await at.ask("Hi", tools=[search])

    assert "tools" not in server.body
    assert "search" in response.degradation.requested


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_thoughts_are_shown_under_either_name(
    wire: ChatWire, server: WireServer, name: str
) -> None:
    server.will(streams(chunk({name: "Hm"}), chunk({"content": "Hello"}), *chat_end()))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        *chunks, last = [c async for c in at.provider.stream_complete(asking("Hi"))]

    assert chunks == [{"thinking": "Hm"}, {"text": "Hello"}]
    assert [each.type for each in last["response"].content] == ["thinking", "text"]


async def test_calls_without_ids_get_some(wire: ChatWire, server: WireServer) -> None:
    calls = [
        {"index": place, "function": {"name": "look", "arguments": "{}"}} for place in range(2)
    ]
    server.will(streams(*(chunk({"tool_calls": [each]}) for each in calls), *chat_end()))
    async with desk(wire, server) as at:
        response = await at.ask("Look")

        assert len({each.id for each in response.tool_calls}) == 2
        assert response.finish_reason == "tool_calls"
        assert len(at.of("llm:stream_block_end")) == 2


async def test_usage_tells_the_cache(wire: ChatWire, server: WireServer) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 4}}
    server.will(answers(200, wire.whole("Hi") | {"usage": USAGE | details}))
    async with desk(wire, server, use_streaming=False) as at:
        usage = (await at.ask("Hi")).usage

    assert (usage.input_tokens, usage.cache_read_tokens, usage.cost_usd) == (10, 4, None)


def refused(name: str) -> Any:
    error = {"message": "Unsupported", "type": "invalid_request_error", "param": name}
    return answers(400, {"error": error})


async def test_what_a_model_turns_down_is_changed_and_noted(
    wire: ChatWire, server: WireServer
) -> None:
    server.will(refused("max_tokens"), refused("temperature"), *[streams(*wire.text("Hi"))] * 2)
    async with desk(wire, server, max_tokens=50) as at:
        first = await at.ask("Hi", temperature=0.1)
        second = await at.ask("Hi", temperature=0.1)

    assert server.body["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & set(server.body)
    assert len(server.heard) == 4
    assert {"temperature 0.1"} == {each.degradation.requested for each in (first, second)}


async def test_an_account_at_openai_is_nobody_elses_business(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organisation")
    monkeypatch.setenv("OPENAI_API_KEY", "my-openai-key")
    await sent(server, "Hi", config={"api_key": None})

    assert "my-" not in repr(server.heard[0].headers)
