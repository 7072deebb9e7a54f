"""The events of one call, from the request to its end."""

from __future__ import annotations

import json
import os
import time
from typing import Any
from uuid import uuid4

from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatResponse, Usage
from amplifier_core.utils.truncate import redact_secrets
from pydantic import SecretStr

from amplifier_modules.providing.keys import without_key
from amplifier_modules.providing.limits import Gate
from amplifier_modules.providing.pieces import Delta, Ended, Opened, Piece, Plan, Started

BLOCK_START = "llm:stream_block_start"
BLOCK_DELTA = "llm:stream_block_delta"
BLOCK_END = "llm:stream_block_end"
ABORTED = "llm:stream_aborted"
RETRY = "provider:retry"
CONCURRENCY = "provider:concurrency"
REPAIRED = "provider:tool_sequence_repaired"
OWN_EVENTS = [BLOCK_START, BLOCK_DELTA, BLOCK_END, ABORTED, RETRY, CONCURRENCY, REPAIRED]


class Announcer:
    """Tells the listeners of a session how one call goes."""

    def __init__(
        self, hooks: Any, provider: str, key: SecretStr | None, *, shows_raw: bool
    ) -> None:
        self._emit = hooks.emit
        self._key = key
        self._shows_raw = shows_raw
        self._provider = provider
        self._model = ""
        self._request_id = str(uuid4())
        self._started = time.perf_counter()
        self._opened = Opened()
        self._block: dict[str, Any] = {}
        self._sequence = 0
        self._has_shown = False

    async def asked(self, plan: Plan, message_count: int) -> None:
        payload = self._about(plan.model) | {
            "message_count": message_count,
            "has_instructions": plan.has_instructions,
            "reasoning_enabled": plan.is_reasoning,
            "thinking_enabled": plan.is_reasoning,
            "thinking_budget": plan.thinking_budget,
        }
        await self._emit(LLM_REQUEST, payload | self._raw(plan.body))

    async def piece(self, piece: Piece) -> None:
        """One piece of a streamed answer; pieces without text are not announced."""
        if isinstance(piece, Opened):
            self._opened = piece
        elif isinstance(piece, Started):
            await self._start(piece)
        elif isinstance(piece, Ended):
            await self._emit(BLOCK_END, dict(self._block))
        elif isinstance(piece, Delta) and piece.text:
            payload = self._block | {"sequence": self._sequence, "text": piece.text}
            self._sequence += 1
            self._has_shown = True
            await self._emit(BLOCK_DELTA, payload)

    async def answered(self, response: ChatResponse, model: str, raw: Any) -> None:
        outcome: dict[str, Any] = {"status": "ok", "usage": _shown_usage(response.usage)}
        await self._finish(model, outcome | self._raw(raw))

    async def failed(self, error: LLMError) -> None:
        await self.aborted(error)
        outcome = {"status": "error", "error": self._error(error)}
        await self._finish(error.model or self._model, outcome)

    async def aborted(self, error: LLMError) -> bool:
        """Take back what was shown, and say whether that was anything."""
        had_shown = self._has_shown
        if had_shown:
            payload = {"request_id": self._request_id, "error": self._error(error)}
            await self._emit(ABORTED, payload)
        self._forget_blocks()
        return had_shown

    async def retrying(self, attempt: int, most: int, delay: float, error: LLMError) -> None:
        payload = self._about(error.model or self._model) | {
            "attempt": attempt,
            "max_retries": most,
            "delay": delay,
            "retry_after": error.retry_after,
            "error_type": type(error).__name__,
            "error_message": without_key(str(error), self._key),
        }
        await self._emit(RETRY, payload)

    async def waiting(self, model: str, gate: Gate, most: int) -> None:
        payload = self._about(model) | {
            "active_requests": gate.active,
            "waiting_requests": gate.waiting,
            "max_concurrent": most,
            "process_id": os.getpid(),
        }
        await self._emit(CONCURRENCY, payload)

    async def repaired(self, repairs: list[dict[str, Any]]) -> None:
        payload = {"provider": self._provider, "repair_count": len(repairs), "repairs": repairs}
        await self._emit(REPAIRED, payload)

    async def _start(self, piece: Started) -> None:
        self._sequence = 0
        self._block = {
            "request_id": self._request_id,
            "block_index": self._block.get("block_index", -1) + 1,
            "block_type": piece.kind,
        }
        named = {} if piece.name is None else {"name": piece.name}
        await self._emit(BLOCK_START, self._block | named)

    def _forget_blocks(self) -> None:
        self._block = {}
        self._sequence = 0
        self._has_shown = False

    def _about(self, model: str) -> dict[str, Any]:
        self._model = model
        return {"provider": self._provider, "model": model, "request_id": self._request_id}

    def _error(self, error: LLMError) -> dict[str, str]:
        return {"type": type(error).__name__, "msg": without_key(str(error), self._key)}

    async def _finish(self, model: str, outcome: dict[str, Any]) -> None:
        duration = round((time.perf_counter() - self._started) * 1000, 3)
        payload = self._about(model) | {"duration_ms": duration} | outcome
        if self._opened.rate_limits:
            payload["rate_limits"] = dict(self._opened.rate_limits)
        await self._emit(LLM_RESPONSE, payload)

    def _raw(self, value: Any) -> dict[str, Any]:
        if not self._shows_raw:
            return {}
        written = without_key(json.dumps(value, default=str), self._key)
        return {"raw": redact_secrets(_opened(json.loads(written)))}


def _opened(value: Any) -> Any:
    """`value` with the JSON in its texts read, where secrets would not be found otherwise."""
    if isinstance(value, dict):
        return {key: _opened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_opened(each) for each in value]
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _shown_usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0, "cost_usd": None}
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    counts = {name: getattr(usage, name) for name in names}
    shown = {name: count for name, count in counts.items() if count is not None}
    return shown | {"cost_usd": None if usage.cost_usd is None else str(usage.cost_usd)}
