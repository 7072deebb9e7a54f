"""A request as it goes out to the GenAI API."""

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
from helpers_gemini import MODEL, GeminiWire
from helpers_wire import WireServer, asking, desk, serving, streams

OLD = "gemini-2.5-flash"
OLD_PRO = "gemini-2.5-pro"
OLDER = "gemini-2.0-flash"
FREE = "gemini-3.5-flash"
UNSIGNED = "skip_thought_signature_validator"


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


class Sent:
    """Sends requests, and shows what arrived."""

    def __init__(self, wire: GeminiWire, server: WireServer) -> None:
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
def sent(wire: GeminiWire, server: WireServer) -> Sent:
    return Sent(wire, server)


def turn(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": each} for each in texts]}


def tool(name: str = "look", **more: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return ToolSpec(name=name, description="Looks.", parameters=schema, **more)


def called(*ids: str, content: Any = "") -> dict[str, Any]:
    calls = [{"id": each, "tool": "look", "arguments": {"path": each}} for each in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(call_id: str, content: Any = "fine", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, **more}


def said(text: str, role: str) -> dict[str, Any]:
    return {"role": role, "content": text}


async def test_system_messages_are_joined_and_developers_texts_come_first(sent: Sent) -> None:
    body = await sent(
        said("Be brief.", "system"), "Hello", said("The style guide.", "developer"),
        said("Be kind.", "system"),
    )  # fmt: skip

    assert body["systemInstruction"] == {"parts": [{"text": "Be brief.\n\nBe kind."}]}
    wrapped = "<context_file>\nThe style guide.\n</context_file>"
    assert body["contents"] == [turn("user", wrapped, "Hello")]


async def test_neighbours_of_one_role_share_a_turn(sent: Sent) -> None:
    body = await sent("One", "Two", said("Three", "assistant"), said("Four", "assistant"), "Five")

    assert body["contents"] == [
        turn("user", "One", "Two"),
        turn("model", "Three", "Four"),
        turn("user", "Five"),
    ]


async def test_a_conversation_that_the_model_begins_gets_a_beginning(sent: Sent) -> None:
    body = await sent(said("Hello", "assistant"), "Hi")

    assert [each["role"] for each in body["contents"]] == ["user", "model", "user"]


async def test_results_of_one_step_have_a_turn_to_themselves(sent: Sent) -> None:
    body = await sent("Look", called("a", "b"), result("a"), result("b", "no"), "And?", model=OLD)

    assert [each["role"] for each in body["contents"]] == ["user", "model", "user", "user"]
    assert body["contents"][1]["parts"] == [
        {"functionCall": {"id": each, "name": "look", "args": {"path": each}}} for each in "ab"
    ]
    assert body["contents"][2]["parts"] == [
        {"functionResponse": {"id": "a", "name": "look", "response": {"output": "fine"}}},
        {"functionResponse": {"id": "b", "name": "look", "response": {"output": "no"}}},
    ]
    assert body["contents"][3] == turn("user", "And?")


async def test_only_the_first_call_of_others_is_marked_as_unsigned(sent: Sent) -> None:
    body = await sent("Look", called("a", "b"), result("a"), result("b"))

    marks = [each.get("thoughtSignature") for each in body["contents"][1]["parts"]]
    assert marks == [UNSIGNED, None]


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
INLINE = {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}


async def test_results_may_hold_pictures_and_be_errors(sent: Sent) -> None:
    broken = result("a", [{"type": "text", "text": "See:"}, PNG], metadata={"is_error": True})
    body = await sent("Look", called("a"), broken)

    (part,) = body["contents"][2]["parts"]
    assert part["functionResponse"]["response"] == {"error": "See:"}
    assert part["functionResponse"]["parts"] == [INLINE]


async def test_older_models_see_the_pictures_of_results_beside_them(sent: Sent) -> None:
    body = await sent("Look", called("a", "b"), result("a", [PNG]), result("b"), model=OLD)

    assert ["functionResponse" in each for each in body["contents"][2]["parts"]] == [True, True]
    assert body["contents"][3]["parts"] == [{"text": "Pictures from 'look':"}, INLINE]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PNG["source"], INLINE),
        ({"url": "data:image/png;base64,QQ=="}, INLINE),
        ({"mime_type": "image/png", "data": "QQ=="}, INLINE),
        (
            {"type": "url", "url": "https://x.test/a.webp?b"},
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://x.test/a.webp?b"}},
        ),
        (
            {"file_uri": "https://g.test/files/1", "mime_type": "image/gif"},
            {"fileData": {"mimeType": "image/gif", "fileUri": "https://g.test/files/1"}},
        ),
    ],
)
async def test_pictures_of_all_vendors_are_understood(
    sent: Sent, source: dict[str, Any], expected: dict[str, Any]
) -> None:
    picture = ImageBlock(source=source).model_dump(exclude_none=True)
    body = await sent({"role": "user", "content": [picture]})

    assert body["contents"][0]["parts"] == [expected]


async def test_own_thoughts_go_back_and_those_of_others_do_not(sent: Sent) -> None:
    own = {"type": "thinking", "thinking": "Hm.", "signature": "sig", "origin": "gemini"}
    foreign = {"type": "thinking", "thinking": "Oh.", "signature": "s", "origin": "anthropic"}
    nobodys = {"type": "thinking", "thinking": "Ah."}
    signed = {"type": "text", "text": "A", "thought_signature": "x", "origin": "elsewhere"}
    content = [own, foreign, nobodys, signed, {"type": "redacted_thinking", "data": "z"}]
    body = await sent("Q", {"role": "assistant", "content": content}, "Q2")

    assert body["contents"][1]["parts"] == [
        {"text": "Hm.", "thought": True, "thoughtSignature": "sig"},
        {"text": "A"},
    ]


async def test_tools_go_with_schema_and_native_ones_as_they_are(sent: Sent) -> None:
    native = ToolSpec(name="search", parameters={}, type="google_search", time_range_filter={})
    body = await sent("Q", tools=[tool(), ToolSpec(name="bare", parameters={}), native])

    described = {"name": "look", "description": "Looks."}
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {**described, "parametersJsonSchema": tool().parameters},
                {"name": "bare"},
            ]
        },
        {"googleSearch": {"timeRangeFilter": {}}},
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("look", {"mode": "ANY", "allowedFunctionNames": ["look"]}),
        ({"type": "any"}, {"mode": "ANY"}),
        ({"type": "tool", "name": "look"}, {"mode": "ANY", "allowedFunctionNames": ["look"]}),
        (
            {"type": "function", "function": {"name": "look"}},
            {"mode": "ANY", "allowedFunctionNames": ["look"]},
        ),
    ],
)
async def test_every_way_to_choose_a_tool_is_understood(
    sent: Sent, asked: Any, expected: dict[str, Any]
) -> None:
    body = await sent("Q", tools=[tool()], tool_choice=asked)

    assert body["toolConfig"] == {"functionCallingConfig": expected}


SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (ResponseFormatJson(), {"responseMimeType": "application/json"}),
        (
            ResponseFormatJsonSchema(json_schema={"name": "x", "schema": SCHEMA}),
            {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        ),
    ],
)
async def test_a_format_of_the_answer_is_enforced(
    sent: Sent, form: Any, expected: dict[str, Any]
) -> None:
    body = await sent("Q", response_format=form, tools=[tool()])

    generation = body["generationConfig"]
    assert {key: generation[key] for key in generation if key.startswith("resp")} == expected
    assert not sent.note


async def test_older_models_are_asked_for_a_format_beside_tools(sent: Sent) -> None:
    body = await sent("Q", response_format=ResponseFormatJson(), tools=[tool()], model=OLD)

    assert "responseMimeType" not in body["generationConfig"]
    assert "JSON" in body["systemInstruction"]["parts"][0]["text"]
    assert sent.note.startswith("JSON -> an instruction")


@pytest.mark.parametrize(
    ("fields", "config", "expected", "note"),
    [
        ({"model": OLD}, {}, {"temperature": 0.7}, ""),
        ({"model": OLD}, {"temperature": None}, {}, ""),
        ({"model": OLD, "temperature": 0.0, "top_p": 0.5}, {}, {"temperature": 0, "topP": 0.5}, ""),
        ({"model": FREE}, {}, {}, ""),
        ({"model": FREE}, {"temperature": 0.3}, {"temperature": 0.3}, ""),
        ({}, {"temperature": 0.3}, {}, ""),
        ({"temperature": 0.2}, {}, {}, "temperature 0.2"),
    ],
)
async def test_sampling_goes_to_models_that_take_it(
    sent: Sent, fields: dict[str, Any], config: dict[str, Any], expected: dict[str, Any], note: str
) -> None:
    body = await sent("Q", config=config, **fields)

    generation = body["generationConfig"]
    assert {k: generation[k] for k in ("temperature", "topP") if k in generation} == expected
    assert note in sent.note
    assert bool(note) is bool(sent.note)


@pytest.mark.parametrize(
    ("model", "effort", "expected", "note"),
    [
        (MODEL, None, {}, ""),
        (MODEL, "high", {"thinkingLevel": "high"}, ""),
        (MODEL, "minimal", {"thinkingLevel": "low"}, "'low'"),
        (MODEL, "none", {"thinkingLevel": "low"}, "always thinks"),
        (MODEL, "max", {"thinkingLevel": "high"}, "nearest"),
        (MODEL, "huge", {}, "the efforts are"),
        ("gemini-flash-latest", "low", {"thinkingLevel": "low"}, ""),
        ("gemini-3.1-flash-lite", "minimal", {"thinkingLevel": "minimal"}, ""),
        (OLD, "low", {"thinkingBudget": 1024}, ""),
        (OLD, "max", {"thinkingBudget": 24576}, ""),
        (OLD_PRO, "max", {"thinkingBudget": 32768}, ""),
        (OLD_PRO, "none", {"thinkingBudget": 128}, "always thinks"),
    ],
)
async def test_an_effort_is_a_level_or_a_budget(
    sent: Sent, model: str, effort: str | None, expected: dict[str, Any], note: str
) -> None:
    body = await sent("Q", model=model, reasoning_effort=effort)

    assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, **expected}
    assert note in sent.note
    assert bool(note) is bool(sent.note)


async def test_thinking_may_be_switched_off_where_that_is_possible(sent: Sent) -> None:
    body = await sent("Q", model=OLD, reasoning_effort="none", config={"effort": "high"})
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}

    body = await sent("Q", model=OLDER, reasoning_effort="high")
    assert "thinkingConfig" not in body["generationConfig"]
    assert "cannot think" in sent.note


async def test_what_the_caller_says_about_thinking_wins(
    wire: GeminiWire, server: WireServer
) -> None:
    server.will(*[streams(*wire.text("Hi"))] * 2)
    async with desk(wire, server, effort="high", default_model=OLD) as at:
        await at.provider.complete(asking("Q"), extended_thinking=False)
        assert server.body["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}
        assert at.of("llm:request")[0]["thinking_enabled"] is False

    async with desk(wire, server, default_model=OLD, include_thoughts=False) as at:
        await at.provider.complete(asking("Q"), extended_thinking=True)
        assert server.body["generationConfig"]["thinkingConfig"] == {"thinkingBudget": -1}


async def test_limits_and_extra_parameters_reach_the_vendor(sent: Sent, server: WireServer) -> None:
    extra = {"top_k": 20, "safety_settings": [], "generation_config": {"seed": 7}}
    config = {"max_tokens": "123", "extra_request_params": extra, "api_version": "v1beta"}
    body = await sent("Q", config=config, stop=list("abcdef"))

    generation = body["generationConfig"]
    assert (generation["maxOutputTokens"], generation["topK"], generation["seed"]) == (123, 20, 7)
    assert generation["stopSequences"] == list("abcde")
    assert "5 stop sequences" in sent.note
    assert body["safetySettings"] == []
    expected = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    assert server.heard[0].path == expected


async def test_the_usual_limit_is_that_of_the_config(sent: Sent) -> None:
    body = await sent("Q", config={"max_output_tokens": 99})

    assert body["generationConfig"]["maxOutputTokens"] == 99
