"""The events of one model call."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.message_models import ChatRequest, ChatResponse

from .options import MOUNT_NAME

BLOCK_START = "llm:stream_block_start"
BLOCK_DELTA = "llm:stream_block_delta"
BLOCK_END = "llm:stream_block_end"
ABORTED = "llm:stream_aborted"


class Announcer:
    """Tells the listeners of a session how one call goes, from the request to its end."""

    def __init__(self, hooks: Any, model: str, request: ChatRequest) -> None:
        self._hooks = hooks
        self._request = request
        self._about = {"provider": MOUNT_NAME, "model": model, "request_id": str(uuid4())}
        self._started = time.perf_counter()
        self._shows_pieces = (request.metadata or {}).get("stream") is not False
        self._block: dict[str, Any] | None = None
        self._blocks = 0
        self._sequence = 0

    async def asked(self, raw: dict[str, Any] | None) -> None:
        instructing = ("system", "developer")
        payload = self._about | {
            "message_count": len(self._request.messages),
            "has_instructions": any(m.role in instructing for m in self._request.messages),
            "reasoning_enabled": False,
            "thinking_enabled": False,
            "thinking_budget": None,
        }
        await self._hooks.emit(LLM_REQUEST, payload if raw is None else payload | {"raw": raw})

    async def piece(self, kind: str, text: str) -> None:
        """A piece of the answer, in the block that it belongs to."""
        if not self._shows_pieces:
            return
        if self._block is None or self._block["block_type"] != kind:
            await self._start_block(kind)
        payload = (self._block or {}) | {"sequence": self._sequence, "text": text}
        self._sequence += 1
        await self._hooks.emit(BLOCK_DELTA, payload)

    async def answered(self, response: ChatResponse, timings: dict[str, Any]) -> None:
        if self._shows_pieces:
            for call in response.tool_calls or ():
                await self._start_block("tool_use", name=call.name)
            await self._end_block()
        counted = response.usage
        usage = counted.model_dump(exclude_none=True, exclude={"total_tokens"}) if counted else {}
        await self._finish({"status": "ok", "usage": usage, "timings": timings})

    async def failed(self, error: Exception) -> None:
        report = {"type": type(error).__name__, "msg": str(error)}
        if self._blocks:
            await self._hooks.emit(
                ABORTED, {"request_id": self._about["request_id"], "error": report}
            )
        await self._finish({"status": "error", "error": report})

    async def _start_block(self, kind: str, **more: str) -> None:
        await self._end_block()
        self._block = {
            "request_id": self._about["request_id"],
            "block_index": self._blocks,
            "block_type": kind,
        }
        self._blocks += 1
        self._sequence = 0
        await self._hooks.emit(BLOCK_START, self._block | more)

    async def _end_block(self) -> None:
        if self._block is not None:
            ended, self._block = self._block, None
            await self._hooks.emit(BLOCK_END, ended)

    async def _finish(self, outcome: dict[str, Any]) -> None:
        duration = round((time.perf_counter() - self._started) * 1000, 3)
        await self._hooks.emit(LLM_RESPONSE, self._about | {"duration_ms": duration} | outcome)
