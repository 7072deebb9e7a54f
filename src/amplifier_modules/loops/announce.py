"""What a turn tells the hooks about itself, without asking for anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from amplifier_core.events import (
    CANCEL_COMPLETED,
    CANCEL_REQUESTED,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    EXECUTION_END,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROVIDER_ERROR,
    PROVIDER_RESPONSE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import LLMError

from amplifier_modules.loops.replies import Reply, block_type
from amplifier_modules.loops.results import said

if TYPE_CHECKING:
    from amplifier_modules.loops.turn import Turn

PREVIEW_LENGTH = 200

_EMIT = HookRegistry.emit


def unheard_by(hooks: Any) -> Callable[..., bool]:
    """The registry's `unheard(event, data)`, which tells that an event need not be emitted.

    Registries without it, and those whose `emit` is not the kernel's, hear everything.
    """
    is_plain = getattr(hooks.emit, "__func__", None) is _EMIT
    return getattr(hooks, "unheard", _never) if is_plain else _never


def _never(event: str, data: Any = None) -> bool:
    return False


async def reply_came(turn: Turn, reply: Reply) -> None:
    """The response as a whole, then its blocks."""
    emit, usage = turn.hooks.emit, reply.usage
    if not turn.unheard(PROVIDER_RESPONSE, {"usage": usage}):
        payload = {
            "provider": turn.provider_name,
            "usage": usage,
            "tool_calls": bool(reply.calls),
            "iteration": turn.iteration - 1,
        }
        await emit(PROVIDER_RESPONSE, payload)
    if not reply.blocks or (turn.unheard(CONTENT_BLOCK_START) and turn.unheard(CONTENT_BLOCK_END)):
        return
    total = len(reply.blocks)
    for index, block in enumerate(reply.blocks):
        place = {"block_index": index, "total_blocks": total}
        await emit(CONTENT_BLOCK_START, {"block_type": block_type(block), **place})
        end = {**place, "block": block}
        if usage is not None and index == total - 1:
            end["usage"] = usage
        await emit(CONTENT_BLOCK_END, end)


async def call_failed(
    turn: Turn, error: BaseException, about: dict[str, Any] | None = None
) -> None:
    """That a model call failed; `about` tells which, if it was not one of the turn's own."""
    details = {"type": type(error).__name__, "msg": said(error)}
    payload = {**(about or {"provider": turn.provider_name}), "error": details}
    if isinstance(error, LLMError):
        payload["retryable"] = error.retryable
        payload["status_code"] = error.status_code
    await turn.hooks.emit(PROVIDER_ERROR, payload)


async def cancelled(turn: Turn, is_first_time: bool) -> None:
    """That the turn is stopped; the token's callbacks run at the first time."""
    token = turn.cancellation
    # A task can be cancelled although nobody has asked the session to stop.
    state = str(token.state) if token is not None and token.is_cancelled else "immediate"
    common = {"orchestrator": turn.loop.name, "turn_count": turn.model_calls}
    if is_first_time:
        await turn.hooks.emit(CANCEL_REQUESTED, {**common, "state": state})
        if token is not None:
            await token.trigger_callbacks()
    payload = {**common, "was_immediate": state == "immediate"}
    await turn.hooks.emit(CANCEL_COMPLETED, payload)


async def answered(turn: Turn) -> None:
    text = turn.text
    payload = {"response": text, "response_preview": text[:PREVIEW_LENGTH], "length": len(text)}
    await turn.hooks.emit(PROMPT_COMPLETE, payload)


async def execution_ended(turn: Turn) -> None:
    ended_as = "completed" if turn.status in ("success", "incomplete") else turn.status
    await turn.hooks.emit(EXECUTION_END, {"response": turn.text, "status": ended_as})


async def turn_completed(turn: Turn) -> None:
    payload = {
        "orchestrator": turn.loop.name,
        "turn_count": turn.model_calls,
        "status": turn.status,
        **turn.extra,
    }
    await turn.hooks.emit(ORCHESTRATOR_COMPLETE, payload)
