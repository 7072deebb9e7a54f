"""A conversation that one vendor began goes on with any other, and each accepts all of it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *map(str, sorted(HERE.parent.glob("provider_*")))]

import helpers_anthropic as anthropic  # noqa: E402
import helpers_gemini as gemini  # noqa: E402
import helpers_ollama as ollama  # noqa: E402
import helpers_openai as openai  # noqa: E402
from helpers_wire import Desk, WireServer, desk, serving, streams  # noqa: E402

pytestmark = pytest.mark.together

Json = dict[str, Any]
PORTABLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Said:
    """What a model says in one step; the thought is signed if its vendor signs."""

    thought: str
    text: str
    calls: int

    @property
    def signature(self) -> str:
        return f"sig-{self.thought}"


# -- vendors: how each one answers, and what it accepts ----------------------------------------


class Anthropic:
    name, wire = "anthropic", anthropic.AnthropicWire()

    def answer(self, said: Said) -> list[bytes]:
        blocks = [
            *anthropic.thinking_block(0, said.thought, said.signature),
            *anthropic.text_block(1, said.text),
        ]
        for n in range(said.calls):
            blocks += anthropic.call_block(2 + n, f"toolu_{said.thought}_{n}", "look", "{}")
        return [anthropic.start(), *blocks, *anthropic.end()]

    def check(self, body: Json, own: set[str]) -> None:
        messages = body["messages"]
        for message, following in zip(messages, [*messages[1:], None], strict=True):
            content = message["content"]
            assert content
            assert all(each["text"].strip() for each in content if each["type"] == "text")
            thoughts = [each for each in content if each["type"] == "thinking"]
            assert {each["signature"] for each in thoughts} <= own
            calls = [each["id"] for each in content if each["type"] == "tool_use"]
            assert all(PORTABLE.fullmatch(each) for each in calls)
            if calls:
                results = following["content"][: len(calls)]
                assert [each["tool_use_id"] for each in results] == calls


class Gemini:
    name, wire = "gemini", gemini.GeminiWire()

    def answer(self, said: Said) -> list[bytes]:
        chunks = [gemini.chunk({"text": said.thought, "thought": True}),
                  gemini.chunk({"text": said.text})]  # fmt: skip
        for n in range(said.calls):
            signed = {} if n else {"thoughtSignature": said.signature}
            chunks.append(gemini.chunk(gemini.call("look", {}, **signed)))
        return [*chunks, *gemini.end()]

    def check(self, body: Json, own: set[str]) -> None:
        turns = body["contents"]
        assert turns[0]["role"] == "user"
        for turn, following in zip(turns, [*turns[1:], None], strict=True):
            parts = turn["parts"]
            signatures = {each["thoughtSignature"] for each in parts if "thoughtSignature" in each}
            assert signatures <= own | {"skip_thought_signature_validator"}
            calls = [each for each in parts if "functionCall" in each]
            if turn["role"] == "model":
                assert following["role"] == "user"
            if calls:
                assert "thoughtSignature" in calls[0]
                results = [each["functionResponse"]["id"] for each in following["parts"]]
                assert results == [each["functionCall"]["id"] for each in calls]


class Ollama:
    name, wire = "ollama", ollama.OllamaWire()

    def answer(self, said: Said) -> list[bytes]:
        calls = [ollama.call("look", {}) for _ in range(said.calls)]
        asked = {"tool_calls": calls} if calls else {}
        return [ollama.line(thinking=said.thought), ollama.line(content=said.text, **asked),
                *ollama.end()]  # fmt: skip

    def check(self, body: Json, own: set[str]) -> None:
        messages = body["messages"]
        for position, message in enumerate(messages):
            if "thinking" in message:
                assert f"sig-{message['thinking']}" in own
            calls = [each["id"] for each in message.get("tool_calls", ())]
            following = messages[position + 1 : position + 1 + len(calls)]
            assert [each.get("tool_call_id") for each in following] == calls


class OpenAI:
    name, wire = "openai", openai.ResponsesWire()
    config: ClassVar[Json] = {"enable_response_chaining": False}

    def answer(self, said: Said) -> list[bytes]:
        ids = [f"call_{said.thought}_{n}" for n in range(said.calls)]
        parts = [
            openai.begin(),
            *openai.thought_item(0, said.thought, encrypted=said.signature),
            *openai.text_item(1, said.text),
        ]
        for n, each in enumerate(ids):
            parts += openai.call_item(2 + n, each, "look", "{}")
        thought = openai.thought(said.thought, said.signature)
        calls = [openai.called(each, "look", "{}") for each in ids]
        return [*parts, openai.end(thought, openai.said(said.text), *calls)]

    def check(self, body: Json, own: set[str]) -> None:
        items = body["input"]
        sealed = {each["encrypted_content"] for each in items if each.get("type") == "reasoning"}
        assert sealed <= own
        calls = [each["call_id"] for each in items if each.get("type") == "function_call"]
        results = [each["call_id"] for each in items if each.get("type") == "function_call_output"]
        assert calls == results
        assert all(PORTABLE.fullmatch(each) for each in calls)


class Chat:
    name, wire = "chat-completions", openai.ChatWire()

    def answer(self, said: Said) -> list[bytes]:
        deltas = [{"content": said.text}]
        for n in range(said.calls):
            function = {"name": "look", "arguments": "{}"}
            call = {"index": n, "id": f"c{said.thought}{n}", "type": "function"}
            deltas.append({"tool_calls": [{**call, "function": function}]})
        return [*map(openai.chunk, deltas), *openai.chat_end("tool_calls")]

    def check(self, body: Json, own: set[str]) -> None:
        messages = body["messages"]
        for position, message in enumerate(messages):
            calls = [each["id"] for each in message.get("tool_calls") or ()]
            following = messages[position + 1 : position + 1 + len(calls)]
            assert [each.get("tool_call_id") for each in following] == calls


VENDORS: list[Any] = [Anthropic(), Gemini(), Ollama(), OpenAI(), Chat()]


# -- the conversation ---------------------------------------------------------------------------


@dataclass
class Conversation:
    """A growing history, and what each vendor has signed in it."""

    messages: list[Any] = field(default_factory=list)
    signed: dict[str, set[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    async def step(self, vendor: Any, at: Desk, server: WireServer, said: Said) -> None:
        if not self.messages or self.messages[-1]["role"] != "tool":
            self._ask(f"question {len(self.messages)}")
        server.will(streams(*vendor.answer(said)))
        response = await at.ask(*self.messages)
        self._check(vendor, at, server.body)
        self.signed.setdefault(vendor.name, set()).add(said.signature)
        self._keep(response, said)

    def _ask(self, question: str) -> None:
        self.messages.append({"role": "user", "content": question})
        self.texts.append(question)

    def _check(self, vendor: Any, at: Desk, body: Json) -> None:
        vendor.check(body, self.signed.get(vendor.name, set()))
        written = json.dumps(body)
        assert not [each for each in self.texts if each not in written]
        assert not at.of("provider:tool_sequence_repaired")

    def _keep(self, response: Any, said: Said) -> None:
        content = [each.model_dump(exclude_none=True) for each in response.content]
        given = response.tool_calls or ()
        calls = [{"id": c.id, "tool": c.name, "arguments": c.arguments} for c in given]
        assert len(calls) == said.calls
        self.messages.append(
            {"role": "assistant", "content": content, "tool_calls": calls,
             "metadata": response.metadata}
        )  # fmt: skip
        self.texts.append(said.text)
        for call in calls:
            outcome = f"outcome {len(self.messages)}"
            result = {"role": "tool", "content": outcome, "tool_call_id": call["id"]}
            self.messages.append(result)
            self.texts.append(outcome)


STEPS = st.lists(
    st.tuples(st.integers(0, len(VENDORS) - 1), st.integers(0, 2)), min_size=2, max_size=6
)
Room = tuple[asyncio.Runner, WireServer, list[Desk]]


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    """One provider of each vendor for all conversations."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def enter() -> tuple[WireServer, list[Desk]]:
            server = await stack.enter_async_context(serving())
            desks = []
            for each in VENDORS:
                config = getattr(each, "config", {})
                desks.append(await stack.enter_async_context(desk(each.wire, server, **config)))
            return server, desks

        server, desks = runner.run(enter())
        yield runner, server, desks
        runner.run(stack.aclose())


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_a_conversation_goes_on_with_any_vendor(room: Room, steps: list[tuple[int, int]]) -> None:
    runner, server, desks = room

    async def converse() -> None:
        conversation = Conversation()
        for number, (who, calls) in enumerate(steps):
            said = Said(f"thought{number}", f"answer {number}", calls)
            await conversation.step(VENDORS[who], desks[who], server, said)

    runner.run(converse())
