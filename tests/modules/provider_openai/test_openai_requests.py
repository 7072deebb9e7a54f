"""A request as it goes out to the Responses API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from amplifier_core.message_models import (
    ChatRequest,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ToolSpec,
)
from helpers_openai import ResponsesWire, VllmWire
from helpers_wire import WireServer, desk, serving, streams

PLAIN = "gpt-4.1"
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A"}}
SHOWN = {"type": "input_image", "image_url": "data:image/png;base64,A", "detail": "auto"}


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


class Sent:
    """Sends requests, and shows what arrived."""

    def __init__(self, wire: ResponsesWire, server: WireServer) -> None:
        self.wire, self.server = wire, server
        self.response: Any = None

    async def __call__(
        self, *messages: Any, config: dict[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        self.server.will(streams(*self.wire.text("Hi")))
        async with desk(self.wire, self.server, **(config or {})) as at:
            self.response = await at.ask(*messages, **fields)
        return self.server.body

    @property
    def note(self) -> str:
        note = self.response.degradation
        return f"{note.requested} -> {note.actual}: {note.reason}" if note else ""


@pytest.fixture
def sent(wire: ResponsesWire, server: WireServer) -> Sent:
    return Sent(wire, server)


def message(role: str, *parts: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    extra = {"annotations": []} if role == "assistant" else {}
    content = [{"type": kind, "text": p, **extra} if isinstance(p, str) else p for p in parts]
    return {"type": "message", "role": role, "content": content}


def tool(name: str = "look", **more: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return ToolSpec(name=name, description="Looks.", parameters=schema, **more)


def used(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "tool": "look", "arguments": {"path": "ä"}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def result(call_id: str, content: Any = "fine") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, "name": "look"}


async def test_roles_are_the_vendors_own(sent: Sent) -> None:
    body = await sent(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "The style guide."},
        "Hello",
        {"role": "assistant", "content": "Hello you"},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, PICTURE]},
    )

    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [
        message("developer", "The style guide."),
        message("user", "Hello"),
        message("assistant", "Hello you"),
        message("user", "Look:", SHOWN),
    ]


async def test_other_servers_get_developers_texts_as_a_file_of_the_user(
    server: WireServer,
) -> None:
    body = await Sent(VllmWire(), server)({"role": "developer", "content": "The guide."})

    assert body["input"] == [message("user", "<context_file>\nThe guide.\n</context_file>")]


async def test_calls_and_results_follow_each_other(sent: Sent) -> None:
    shows = [{"type": "text", "text": "See:"}, PICTURE]
    body = await sent("Look", used("a"), result("a"), used("b"), result("b", shows))

    assert body["input"][1:] == [
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"path": "ä"}'},
        {"type": "function_call_output", "call_id": "a", "output": "fine"},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": '{"path": "ä"}'},
        {
            "type": "function_call_output",
            "call_id": "b",
            "output": [{"type": "input_text", "text": "See:"}, SHOWN],
        },
    ]


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ({"type": "url", "url": "https://example.org/a.png"}, "https://example.org/a.png"),
        ({"mime_type": "image/gif", "data": "B"}, "data:image/gif;base64,B"),
        ({"url": "data:image/gif;base64,C"}, "data:image/gif;base64,C"),
    ],
)
async def test_pictures_of_every_vendor_are_understood(
    sent: Sent, source: dict[str, Any], url: str
) -> None:
    block = {"type": "image", "source": source}
    body = await sent({"role": "user", "content": [block]})

    assert body["input"][0]["content"][0]["image_url"] == url


async def test_thoughts_go_back_encrypted_and_foreign_ones_do_not(sent: Sent) -> None:
    own = {"type": "thinking", "thinking": "Hm", "content": ["sealed", "rs_1"], "origin": "openai"}
    foreign = {"type": "thinking", "thinking": "Oh", "signature": "s", "origin": "anthropic"}
    unsigned = {"type": "thinking", "thinking": "Ah", "signature": "from-somewhere"}
    answer = {"type": "text", "text": "Hello"}
    body = await sent(
        "Hi", {"role": "assistant", "content": [own, foreign, unsigned, answer]}, "More"
    )

    assert body["input"][1:3] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm"}],
            "encrypted_content": "sealed",
        },
        message("assistant", "Hello"),
    ]


async def test_a_server_of_ones_own_gets_thoughts_as_text(server: WireServer) -> None:
    own = {"type": "thinking", "thinking": "Hm", "content": [None, "rs_1"], "origin": "vllm"}
    body = await Sent(VllmWire(), server)("Hi", {"role": "assistant", "content": [own]}, "More")

    assert body["input"][1]["content"] == [{"type": "reasoning_text", "text": "Hm"}]


async def test_a_phase_and_a_refusal_are_kept(sent: Sent) -> None:
    said = [
        {"type": "text", "text": "Working", "phase": "commentary"},
        {"type": "text", "text": "No", "refusal": True},
    ]
    body = await sent("Hi", {"role": "assistant", "content": said}, "More")

    assert body["input"][1]["phase"] == "commentary"
    assert body["input"][2]["content"] == [{"type": "refusal", "refusal": "No"}]


# -- tools ------------------------------------------------------------------------------------


async def test_functions_are_not_strict_unless_asked(sent: Sent) -> None:
    body = await sent("Hi", tools=[tool(), tool("see", strict=True)])

    assert [(each["name"], each["strict"]) for each in body["tools"]] == [
        ("look", False),
        ("see", True),
    ]
    assert body["tools"][0]["description"] == "Looks."


async def test_tools_of_the_vendor_pass_through(sent: Sent) -> None:
    search = ToolSpec(name="search", parameters={}, type="web_search", search_context_size="low")
    python = ToolSpec(name="python", parameters={}, type="code_interpreter")
    body = await sent("Hi", tools=[search, python], tool_choice="web_search")

    assert body["tools"] == [
        {"type": "web_search", "search_context_size": "low"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ]
    assert body["tool_choice"] == {"type": "web_search"}


LOOK = {"type": "function", "name": "look"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        ("look", LOOK),
        ({"type": "any"}, "required"),
        ({"type": "tool", "name": "look"}, LOOK),
        ({"type": "function", "function": {"name": "look"}}, LOOK),
        ({"type": "mcp", "server_label": "x"}, {"type": "mcp", "server_label": "x"}),
    ],
)
async def test_every_way_to_choose_a_tool_is_understood(
    sent: Sent, asked: Any, expected: Any
) -> None:
    assert (await sent("Hi", tools=[tool()], tool_choice=asked))["tool_choice"] == expected


async def test_without_tools_there_is_no_choice(sent: Sent) -> None:
    assert "tool_choice" not in await sent("Hi", tool_choice="required")


# -- formats, sampling, effort ---------------------------------------------------------------


@pytest.mark.parametrize("is_wrapped", [True, False])
async def test_a_schema_may_come_bare_or_wrapped(sent: Sent, is_wrapped: bool) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    given = {"name": "count", "schema": schema} if is_wrapped else schema
    body = await sent(
        "Hi", response_format=ResponseFormatJsonSchema(json_schema=given, strict=True)
    )

    name = "count" if is_wrapped else "answer"
    assert body["text"] == {
        "format": {"type": "json_schema", "name": name, "schema": schema, "strict": True}
    }


async def test_plain_json_is_asked_for_in_words_too(sent: Sent) -> None:
    body = await sent("Hi", response_format=ResponseFormatJson())

    assert body["text"] == {"format": {"type": "json_object"}}
    assert "JSON" in body["instructions"]


async def test_models_that_reason_take_no_temperature(sent: Sent) -> None:
    body = await sent("Hi", temperature=0.2, stop=["END"])

    assert "temperature" not in body
    assert "stop" not in body
    assert "temperature 0.2" in sent.note
    assert "stop" in sent.note


async def test_plain_models_take_a_temperature_and_no_effort(sent: Sent) -> None:
    body = await sent("Hi", model=PLAIN, reasoning_effort="high")

    assert body["temperature"] == 0.7
    assert body["store"] is False
    assert not {"reasoning", "include"} & set(body)
    assert "cannot reason" in sent.note


@pytest.mark.parametrize(
    ("model", "asked", "effort"),
    [
        ("gpt-5.5", "xhigh", "xhigh"),
        ("gpt-5", "xhigh", "high"),
        ("gpt-5.5", "minimal", "none"),
        ("o3", "max", "high"),
        ("gpt-6-sol", "max", "max"),
        ("nobody-knows-it", "low", "low"),
    ],
)
async def test_an_effort_is_the_nearest_that_the_model_knows(
    sent: Sent, model: str, asked: str, effort: str
) -> None:
    body = await sent("Hi", model=model, config={"reasoning": asked})

    assert body["reasoning"] == {"effort": effort, "summary": "detailed"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert bool(sent.note) == (asked != effort)


async def test_an_unknown_model_is_told_nothing_that_it_may_not_know(sent: Sent) -> None:
    body = await sent("Hi", model="nobody-knows-it", config={"prompt_cache_retention": None})

    assert set(body) - {"prompt_cache_key"} == {
        "model", "input", "max_output_tokens", "store", "stream"
    }  # fmt: skip


async def test_the_other_keys_are_sent(sent: Sent) -> None:
    config = {
        "truncation": "auto",
        "prompt_cache_key": "mine",
        "reasoning_summary": "none",
        "enable_response_chaining": False,
        "enable_state": True,
        "extra_request_params": {"service_tier": "flex"},
    }
    body = await sent("Hi", config=config, max_output_tokens=77)

    assert body["truncation"] == "auto"
    assert body["prompt_cache_key"] == "mine"
    assert body["prompt_cache_retention"] == "24h"
    assert body["store"] is True
    assert body["service_tier"] == "flex"
    assert body["max_output_tokens"] == 77
    assert "reasoning" not in body


async def test_a_call_may_name_its_user_and_switch_thinking_off(
    wire: ResponsesWire, server: WireServer
) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server) as at:
        request = {"messages": [{"role": "user", "content": "Hi"}], "conversation_id": "c-1"}
        await at.provider.complete(
            ChatRequest(**request), safety_identifier="u1", extended_thinking=False
        )

    assert server.body["safety_identifier"] == "u1"
    assert server.body["prompt_cache_key"] == "c-1"
    assert server.body["reasoning"]["effort"] == "none"
