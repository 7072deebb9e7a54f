"""`loop-streaming`: like loop-basic, and the answer is shown while it is being made.

A provider with `stream_complete` is streamed from, tool calls included. Others answer in one
piece, which is then shown word by word if `stream_delay` asks for it.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from amplifier_core.llm_errors import LLMTimeoutError, StreamError
from amplifier_core.message_models import ChatRequest

from amplifier_modules.loops.basic import BasicLoop
from amplifier_modules.loops.goal import GOAL_PROGRESS, NO_GOAL, Pursuit, goal_of
from amplifier_modules.loops.options import StreamingSettings
from amplifier_modules.loops.replies import text_of
from amplifier_modules.loops.steering import Steering
from amplifier_modules.loops.turn import Turn
from amplifier_modules.loops.watch import FOREVER, Wait

__amplifier_module_type__ = "orchestrator"

PROVIDER_STREAM = "provider:stream"
STEERING_INJECTED = "orchestrator:steering_injected"
RATE_LIMIT_DELAY = "orchestrator:rate_limit_delay"
OWN_EVENTS = [PROVIDER_STREAM, STEERING_INJECTED, RATE_LIMIT_DELAY, GOAL_PROGRESS]

_WORDS = re.compile(r"\S+\s*|\s+")


class StreamingLoop(BasicLoop):
    """Streams, can be steered in mid-turn, and keeps a pause between model calls."""

    name = "loop-streaming"
    answers_without_provider = True
    first_iteration = 1
    settings: StreamingSettings

    def __init__(self, coordinator: Any, settings: StreamingSettings) -> None:
        super().__init__(coordinator, settings)
        self.steering = Steering()
        self._pursuit: Pursuit | None = None
        self._last_call_ended: float | None = None

    async def run(self, turn: Turn) -> str:
        self._pursuit = None
        answer = await turn.run()
        return answer if self._pursuit is None else await self._pursuit.go_on(turn, answer)

    async def turn_starts(self, turn: Turn) -> None:
        if self._pursuit is None:
            self.steering.clear()

    async def before_step(self, turn: Turn) -> None:
        while len(self.steering):
            text = self.steering.take()
            await turn.context.add_message(
                {"role": "user", "content": text, "metadata": {"source": "steering"}}
            )
            payload = {
                "orchestrator": self.name,
                "content": text,
                "iteration": turn.iteration,
                "queued_remaining": len(self.steering),
                "metadata": {"source": "steering"},
            }
            await turn.hooks.emit(STEERING_INJECTED, payload)
        await self._keep_pace(turn)

    async def _keep_pace(self, turn: Turn) -> None:
        configured = self.settings.min_delay_between_calls_ms
        if not configured or self._last_call_ended is None:
            return
        elapsed = (time.monotonic() - self._last_call_ended) * 1000
        delay = configured - elapsed
        if delay > 0:
            payload = {
                "delay_ms": delay,
                "configured_ms": configured,
                "elapsed_ms": elapsed,
                "iteration": turn.iteration,
            }
            await turn.hooks.emit(RATE_LIMIT_DELAY, payload)
            await asyncio.sleep(delay / 1000)

    async def complete(self, turn: Turn, request: ChatRequest) -> Any:
        try:
            if hasattr(turn.provider, "stream_complete"):
                return await self._stream(turn, request)
            response = await super().complete(turn, request)
        finally:
            self._last_call_ended = time.monotonic()
        await self._show_words(turn, response)
        return response

    async def _complete_aside(self, turn: Turn, provider: Any, request: ChatRequest) -> Any:
        """Ask a model about the conversation: nothing of it is shown."""
        await self._keep_pace(turn)
        try:
            return await provider.complete(request, extended_thinking=False)
        finally:
            self._last_call_ended = time.monotonic()

    async def _stream(self, turn: Turn, request: ChatRequest) -> Any:
        """Pass every chunk on; the last one brings the finished response."""
        name, limit = turn.provider_name, self.settings.stream_idle_timeout
        stream = turn.provider.stream_complete(request, **self.options)
        try:
            with Wait(turn.watch, limit or FOREVER, turn.watch.task) as wait:
                response = await self._pass_on(turn, stream, wait)
        except TimeoutError as error:
            text = f"The stream of provider {name!r} was silent for {limit:g} s."
            raise LLMTimeoutError(text, provider=name) from error
        finally:
            # An async generator that is left in the middle would wait for the garbage collector.
            if hasattr(stream, "aclose"):
                await stream.aclose()
        if response is None and not turn.must_stop:
            text = f"The stream of provider {name!r} ended without a response."
            raise StreamError(text, provider=name)
        return response

    async def _pass_on(self, turn: Turn, stream: Any, wait: Wait) -> Any:
        response: Any = None
        emit, token = turn.hooks.emit, turn.cancellation
        async for chunk in stream:
            wait.silent_since = FOREVER  # however long the listeners take
            if "response" in chunk:
                response = chunk["response"]
            await emit(PROVIDER_STREAM, {"chunk": chunk})
            if token is not None and token.is_immediate:
                break
            wait.silent_since = None
        return response

    async def _show_words(self, turn: Turn, response: Any) -> None:
        text = text_of(getattr(response, "content", None))
        delay = self.settings.stream_delay
        for piece in _WORDS.findall(text) if delay else [text] if text else []:
            if turn.must_stop:
                return
            await turn.hooks.emit(PROVIDER_STREAM, {"chunk": {"text": piece}})
            await asyncio.sleep(delay)

    def wants_to_go_on(self) -> bool:
        return len(self.steering) > 0

    async def turn_ends(self, turn: Turn, text: str) -> None:
        if self._pursuit is None and goal_of(turn) is not None:
            self._pursuit = Pursuit(self.settings, self._complete_aside)
        turn.extra = NO_GOAL
        if self._pursuit is not None:
            await self._pursuit.turn_ended(turn)
        if self._pursuit is None or not self._pursuit.goes_on:
            self.steering.clear()


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    loop = StreamingLoop(coordinator, StreamingSettings.read(config, StreamingLoop.name))
    coordinator.register_capability("session.steer", loop.steering.steer)
    coordinator.register_contributor("observability.events", loop.name, lambda: OWN_EVENTS)
    await coordinator.mount("orchestrator", loop)
