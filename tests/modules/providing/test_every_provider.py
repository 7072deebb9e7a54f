"""What holds for every provider, also for those without a remote API: mock and local."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.message_models import ChatResponse, ToolSpec
from amplifier_core.models import HookResult
from amplifier_core.testing import MockCoordinator
from helpers_anthropic import AnthropicWire
from helpers_openai import WIRES
from helpers_opinions import HAS_MODEL, PATIENT
from helpers_wire import Wire, asking, desk, serving, streams

from amplifier_modules.local.provider import mount as mount_local
from amplifier_modules.mock.provider import mount as mount_mock

pytestmark = pytest.mark.together

LOOK = ToolSpec(
    name="look",
    description="Looks at a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "enum": ["a", "b"]}},
        "required": ["path"],
    },
)
Config = dict[str, Any]


class Stage:
    """A provider that says, or calls, and what its session was told."""

    def __init__(self, coordinator: MockCoordinator, provider: Any) -> None:
        self.provider = provider
        self.told: list[tuple[str, dict[str, Any]]] = []
        for event in (LLM_REQUEST, LLM_RESPONSE):
            coordinator.hooks.register(event, self._listen)

    async def _listen(self, event: str, data: dict[str, Any]) -> HookResult:
        self.told.append((event, data))
        return HookResult(action="continue")


@asynccontextmanager
async def on_wire(wire: Wire, config: Config) -> AsyncIterator[Stage]:
    async with serving() as server:
        call = streams(*wire.call("call_1", "look", '{"path": "a"}'))
        says = streams(*wire.text("Hello", " you"))
        server.will(*([call] if config.pop("calls", False) else [says] * 2))
        async with desk(wire, server, **config) as at:
            yield Stage(at.coordinator, at.provider)


@asynccontextmanager
async def on_mock(config: Config) -> AsyncIterator[Stage]:
    call = {"tool_calls": [{"name": "look", "arguments": {"path": "a"}}]}
    says = {"text": "Hello you"}
    script = [call] if config.pop("calls", False) else [says] * 2
    coordinator = MockCoordinator()
    await mount_mock(coordinator, {"script": script, **config})
    yield Stage(coordinator, coordinator.get("providers", "mock"))


@asynccontextmanager
async def on_local(config: Config) -> AsyncIterator[Stage]:
    coordinator = MockCoordinator()
    config.pop("calls", None)
    await mount_local(coordinator, {"context_window": 1024, "max_tokens": 48, **config})
    yield Stage(coordinator, coordinator.get("providers", "local"))


def _stages() -> list[Any]:
    remote = [AnthropicWire, *WIRES.values()]
    no_model = pytest.mark.skipif(not HAS_MODEL, reason="no demo model; run `make model`")
    return [
        *(
            pytest.param(lambda config, wire=wire: on_wire(wire(), config), id=wire.mount_name)
            for wire in remote
        ),
        pytest.param(on_mock, id="mock"),
        pytest.param(on_local, id="local", marks=[no_model, pytest.mark.slow]),
    ]


@pytest.fixture(params=_stages())
def stage(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda **config: request.param(config)


def text_of(response: ChatResponse) -> str:
    return "".join(each.text for each in response.content if each.type == "text")


async def test_chunks_add_up_to_the_response_that_comes_last(stage: Callable[..., Any]) -> None:
    async with stage() as at, asyncio.timeout(PATIENT):
        *chunks, last = [c async for c in at.provider.stream_complete(asking("Say hello."))]

    assert len(chunks) > 1
    assert "".join(each.get("text", "") for each in chunks) == text_of(last["response"]) != ""


async def test_a_whole_answer_tells_its_usage_and_how_it_ended(stage: Callable[..., Any]) -> None:
    async with stage() as at, asyncio.timeout(PATIENT):
        response = await at.provider.complete(asking("Say hello."))

    assert text_of(response)
    assert response.finish_reason in ("stop", "length")
    usage = response.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > 0


async def test_a_session_hears_of_the_request_and_of_its_end(stage: Callable[..., Any]) -> None:
    async with stage() as at, asyncio.timeout(PATIENT):
        await at.provider.complete(asking("Say hello."))

        (asked, request), (answered, response) = at.told
        assert (asked, answered) == (LLM_REQUEST, LLM_RESPONSE)
        assert request["provider"] == response["provider"] == at.provider.name
        assert request["message_count"] == 1
        assert response["status"] == "ok"
        assert {"input_tokens", "output_tokens"} <= response["usage"].keys()
        assert not {"input", "output", "total_tokens"} & response["usage"].keys()


async def test_a_call_has_an_id_and_arguments(stage: Callable[..., Any]) -> None:
    async with stage(calls=True) as at, asyncio.timeout(PATIENT):
        request = asking("Look at a.", tools=[LOOK], tool_choice="required")
        response = await at.provider.complete(request)
        (call,) = at.provider.parse_tool_calls(response)

    assert call.id
    assert call.name == "look"
    assert call.arguments["path"] in ("a", "b")
    assert response.finish_reason == "tool_calls"


async def test_leaving_a_stream_early_does_no_harm(stage: Callable[..., Any]) -> None:
    async with stage() as at, asyncio.timeout(PATIENT):
        stream = at.provider.stream_complete(asking("Say hello."))
        await anext(stream)
        await stream.aclose()

        assert text_of(await at.provider.complete(asking("Say hello.")))


async def test_it_tells_contexts_its_limits_and_loops_its_priority(
    stage: Callable[..., Any],
) -> None:
    async with stage(priority=7) as at:
        info = at.provider.get_info()

        assert info.id == at.provider.name
        assert info.defaults["context_window"] > info.defaults["max_output_tokens"] > 0
        assert at.provider.priority == 7


async def test_a_misspelt_key_is_an_error(stage: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="Did you mean 'default_model'"):
        async with stage(default_modell="x"):
            pass
