"""A request as it goes out to an Ollama server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import NotFoundError, ProviderUnavailableError
from amplifier_core.message_models import ResponseFormatJson, ResponseFormatJsonSchema, ToolSpec
from helpers_ollama import OllamaWire, shown
from helpers_wire import WireServer, answers, desk, free_url, serving, streams

CAN_ALL = shown(131_072, "tools", "vision", "thinking")


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


class Sent:
    """Sends requests, and shows what arrived."""

    def __init__(self, wire: OllamaWire, server: WireServer) -> None:
        self.wire, self.server = wire, server
        self.response: Any = None

    async def __call__(
        self, *messages: Any, show: Any = None, config: dict[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        asks_first = [] if show is None else [answers(200, show)]
        given = {} if show is None else {"num_ctx": 0}
        self.server.will(*asks_first, streams(*self.wire.text("Hi")))
        async with desk(self.wire, self.server, **{**given, **(config or {})}) as at:
            self.response = await at.ask(*messages, **fields)
        assert not self.server.plays
        return self.server.body

    @property
    def note(self) -> str:
        note = self.response.degradation
        return f"{note.requested} -> {note.actual}: {note.reason}" if note else ""


@pytest.fixture
def sent(wire: OllamaWire, server: WireServer) -> Sent:
    return Sent(wire, server)


def tool(name: str = "look", **more: Any) -> ToolSpec:
    inner = {"anyOf": [{"type": "object", "properties": {"x": {"type": "null"}}}]}
    schema = {"type": "object", "properties": {"path": inner}, "additionalProperties": False}
    return ToolSpec(name=name, description="Looks.", parameters=schema, **more)


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "tool": "look", "arguments": {"path": each}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str, content: Any = "fine", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id, **more}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


async def test_system_messages_come_first_and_developers_texts_next(sent: Sent) -> None:
    body = await sent(
        said("Be brief.", "system"), "Hello", said("The style guide.", "developer"),
        said("Be kind.", "system"), said(" ", "assistant"),
    )  # fmt: skip

    assert body["messages"] == [
        said("Be brief.\n\nBe kind.", "system"),
        said("<context_file>\nThe style guide.\n</context_file>"),
        said("Hello"),
    ]


async def test_calls_and_results_are_tied_by_id_and_name(sent: Sent) -> None:
    body = await sent("Look", called("a"), result("a", "no", metadata={"is_error": True}))

    call = {"id": "a", "function": {"name": "look", "arguments": {"path": "a"}}}
    assert body["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "Error: no", "tool_name": "look", "tool_call_id": "a"},
    ]


async def test_own_thoughts_go_back_and_those_of_others_do_not(sent: Sent) -> None:
    own = {"type": "thinking", "thinking": "Hm.", "origin": "ollama"}
    others = [
        {"type": "thinking", "thinking": "Oh.", "signature": "s", "origin": "anthropic"},
        {"type": "thinking", "thinking": "Ah."},
        {"type": "text", "text": "A"},
    ]
    body = await sent("Q", {"role": "assistant", "content": [own, *others]}, "Q2")

    assert body["messages"][1] == {"role": "assistant", "content": "A", "thinking": "Hm."}


# -- pictures -----------------------------------------------------------------------------------


def picture(**source: Any) -> dict[str, Any]:
    return {"type": "image", "source": source}


async def test_pictures_go_with_messages_and_results(sent: Sent) -> None:
    png = picture(type="base64", media_type="image/png", data="QQ==")
    same = picture(url="data:image/png;base64,QQ==")
    question = {"role": "user", "content": [{"type": "text", "text": "See"}, png]}
    body = await sent(question, called("a"), result("a", [same]))

    assert body["messages"][0] == {"role": "user", "content": "See", "images": ["QQ=="]}
    assert body["messages"][2]["images"] == ["QQ=="]


async def test_a_picture_never_makes_us_read_a_file(sent: Sent, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"private")
    for source in ({"data": str(secret)}, {"url": str(secret)}):
        body = await sent({"role": "user", "content": [picture(**source)]})

        assert "images" not in body["messages"][0]
        assert "picture" in sent.note


async def test_a_model_that_cannot_see_gets_a_remark(sent: Sent) -> None:
    png = picture(media_type="image/png", data="QQ==")
    body = await sent({"role": "user", "content": [png]}, show=shown(9_000, "tools"))

    assert "cannot be shown" in body["messages"][0]["content"]
    assert "cannot see" in sent.note


# -- tools --------------------------------------------------------------------------------------


async def test_schemas_of_tools_go_out_whole(sent: Sent) -> None:
    body = await sent("Q", tools=[tool(), ToolSpec(name="bare", parameters={})])

    first, second = (each["function"] for each in body["tools"])
    assert first == {"name": "look", "description": "Looks.", "parameters": tool().parameters}
    assert second["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("choice", "names", "note"),
    [
        ("auto", ["look", "go"], ""),
        ("none", [], ""),
        ("required", ["look", "go"], "cannot make a model call"),
        ("go", ["go"], "cannot make a model call"),
    ],
)
async def test_a_choice_is_kept_as_far_as_that_is_possible(
    sent: Sent, choice: str, names: list[str], note: str
) -> None:
    body = await sent("Q", tools=[tool(), tool("go")], tool_choice=choice)

    assert [each["function"]["name"] for each in body.get("tools", [])] == names
    assert note in sent.note
    assert bool(note) is bool(sent.note)


async def test_tools_that_cannot_be_had_are_noted(sent: Sent) -> None:
    native = ToolSpec(name="search", parameters={}, type="google_search")
    body = await sent("Q", tools=[tool(), native])
    assert len(body["tools"]) == 1
    assert "'search'" in sent.note

    body = await sent("Q", tools=[tool()], show=shown(9_000))
    assert "tools" not in body
    assert "cannot call any" in sent.note


# -- thinking -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "effort", "config", "think", "note"),
    [
        ("qwen3", None, {}, True, ""),
        ("qwen3", None, {"enable_thinking": False}, False, ""),
        ("qwen3", "high", {"enable_thinking": False}, True, ""),
        ("qwen3", "none", {}, False, ""),
        ("gpt-oss:20b", None, {}, None, ""),
        ("gpt-oss:20b", "high", {}, "high", ""),
        ("gpt-oss:20b", "minimal", {}, "low", "'low'"),
        ("gpt-oss:20b", "none", {}, "low", "always thinks"),
    ],
)
async def test_thinking_follows_effort_config_and_model(
    sent: Sent, model: str, effort: str | None, config: dict[str, Any], think: Any, note: str
) -> None:
    body = await sent("Q", show=CAN_ALL, model=model, reasoning_effort=effort, config=config)

    assert body.get("think") == think
    assert note in sent.note
    assert bool(note) is bool(sent.note)


async def test_a_model_that_cannot_think_is_not_made_to(sent: Sent) -> None:
    body = await sent("Q", show=shown(9_000, "tools"), reasoning_effort="high")

    assert "think" not in body
    assert "cannot think" in sent.note


async def test_without_knowing_the_model_thinking_is_left_to_the_server(sent: Sent) -> None:
    assert "think" not in await sent("Q")


# -- the context --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("show", "config", "window"),
    [
        (shown(131_072), {}, 131_072),
        (shown(131_072, parameters="stop x\nnum_ctx    4096\n"), {}, 4096),
        ({"model_info": {}}, {}, 8192),
        ({"model_info": "nonsense", "capabilities": 3, "parameters": []}, {}, 8192),
        (None, {"num_ctx": "5000"}, 5000),
    ],
)
async def test_the_window_comes_from_the_config_or_the_model(
    sent: Sent, show: Any, config: dict[str, Any], window: int
) -> None:
    body = await sent("Q", show=show, config=config)

    assert body["options"]["num_ctx"] == window
    assert body["truncate"] is False


async def test_a_model_is_asked_about_once_and_then_known(
    wire: OllamaWire, server: WireServer
) -> None:
    hello = streams(*wire.text("Hi"))
    server.will(answers(200, CAN_ALL), hello, hello)
    async with desk(wire, server, num_ctx=0) as at:
        assert at.provider.get_model_info().context_window == 8192
        await at.ask("Q")
        await at.ask("Q")

        assert [each.path for each in server.heard] == ["/api/show", "/api/chat", "/api/chat"]
        assert at.provider.get_model_info().context_window == 131_072
        assert at.provider.get_info().defaults["context_window"] == 131_072


async def test_a_server_that_tells_nothing_is_asked_all_the_same(
    wire: OllamaWire, server: WireServer
) -> None:
    server.will(answers(500, {"error": "no"}), streams(*wire.text("Hi")))
    async with desk(wire, server, num_ctx=0) as at:
        await at.ask("Q")

    assert server.body["options"]["num_ctx"] == 8192


async def test_the_rest_reaches_the_server(sent: Sent) -> None:
    extra = {"options": {"top_k": 20}, "logprobs": True}
    config = {"extra_request_params": extra, "keep_alive": "10m", "max_tokens": 99}
    schema = {"type": "object", "properties": {}}
    body = await sent(
        "Q", config=config, top_p=0.5, temperature=0.0, stop=["END"],
        response_format=ResponseFormatJsonSchema(json_schema=schema),
    )  # fmt: skip

    expected = {"num_predict": 99, "top_p": 0.5, "temperature": 0, "stop": ["END"], "top_k": 20}
    assert body["options"] == {"num_ctx": 16_384, **expected}
    assert (body["keep_alive"], body["logprobs"], body["format"]) == ("10m", True, schema)

    body = await sent("Q", response_format=ResponseFormatJson())
    assert body["format"] == "json"


# -- fetching a model ---------------------------------------------------------------------------

MISSING = answers(404, {"error": "model 'llama3.2:3b' not found"})
FETCHED = streams(b'{"status": "pulling manifest"}\n', b'{"status": "success"}\n')


async def test_a_missing_model_is_fetched_if_that_is_wanted(
    wire: OllamaWire, server: WireServer
) -> None:
    server.will(MISSING, FETCHED, answers(200, CAN_ALL), streams(*wire.text("Hi")))
    async with desk(wire, server, auto_pull=True) as at:
        assert (await at.ask("Q")).content[0].text == "Hi"

    paths = ["/api/show", "/api/pull", "/api/show", "/api/chat"]
    assert [each.path for each in server.heard] == paths


async def test_a_missing_model_is_an_error_otherwise(wire: OllamaWire, server: WireServer) -> None:
    server.will(MISSING)
    async with desk(wire, server) as at:
        with pytest.raises(NotFoundError, match="not found"):
            await at.ask("Q")


async def test_a_model_that_cannot_be_fetched_is_an_error(
    wire: OllamaWire, server: WireServer
) -> None:
    server.will(MISSING, streams(b'{"error": "pull model manifest: file does not exist"}\n'))
    async with desk(wire, server, auto_pull=True) as at:
        with pytest.raises(ProviderUnavailableError, match="manifest"):
            await at.ask("Q")


async def test_it_is_mounted_even_if_the_server_is_down(wire: OllamaWire) -> None:
    async with serving() as server, desk(wire, server, base_url=free_url(), num_ctx=0) as at:
        with pytest.raises(ProviderUnavailableError):
            await at.ask("Q")
