"""The providers against servers that this project did not write: aimock and llama.cpp."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from amplifier_core.llm_errors import RateLimitError
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from helpers_opinions import (
    HAS_AIMOCK,
    HAS_MODEL,
    HELLO,
    PATIENT,
    PROVIDERS,
    aimock,
    model_server,
    mounted,
)

pytestmark = [
    pytest.mark.together,
    # A vendor's source has one; it is told when it is compiled, that is at the first import.
    pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning"),
]

scripted = pytest.mark.skipif(not HAS_AIMOCK, reason="aimock is missing; run `make aimock`")
real = pytest.mark.skipif(not HAS_MODEL, reason="the demo model is missing; run `make model`")
LOOK = ToolSpec(
    name="look",
    description="Looks at a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


@pytest.fixture(scope="module")
def script_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock")) as url:
        yield url


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with model_server() as url:
        yield url


def asking(*messages: Any, **fields: Any) -> ChatRequest:
    given = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return ChatRequest(messages=[Message.model_validate(each) for each in given], **fields)


def text_of(response: Any) -> str:
    return "".join(each.text for each in response.content if each.type == "text")


@scripted
@pytest.mark.slow
@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("name", PROVIDERS)
async def test_aimock_is_understood(script_url: str, name: str, is_streamed: bool) -> None:
    provider = await mounted(name, script_url, use_streaming=is_streamed)
    async with asyncio.timeout(PATIENT):
        *chunks, last = [c async for c in provider.stream_complete(asking("Say hello"))]
        await provider.close()

    assert text_of(last["response"]) == HELLO
    assert last["response"].usage.output_tokens >= 0
    assert "".join(each["text"] for each in chunks) == (HELLO if is_streamed else "")


@scripted
@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("name", PROVIDERS)
async def test_aimock_understands_a_call_and_its_result(
    script_url: str, name: str, is_streamed: bool
) -> None:
    provider = await mounted(name, script_url, use_streaming=is_streamed)
    async with asyncio.timeout(PATIENT):
        first = await provider.complete(asking("Look", tools=[LOOK]))
        (call,) = provider.parse_tool_calls(first)
        content = [each.model_dump(exclude_none=True) for each in first.content]
        past = {"role": "assistant", "content": content, "metadata": first.metadata}
        result = {"role": "tool", "tool_call_id": call.id, "content": "ä.txt: 42 bytes"}
        second = await provider.complete(asking("Look", past, result, tools=[LOOK]))
        await provider.close()

    assert (call.name, call.arguments) == ("look", {"path": "ä.txt"})
    assert first.finish_reason == "tool_calls"
    assert text_of(second) == "It has 42 bytes."


@scripted
@pytest.mark.parametrize("name", [each for each in PROVIDERS if each != "ollama"])
async def test_thoughts_of_aimock_are_shown(script_url: str, name: str) -> None:
    provider = await mounted(name, script_url)
    async with asyncio.timeout(PATIENT):
        response = await provider.complete(asking("Think"))
        await provider.close()

    assert [each.type for each in response.content] == ["thinking", "text"]
    assert response.content[0].thinking == "Let me think."


@scripted
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_refusal_of_aimock_is_typed(script_url: str, name: str) -> None:
    provider = await mounted(name, script_url)
    async with asyncio.timeout(PATIENT):
        with pytest.raises(RateLimitError, match="Slow down"):
            await provider.complete(asking("Too much"))
        await provider.close()


@real
@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "chat-completions", "openai"])
async def test_a_real_model_answers(model_url: str, name: str) -> None:
    provider = await mounted(name, model_url, default_model="demo", max_tokens=8)
    async with asyncio.timeout(PATIENT):
        request = asking("Say one word.", max_output_tokens=8)
        *chunks, last = [c async for c in provider.stream_complete(request)]
        await provider.close()

    response = last["response"]
    shown = "".join(each.get("text", "") for each in chunks)
    assert shown == text_of(response) != ""
    assert 0 < response.usage.output_tokens <= 8
    assert response.finish_reason in ("stop", "length")
