"""Runs the tool calls of one response. Whatever a tool does, each call gets one answer."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.message_models import ToolCall
from amplifier_core.models import ToolResult

from .calls import RunningCall
from .schedule import touched, waits
from .watch import Wait

if TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger(__name__)


class ToolCalls:
    """The calls of one response, while they run."""

    def __init__(self, turn: Turn, calls: list[ToolCall]) -> None:
        self._turn = turn
        self._calls = calls
        self._group = _new_group_id()
        self.answers: dict[str, Any] = {}
        """Message content by call id, for the calls that are over."""

    async def run(self) -> None:
        """Run all calls: side by side up to the cap, those that share a file in order."""
        if len(self._calls) == 1:
            await self._run(self._calls[0])
        else:
            await self._run_together()

    async def _run_together(self) -> None:
        order = waits([self._touched(call) for call in self._calls])
        free = asyncio.Semaphore(self._turn.settings.max_parallel_tools)
        tasks: list[asyncio.Task[None]] = []

        async def in_order(call: ToolCall, earlier: list[int]) -> None:
            for index in earlier:
                await asyncio.wait([tasks[index]])
            async with free:
                await self._run(call)

        for call, earlier in zip(self._calls, order, strict=True):
            tasks.append(asyncio.create_task(in_order(call, earlier)))
        try:
            await asyncio.gather(*tasks)
        finally:
            # Also when this task was cancelled, or a hook ended the process: none stays behind.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _touched(self, call: ToolCall) -> Any:
        base = self._turn.capability("session.working_dir") or Path.cwd()
        return touched(self._turn.tools.get(call.name), call.arguments, PurePath(base))

    async def _run(self, call: ToolCall) -> None:
        cancellation = self._turn.cancellation
        if cancellation is not None:
            cancellation.register_tool_start(call.id, _display_name(call))
        try:
            with RunningCall(self._turn.coordinator, call.id, self._group):
                self.answers[call.id] = await self._answer(call)
        finally:
            if cancellation is not None:
                cancellation.register_tool_complete(call.id)

    async def _answer(self, call: ToolCall) -> Any:
        about = {
            "tool_name": call.name,
            "tool_input": call.arguments,
            "tool_call_id": call.id,
            "parallel_group_id": self._group,
        }
        call, refusal = await self._turn.loop.select(self._turn, call, about)
        if refusal is not None:
            return refusal
        verdict = await self._turn.ask(TOOL_PRE, about)
        if verdict.action == "deny":
            return f"Denied by hook: {verdict.reason or 'no reason given'}"
        changed = (verdict.data or {}).get("tool_input")
        if isinstance(changed, dict) and changed is not call.arguments:
            about["tool_input"] = changed
        result = await self._result(call, about)
        return await self._posted(result, about)

    async def _result(self, call: ToolCall, about: dict[str, Any]) -> Any:
        """What the tool returned, or a failed result that says what went wrong."""
        tool = self._turn.tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._turn.tools)) or "none"
            message = f"Tool '{call.name}' not found. Available tools: {known}."
            return await self._failed(about, {"type": "ToolNotFound", "msg": message}, message)
        try:
            return await self._in_time(tool.execute(about["tool_input"]))
        except Exception as error:
            text = str(error) or type(error).__name__
            logger.debug("Tool %r raised", call.name, exc_info=error)
            details = {"type": type(error).__name__, "msg": text}
            return await self._failed(about, details, f"Error executing tool: {text}")

    async def _in_time(self, work: Awaitable[Any]) -> Any:
        limit = self._turn.settings.tool_timeout
        if not limit:
            return await work
        with Wait(self._turn.watch, limit):
            return await work

    async def _failed(
        self, about: dict[str, Any], error: dict[str, Any], message: str
    ) -> ToolResult:
        result = ToolResult(success=False, output=message, error={"message": message, **error})
        # The result rides along: it says that this call's `tool:post` is still to come.
        payload = {**about, "error": error, "result": _shown(result)}
        await self._turn.hooks.emit(TOOL_ERROR, payload)
        await self._turn.loop.tool_failed(self._turn, about, error)
        return result

    async def _posted(self, result: Any, about: dict[str, Any]) -> Any:
        """Tell the hooks, and take the result as they leave it."""
        shown = _shown(result)
        verdict = await self._turn.ask(TOOL_POST, {**about, "result": shown})
        self._turn.injections.add(verdict)
        posted = (verdict.data or {}).get("result", shown)
        if posted is not shown and posted != shown:
            return (
                json.dumps(posted, default=str) if isinstance(posted, dict | list) else str(posted)
            )
        return _content(result)


def _new_group_id() -> str:
    """A random UUID. `uuid4()` takes four times as long, and every step needs one."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def cancelled_answer(call: ToolCall) -> str:
    """What stands in for the result of a call that was cut off."""
    return json.dumps(
        {"error": "The tool call was cancelled.", "cancelled": True, "tool": call.name}
    )


def _display_name(call: ToolCall) -> str:
    agent = call.arguments.get("agent") if call.name == "delegate" else None
    return agent if isinstance(agent, str) else call.name


def _shown(result: Any) -> Any:
    """A result as events carry it: plain data, never the bytes of pictures."""
    present = getattr(result, "safe_hook_presentation", None)
    if present is not None:
        return present()
    dump = getattr(result, "model_dump", None)
    return dump() if dump is not None else result


def _content(result: Any) -> Any:
    """A result as the model reads it: text, or text and pictures."""
    serialize = getattr(result, "get_serialized_output", None)
    text = serialize() if serialize is not None else _as_text(result)
    blocks = getattr(result, "content", None)
    if not isinstance(blocks, list) or not blocks:
        return text
    return [_plain(block) for block in blocks]


def _plain(block: Any) -> Any:
    return block if isinstance(block, dict) else block.model_dump(exclude_none=True)


def _as_text(result: Any) -> str:
    if isinstance(result, dict | list):
        return json.dumps(result, default=str)
    return "Success" if result is None else str(result)
