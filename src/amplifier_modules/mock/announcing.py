"""The events of a model call. None is put together unless somebody listens to it."""

from __future__ import annotations

import time
from typing import Any

from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.message_models import ChatRequest, ChatResponse

from .script import MockSettings

BLOCK_START = "llm:stream_block_start"
BLOCK_DELTA = "llm:stream_block_delta"
BLOCK_END = "llm:stream_block_end"
ABORTED = "llm:stream_aborted"


class Announcer:
    """Tells the listeners of one session what its mock does."""

    def __init__(self, settings: MockSettings, hooks: Any) -> None:
        self._hooks = hooks
        self._model = settings.default_model
        self._extras = [
            kind for kind, wanted in (("debug", settings.debug), ("raw", settings.raw_debug))
            if wanted
        ]  # fmt: skip

    def is_heard(self) -> bool:
        """Whether a call is worth announcing."""
        return bool(self._extras) or self._has_listener(LLM_REQUEST, LLM_RESPONSE)

    async def asked(self, request_id: str, request: ChatRequest) -> None:
        payload = self._about(request_id) | {
            "message_count": len(request.messages),
            "has_instructions": any(each.role == "system" for each in request.messages),
            "reasoning_enabled": False,
            "thinking_enabled": False,
            "thinking_budget": None,
        }
        await self._hooks.emit(LLM_REQUEST, payload)
        for kind in self._extras:
            payload = self._about(request_id) | {"request": request.model_dump(exclude_none=True)}
            await self._hooks.emit(f"{LLM_REQUEST}:{kind}", payload)

    async def answered(self, request_id: str, started: float, response: ChatResponse) -> None:
        counted = response.usage
        usage = counted.model_dump(exclude_none=True, exclude={"total_tokens"}) if counted else {}
        payload = self._outcome(request_id, started) | {
            "usage": {**usage, "cost_usd": None},
            "status": "ok",
        }
        await self._hooks.emit(LLM_RESPONSE, payload)
        for kind in self._extras:
            shown = {"response": response.model_dump(exclude_none=True)}
            await self._hooks.emit(f"{LLM_RESPONSE}:{kind}", self._about(request_id) | shown)

    async def failed(self, request_id: str, started: float, error: Exception) -> None:
        payload = self._outcome(request_id, started) | {
            "status": "error",
            "error": {"type": type(error).__name__, "msg": str(error)},
        }
        await self._hooks.emit(LLM_RESPONSE, payload)

    def blocks(self, request_id: str) -> Blocks:
        heard = self._has_listener(BLOCK_START, BLOCK_DELTA, BLOCK_END, ABORTED)
        return Blocks(self._hooks, request_id) if heard else _UNHEARD

    def _has_listener(self, *events: str) -> bool:
        # Cheaper than an emit that reaches nobody, which would come once per streamed word.
        listed = self._hooks.list_handlers
        return any(listed(event).get(event) for event in (*events, "*"))

    def _about(self, request_id: str) -> dict[str, Any]:
        return {"provider": "mock", "model": self._model, "request_id": request_id}

    def _outcome(self, request_id: str, started: float) -> dict[str, Any]:
        duration = round((time.perf_counter() - started) * 1000, 3)
        return self._about(request_id) | {"duration_ms": duration}


class Blocks:
    """Announces the blocks of one streamed reply, one after the other."""

    def __init__(self, hooks: Any, request_id: str) -> None:
        self._hooks = hooks
        self._request_id = request_id
        self._block: dict[str, Any] = {"block_index": -1}
        self._sequence = 0
        self._has_shown = False

    async def start(self, kind: str, name: str | None = None) -> None:
        self._sequence = 0
        self._block = {
            "request_id": self._request_id,
            "block_index": self._block["block_index"] + 1,
            "block_type": kind,
        }
        named = {} if name is None else {"name": name}
        await self._hooks.emit(BLOCK_START, self._block | named)

    async def delta(self, text: str) -> None:
        payload = self._block | {"sequence": self._sequence, "text": text}
        self._sequence += 1
        self._has_shown = True
        await self._hooks.emit(BLOCK_DELTA, payload)

    async def end(self) -> None:
        await self._hooks.emit(BLOCK_END, dict(self._block))

    async def abort(self, kind: str, message: str) -> None:
        """Take back what was shown, if anything was."""
        if self._has_shown:
            error = {"type": kind, "msg": message}
            await self._hooks.emit(ABORTED, {"request_id": self._request_id, "error": error})


class _Unheard(Blocks):
    """Stands in when nobody listens."""

    def __init__(self) -> None:
        super().__init__(None, "")

    async def start(self, kind: str, name: str | None = None) -> None:
        return

    async def delta(self, text: str) -> None:
        return

    async def end(self) -> None:
        return

    async def abort(self, kind: str, message: str) -> None:
        return


_UNHEARD = _Unheard()
