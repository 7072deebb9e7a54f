"""`provider-mock`: plays a script, or canned replies, through the whole provider contract."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ContentBlockUnion,
    ToolCall,
    ToolCallBlock,
)
from amplifier_core.models import ModelInfo, ProviderInfo

from .announcing import Announcer
from .playing import Player
from .script import MODULE_ID, MockSettings, Step

__amplifier_module_type__ = "provider"


@dataclass(slots=True)
class Call:
    """One request on its way to its reply."""

    request: ChatRequest
    step: Step
    request_id: str
    is_heard: bool
    """Whether anybody listens to the events of the call."""
    started: float


class MockProvider:
    """A provider that needs no model. `requests` keeps every request it was given."""

    name = "mock"

    def __init__(self, settings: MockSettings, hooks: Any) -> None:
        self.requests: list[ChatRequest] = []
        self.priority = settings.priority
        self._settings = settings
        self._player = Player(settings)
        self._announcer = Announcer(settings, hooks)

    @property
    def call_count(self) -> int:
        return self._player.calls

    def get_info(self) -> ProviderInfo:
        limits = {
            "context_window": self._settings.context_window,
            "max_output_tokens": self._settings.max_tokens,
        }
        return ProviderInfo(
            id=self.name,
            display_name="Mock (scripted replies)",
            capabilities=["streaming", "tools"],
            defaults={"model": self._settings.default_model, **limits},
        )

    async def list_models(self) -> list[ModelInfo]:
        return [
            ModelInfo(
                id=self._settings.default_model,
                display_name="Mock",
                context_window=self._settings.context_window,
                max_output_tokens=self._settings.max_tokens,
                capabilities=["streaming", "tools"],
            )
        ]

    async def complete(self, request: ChatRequest, **_: Any) -> ChatResponse:
        """The next reply in one piece; a step with `stream` announces its pieces as well."""
        call = await self._begin(request)
        step = call.step
        try:
            if step.delay:
                await asyncio.sleep(step.delay)
            if step.is_streamed and (request.metadata or {}).get("stream") is not False:
                async for _chunk in self._pieces(call):
                    pass
            if step.error is not None:
                raise step.error.build(self.name, self._settings.default_model)
        except LLMError as error:
            await self._announcer.failed(call.request_id, call.started, error)
            raise
        return await self._end(call)

    async def stream_complete(
        self, request: ChatRequest, **_: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """The next reply in chunks; the last chunk has the finished response."""
        call = await self._begin(request)
        try:
            if call.step.delay:
                await asyncio.sleep(call.step.delay)
            async for chunk in self._pieces(call):
                yield chunk
            if call.step.error is not None:
                raise call.step.error.build(self.name, self._settings.default_model)
        except LLMError as error:
            await self._announcer.failed(call.request_id, call.started, error)
            raise
        yield {"response": await self._end(call)}

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or [])

    def assert_script_used_up(self) -> None:
        """Fail a test that did not reach the end of its script.

        Raises:
            AssertionError: the message names every step that was not played.
        """
        left = self._player.left_over()
        if left:
            raise AssertionError(f"{len(left)} scripted replies were not asked for: {left}.")

    async def _begin(self, request: ChatRequest) -> Call:
        self.requests.append(request)
        step = self._player.next(request)
        request_id = f"mock-request-{self._player.calls}"
        is_heard = self._announcer.is_heard()
        call = Call(request, step, request_id, is_heard, time.perf_counter())
        if is_heard:
            await self._announcer.asked(request_id, request)
        return call

    async def _pieces(self, call: Call) -> AsyncIterator[dict[str, Any]]:
        """The chunks of a reply, with a block's events around those that belong to it."""
        step = call.step
        blocks = self._announcer.blocks(call.request_id)
        for kind, chunks in (("thinking", [step.thinking]), ("text", step.chunks)):
            if not any(chunks):
                continue
            await blocks.start(kind)
            for chunk in chunks:
                await blocks.delta(chunk)
                yield {kind: chunk}
                if step.chunk_delay:
                    await asyncio.sleep(step.chunk_delay)
            await blocks.end()
        if step.error is not None:
            await blocks.abort(step.error.type, step.error.message)
            return
        for each in step.tool_calls:
            await blocks.start("tool_use", each.name)
            await blocks.end()

    async def _end(self, call: Call) -> ChatResponse:
        step = call.step
        calls = self._tool_calls(step) if step.tool_calls else None
        content: list[ContentBlockUnion] = [*step.blocks]
        if calls:
            content += [ToolCallBlock(id=c.id, name=c.name, input=c.arguments) for c in calls]
        response = ChatResponse(
            content=content,
            tool_calls=calls,
            usage=step.usage_for(len(call.request.messages)),
            finish_reason=step.finish_reason or ("tool_calls" if calls else "stop"),
        )
        if call.is_heard:
            await self._announcer.answered(call.request_id, call.started, response)
        return response

    def _tool_calls(self, step: Step) -> list[ToolCall]:
        """With arguments of their own: whoever runs a call may change them."""
        player = self._player
        return [
            ToolCall(id=player.call_id(each), name=each.name, arguments=deepcopy(each.arguments))
            for each in step.tool_calls
        ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    provider = MockProvider(MockSettings.read(config, MODULE_ID), coordinator.hooks)
    await coordinator.mount("providers", provider, name=provider.name)
