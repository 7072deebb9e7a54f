"""A request as it goes out to the Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from amplifier_core.message_models import (
    ImageBlock,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ToolSpec,
)
from helpers_anthropic import AnthropicWire
from helpers_wire import WireServer, asking, desk, serving, streams

NO_CACHE = {"enable_prompt_caching": False}
OLD = "claude-sonnet-4-6"
OLDER = "claude-haiku-4-5"


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


class Sent:
    """Sends requests, and shows what arrived."""

    def __init__(self, wire: AnthropicWire, server: WireServer) -> None:
        self.wire, self.server = wire, server
        self.response: Any = None

    async def __call__(
        self, *messages: Any, config: dict[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        self.server.will(streams(*self.wire.text("Hi")))
        async with desk(self.wire, self.server, **NO_CACHE, **(config or {})) as at:
            self.response = await at.ask(*messages, **fields)
        return self.server.body

    @property
    def note(self) -> str:
        note = self.response.degradation
        return f"{note.requested} -> {note.actual}: {note.reason}" if note else ""


@pytest.fixture
def sent(wire: AnthropicWire, server: WireServer) -> Sent:
    return Sent(wire, server)


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def tool(name: str = "look", **more: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return ToolSpec(name=name, description="Looks.", parameters=schema, **more)


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "tool": "look", "arguments": {"path": each}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str, content: Any = "fine", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, "name": "look", **more}


async def test_system_messages_are_joined_and_developers_texts_come_first(sent: Sent) -> None:
    body = await sent(
        {"role": "system", "content": "Be brief."},
        "Hello",
        {"role": "developer", "content": "The style guide."},
        {"role": "system", "content": "Be kind."},
    )

    assert body["system"] == said("Be brief.\n\nBe kind.")
    assert body["messages"] == [
        {"role": "user", "content": said("<context_file>\nThe style guide.\n</context_file>")},
        {"role": "user", "content": said("Hello")},
    ]


async def test_results_of_one_step_share_a_message(sent: Sent) -> None:
    body = await sent("Look", called("a", "b"), result("a"), result("b"), "And?")

    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user", "user"]
    assert [each["tool_use_id"] for each in body["messages"][2]["content"]] == ["a", "b"]
    assert body["messages"][1]["content"][0] == {
        "type": "tool_use",
        "id": "a",
        "name": "look",
        "input": {"path": "a"},
    }


async def test_results_may_hold_pictures_and_be_errors(sent: Sent) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A"},
    }
    body = await sent(
        "Look",
        called("a"),
        result("a", [*said("See:"), picture], metadata={"is_error": True}),
    )

    (block,) = body["messages"][2]["content"]
    assert block["content"] == [*said("See:"), picture]
    assert block["is_error"] is True


def inline(media: str, data: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media, "data": data}


LINK = {"type": "url", "url": "https://x.test/a.png"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (inline("image/gif", "A"), inline("image/gif", "A")),
        (LINK, LINK),
        ({"url": "data:image/webp;base64,QQ=="}, inline("image/webp", "QQ==")),
        ({"mime_type": "image/jpeg", "data": "A"}, inline("image/jpeg", "A")),
        ({"type": "file", "file_id": "f1"}, {"type": "file", "file_id": "f1"}),
    ],
)
async def test_pictures_of_all_vendors_are_understood(
    sent: Sent, source: dict[str, Any], expected: dict[str, Any]
) -> None:
    picture = ImageBlock(source=source).model_dump(exclude_none=True)
    body = await sent({"role": "user", "content": [picture]})

    assert body["messages"][0]["content"] == [{"type": "image", "source": expected}]


async def test_own_thoughts_go_back_unchanged_and_in_order(sent: Sent) -> None:
    thoughts = [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
    ]
    body = await sent("Q", {"role": "assistant", "content": [*thoughts, *said("A")]}, "Q2")

    assert body["messages"][1]["content"] == [*thoughts, *said("A")]


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "s", "origin": "gemini"},
        {"type": "redacted_thinking", "data": "s", "origin": "gemini"},
        {"type": "thinking", "thinking": "Hm."},
        {"type": "thinking", "thinking": "Hm.", "signature": "s", "content": ["enc", "rs_1"]},
        {"type": "reasoning", "content": [], "summary": ["s"]},
    ],
)
async def test_thoughts_of_others_are_left_out(sent: Sent, thought: dict[str, Any]) -> None:
    body = await sent("Q", {"role": "assistant", "content": [thought, *said("A")]}, "Q2")

    assert body["messages"][1]["content"] == said("A")


async def test_texts_that_the_vendor_refuses_are_left_out(sent: Sent) -> None:
    body = await sent("Q", {"role": "assistant", "content": " \n"}, {"role": "user", "content": ""})

    assert body["messages"] == [{"role": "user", "content": said("Q")}]


async def test_tools_go_with_schema_and_native_ones_as_they_are(sent: Sent) -> None:
    native = ToolSpec(name="web_search", parameters={}, type="web_search_20260209", max_uses=3)
    body = await sent("Q", tools=[tool(), ToolSpec(name="bare", parameters={}), native])

    assert body["tools"] == [
        {"name": "look", "description": "Looks.", "input_schema": tool().parameters},
        {"name": "bare", "input_schema": {"type": "object"}},
        {"type": "web_search_20260209", "name": "web_search", "max_uses": 3},
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("look", {"type": "tool", "name": "look"}),
        ({"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}),
        ({"type": "function", "name": "look"}, {"type": "tool", "name": "look"}),
        (
            {"type": "any", "disable_parallel_tool_use": True},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
    ],
)
async def test_every_way_to_choose_a_tool_is_understood(
    sent: Sent, asked: Any, expected: dict[str, Any]
) -> None:
    body = await sent("Q", tools=[tool()], tool_choice=asked, model=OLD)

    assert body["tool_choice"] == expected
    assert not sent.note


async def test_a_model_that_cannot_be_forced_is_asked_and_that_is_noted(sent: Sent) -> None:
    body = await sent("Q", tools=[tool()], tool_choice="required")

    assert body["tool_choice"] == {"type": "auto"}
    assert "'auto'" in sent.note


async def test_a_schema_for_the_answer_is_enforced_and_plain_json_asked_for(sent: Sent) -> None:
    schema = {"type": "object", "properties": {}}
    body = await sent("Q", response_format=ResponseFormatJsonSchema(json_schema=schema))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert not sent.note

    body = await sent("Q", response_format=ResponseFormatJson())
    assert "JSON" in body["system"][0]["text"]
    assert sent.note.startswith("JSON -> an instruction")


async def test_stop_sequences_of_white_space_are_noted(sent: Sent) -> None:
    body = await sent("Q", stop=["END", "\n"])

    assert body["stop_sequences"] == ["END"]
    assert "white space" in sent.note


@pytest.mark.parametrize(
    ("fields", "config", "expected", "note"),
    [
        ({"model": OLD}, {}, {"temperature": 0.7}, ""),
        ({"model": OLD}, {"temperature": None}, {}, ""),
        ({"model": OLD, "temperature": 0.0}, {}, {"temperature": 0.0}, ""),
        ({"model": OLD, "top_p": 0.5}, {}, {"top_p": 0.5}, ""),
        ({"model": OLD, "temperature": 0.2, "top_p": 0.5}, {}, {"temperature": 0.2}, "top_p 0.5"),
        ({"model": OLD, "temperature": 1.5}, {}, {"temperature": 1.0}, "highest"),
        ({"temperature": 0.2}, {}, {}, "temperature 0.2"),
        ({}, {}, {}, ""),
        ({"model": OLD, "temperature": 0.2, "reasoning_effort": "low"}, {}, {}, "thinks"),
    ],
)
async def test_sampling_goes_to_models_that_take_it(
    sent: Sent, fields: dict[str, Any], config: dict[str, Any], expected: dict[str, Any], note: str
) -> None:
    body = await sent("Q", config=config, **fields)

    assert {key: body[key] for key in ("temperature", "top_p") if key in body} == expected
    assert note in sent.note
    assert bool(note) is bool(sent.note)


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("fields", "config", "thinking", "effort"),
    [
        ({}, {}, None, None),
        ({"reasoning_effort": "high"}, {}, ADAPTIVE, "high"),
        ({}, {"reasoning_effort": "max"}, ADAPTIVE, "max"),
        ({}, {"effort": "low", "thinking_display": "omitted"},
         {"type": "adaptive", "display": "omitted"}, "low"),
        ({"reasoning_effort": "minimal"}, {}, ADAPTIVE, "low"),
        ({}, {"extended_thinking": "true"}, ADAPTIVE, None),
        ({"model": OLD, "reasoning_effort": "none"}, {"effort": "high"},
         {"type": "disabled"}, None),
        ({"model": OLD}, {"extended_thinking": False}, {"type": "disabled"}, None),
        ({"reasoning_effort": "none"}, {}, None, "low"),
        ({"model": OLDER, "reasoning_effort": "low"}, {},
         {"type": "enabled", "budget_tokens": 4096, "display": "summarized"}, None),
        ({"model": OLD, "reasoning_effort": "low"},
         {"thinking_type": "enabled", "thinking_budget_tokens": 5},
         {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}, "low"),
    ],
)  # fmt: skip
async def test_thinking_follows_effort_config_and_model(
    sent: Sent,
    fields: dict[str, Any],
    config: dict[str, Any],
    thinking: dict[str, Any] | None,
    effort: str | None,
) -> None:
    body = await sent("Q", config=config, **fields)

    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == effort


async def test_what_the_caller_says_about_thinking_wins(
    wire: AnthropicWire, server: WireServer
) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, effort="high", default_model=OLD) as at:
        await at.provider.complete(asking("Q"), extended_thinking=False)

        assert server.body["thinking"] == {"type": "disabled"}
        assert at.of("llm:request")[0]["thinking_enabled"] is False


async def test_a_budget_leaves_room_for_the_answer(sent: Sent) -> None:
    config = {"thinking_budget_tokens": 30_000, "thinking_budget_buffer": 1_000}
    body = await sent(
        "Q", config=config, model=OLDER, max_output_tokens=100, reasoning_effort="low"
    )

    assert body["thinking"]["budget_tokens"] == 30_000
    assert body["max_tokens"] == 31_000


async def test_a_demanded_call_rules_thinking_out(sent: Sent) -> None:
    body = await sent(
        "Q", tools=[tool()], tool_choice="required", model=OLD, reasoning_effort="high"
    )

    assert body["thinking"] == {"type": "disabled"}
    assert body["tool_choice"] == {"type": "any"}
    assert "thinking -> no thinking" in sent.note


async def test_limits_and_extra_parameters_reach_the_vendor(sent: Sent, server: WireServer) -> None:
    config = {
        "max_tokens": "123",
        "extra_request_params": {"service_tier": "standard_only", "brand_new": 1},
        "beta_headers": ["one-2026", "two-2026"],
    }
    body = await sent("Q", config=config)

    assert body["max_tokens"] == 123
    assert (body["service_tier"], body["brand_new"]) == ("standard_only", 1)
    assert server.heard[0].headers["anthropic-beta"] == "one-2026,two-2026"
    assert server.heard[0].path == "/v1/messages"
