"""Runs the tool calls of one response. Whatever a tool does, each call gets one answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.message_models import ToolCall

from amplifier_modules.loops import results
from amplifier_modules.loops.calls import Task
from amplifier_modules.loops.schedule import touched, waits
from amplifier_modules.loops.watch import FOREVER, Wait, being_cancelled, to_the_end

if TYPE_CHECKING:
    from amplifier_modules.loops.turn import Turn

logger = logging.getLogger(__name__)


class ToolCalls:
    """The calls of one response, while they run."""

    __slots__ = ("_calls", "_group", "_turn", "answers", "later")

    def __init__(self, turn: Turn, calls: list[ToolCall]) -> None:
        self._turn = turn
        self._calls = calls
        self._group = turn.dispatch.new_group()
        self.answers: dict[str, Any] = {}
        """Message content by call id, for the calls that are over."""
        self.later: dict[str, list[tuple[str, Any]]] = {}
        """What hooks injected, by call id and event.

        It has to wait: nothing may be stored between a call and its result.
        """

    @property
    def injections(self) -> list[tuple[str, Any]]:
        """The same in the order of the calls."""
        return [each for call in self._calls for each in self.later.get(call.id, ())]

    def run(self) -> Coroutine[Any, Any, None]:
        """Run all calls: side by side up to the cap, those that share a file in order."""
        if len(self._calls) == 1:
            return self._run(self._calls[0], self._turn.watch.task)
        together = self._turn.settings.most_parallel_tools > 1
        return self._run_together() if together else self._run_in_order()

    async def _run_in_order(self) -> None:
        for call in self._calls:
            await self._run(call, self._turn.watch.task)

    async def _run_together(self) -> None:
        base = PurePath(self._turn.capability("session.working_dir") or Path.cwd())
        tools = self._turn.tools
        order = waits([touched(tools.get(c.name), c.arguments, base) for c in self._calls])
        free = asyncio.Semaphore(self._turn.settings.most_parallel_tools)
        tasks: list[asyncio.Task[None]] = []

        async def in_order(call: ToolCall, earlier: list[int]) -> None:
            for index in earlier:
                await asyncio.wait([tasks[index]])
            async with free:
                await self._run(call, asyncio.current_task())

        for call, earlier in zip(self._calls, order, strict=True):
            tasks.append(asyncio.create_task(in_order(call, earlier)))
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await to_the_end(asyncio.wait(tasks))
            raise

    async def _run(self, call: ToolCall, task: Task) -> None:
        token, dispatch = self._turn.cancellation, self._turn.dispatch
        call_id, name, arguments = call.id, call.name, call.arguments
        about = {
            "tool_name": name,
            "tool_input": arguments,
            "tool_call_id": call_id,
            "parallel_group_id": self._group,
        }
        if token is not None:
            token.register_tool_start(call_id, _display_name(name, arguments))
        entered = dispatch.enter(task, call_id, self._group)
        try:
            self.answers[call_id] = await self._answer(call, about, task)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and being_cancelled():
                raise
            # Not the tool's failure: a hook's wish that cannot be carried out, for example.
            logger.exception("A call of tool %r could not be made", name)
            self.answers[call_id] = f"The call could not be made: {results.said(error)}"
        finally:
            dispatch.leave(task, entered)
            if token is not None:
                token.register_tool_complete(call_id)

    async def _answer(self, call: ToolCall, about: dict[str, Any], task: Task) -> Any:
        turn, loop = self._turn, self._turn.loop
        if loop.chooses_tools:
            refusal = await loop.select(turn, call, about, self._later_of(call))
            if refusal is not None:
                return refusal
        if not turn.unheard(TOOL_PRE):
            verdict = await turn.ask(TOOL_PRE, about, self._later_of(call))
            if verdict.action == "deny":
                return await self._denied(about, verdict.reason or "no reason given")
            changed = (verdict.data or about).get("tool_input")
            if changed is not about["tool_input"] and isinstance(changed, dict):
                about = {**about, "tool_input": changed}
        result = await self._result(about, task)
        shown = results.shown(result)
        if not turn.unheard(TOOL_POST, {"result": shown}):
            result = await self._posted(result, {**about, "result": shown}, self._later_of(call))
        return results.content(result)

    def _later_of(self, call: ToolCall) -> list[tuple[str, Any]]:
        return self.later.setdefault(call.id, [])

    async def _denied(self, about: dict[str, Any], reason: str) -> str:
        """The answer to a call that never runs; without a result, as no `tool:post` follows."""
        error = {"type": "Denied", "msg": reason}
        await self._turn.hooks.emit(TOOL_ERROR, {**about, "error": error})
        return f"Denied by hook: {reason}"

    async def _result(self, about: dict[str, Any], task: Task) -> Any:
        """What the tool returned, or a failed result that says what went wrong."""
        turn, name = self._turn, about["tool_name"]
        tool = turn.tools.get(name)
        if tool is None:
            known = ", ".join(sorted(turn.tools)) or "none"
            message = f"Tool '{name}' not found. Available tools: {known}."
            return await self._failed(about, "ToolNotFound", message, message)
        try:
            with Wait(turn.watch, turn.settings.tool_timeout or FOREVER, task):
                return results.as_result(await tool.execute(about["tool_input"]))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            reason: BaseException = error
        except Exception as error:
            reason = error
        logger.debug("Tool %r raised", name, exc_info=reason)
        text = results.said(reason)
        kind = type(reason).__name__
        # A KeyError says nothing but the key.
        told = f"{kind}: {text}" if isinstance(reason, KeyError) else text
        return await self._failed(about, kind, text, f"Error executing tool: {told}")

    async def _failed(self, about: dict[str, Any], kind: str, text: str, message: str) -> Any:
        result = results.failed(message, kind)
        error = {"type": kind, "msg": text}
        # The result rides along: it says that this call's `tool:post` is still to come.
        payload = {**about, "error": error, "result": results.shown(result)}
        await self._turn.hooks.emit(TOOL_ERROR, payload)
        await self._turn.loop.tool_failed(self._turn, about, error)
        return result

    async def _posted(self, result: Any, about: dict[str, Any], later: list[Any]) -> Any:
        """Tell the hooks, and take the result as they leave it."""
        try:
            verdict = await self._turn.ask(TOOL_POST, about, later)
            shown = about["result"]
            posted = (verdict.data or {}).get("result", shown)
            if posted is not shown and posted != shown:
                return results.as_result(posted)
        except Exception:
            logger.exception("What hooks want after tool %r cannot be done", about["tool_name"])
        return result


def _display_name(tool: str, arguments: dict[str, Any]) -> str:
    agent = arguments.get("agent") if tool == "delegate" else None
    return agent if isinstance(agent, str) else tool
