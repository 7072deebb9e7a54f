"""One turn: from a prompt to an answer, with as many model and tool calls as it takes.

Two things hold whatever happens, also when the task is cancelled or a module raises: each
stored tool call has exactly one stored result, and the turn ends with an assistant message.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from amplifier_core.events import (
    CANCEL_COMPLETED,
    CANCEL_REQUESTED,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    EXECUTION_END,
    EXECUTION_START,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
)
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest, ToolCall

from . import replies
from .requests import Injections, messages_for, tool_specs
from .tools import ToolCalls, cancelled_answer
from .watch import Watch

if TYPE_CHECKING:
    from .loop import Loop

logger = logging.getLogger(__name__)

MOST_EMPTY_REPLIES = 3
CUT_OFF = "[This turn was cut off before it was finished.]"
WRAP_UP = (
    '<system-reminder source="orchestrator-loop-limit">'
    "Finish now: answer with what you have found so far and say what is left to do. "
    "Call no more tools, and do not mention this reminder or any limit."
    "</system-reminder>"
)


class Turn:
    """The state of one `execute()`."""

    def __init__(
        self, loop: Loop, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any
    ) -> None:
        self.loop = loop
        self.settings = loop.settings
        self.coordinator = loop.coordinator
        self.cancellation = getattr(loop.coordinator, "cancellation", None)
        self.prompt = prompt
        self.context = context
        self.providers = providers or {}
        self.tools = tools or {}
        self.hooks = hooks
        self.injections = Injections()
        self.watch = Watch()
        self.model_calls = 0
        self.status = "success"
        self.provider_name = ""
        self.provider: Any = None
        self.extra: dict[str, Any] = {}
        """What a loop adds to `orchestrator:complete`."""
        self._answered = False
        self._empty_replies = 0
        self._cancel_announced = False
        self._request: ChatRequest | None = None
        self._request_tools: list[tuple[str, Any]] = []

    # -- the whole --------------------------------------------------------------------

    async def run(self) -> str:
        verdict = await self.ask(PROMPT_SUBMIT, {"prompt": self.prompt})
        if verdict.action == "deny":
            return _denied(verdict)
        self.injections.add(verdict)
        await self.hooks.emit(EXECUTION_START, {"prompt": self.prompt})
        await self.loop.turn_starts(self)
        try:
            await self.context.add_message({"role": "user", "content": self.prompt})
            text = await self._converse()
        except BaseException as error:
            await self._broken_off(error)
            raise
        await self._finished(text)
        return text

    async def _converse(self) -> str:
        self.provider_name, self.provider = self.loop.choose_provider(self.providers)
        while True:
            if self.is_cancelled:
                return await self._cancelled()
            if self.settings.is_last(self.model_calls):
                self.status = "incomplete"
                return await self._wrap_up()
            await self.loop.before_step(self)
            answer = await self._step()
            await asyncio.sleep(0)  # let other sessions have their turn
            if answer is not None:
                return answer

    @property
    def is_cancelled(self) -> bool:
        return self.cancellation is not None and self.cancellation.is_cancelled

    @property
    def iteration(self) -> int:
        return self.loop.first_iteration + self.model_calls

    def capability(self, name: str) -> Any:
        return self.coordinator.get_capability(name) if self.coordinator is not None else None

    async def ask(self, event: str, data: dict[str, Any]) -> Any:
        """Emit an event whose outcome matters, and have it carried out."""
        verdict = await self.hooks.emit(event, data)
        if self.coordinator is None or _needs_nothing(verdict):
            return verdict
        processed = await self.coordinator.process_hook_result(verdict, event, self.loop.name)
        if processed.data is None and verdict.data is not None:
            processed = processed.model_copy(update={"data": verdict.data})
        return processed

    # -- one step ---------------------------------------------------------------------

    async def _step(self) -> str | None:
        """One model call and the tools it asks for; the answer, if it is one."""
        about = {"provider": self.provider_name, "iteration": self.iteration}
        verdict = await self.ask(PROVIDER_REQUEST, about)
        if verdict.action == "deny":
            return await self.say(_denied(verdict))
        self.injections.add(verdict)
        try:
            response, calls = await self._call_model()
        except Exception as error:
            text = await self.loop.provider_failed(self, error)
            if text is None:
                raise
            return await self.say(text)
        if self.cancellation is not None and self.cancellation.is_immediate:
            return await self._cancelled()
        await self._announce(response, bool(calls))
        if calls:
            await self._run_tools(response, calls)
            return None
        return await self._read_answer(response)

    async def _call_model(self) -> tuple[Any, list[ToolCall]]:
        """Ask the provider; whatever goes wrong is announced and raised."""
        try:
            messages = await messages_for(self.context, self.provider)
            request = self._new_request(self.injections.apply(messages))
            response = await self.loop.complete(self, request)
            if response is None and self.is_cancelled:
                return None, []  # a stream that was left in the middle
            replies.check(response, self.provider_name)
            calls = replies.calls_in(self.provider, response)
        except Exception as error:
            await self._announce_failure(error)
            raise
        self.model_calls += 1
        return response, calls

    def _new_request(self, messages: list[Any]) -> ChatRequest:
        """A request with these messages, which have been validated already."""
        mounted = list(self.tools.items())
        if self._request is None or mounted != self._request_tools:
            specs, effort = tool_specs(self.tools), self.loop.reasoning_effort
            self._request = ChatRequest(messages=[], tools=specs or None, reasoning_effort=effort)
            self._request_tools = mounted
        return self._request.model_copy(update={"messages": messages})

    async def _announce_failure(self, error: Exception) -> None:
        self.status = "error"
        details = {"type": type(error).__name__, "msg": str(error)}
        payload: dict[str, Any] = {"provider": self.provider_name, "error": details}
        if isinstance(error, LLMError):
            payload["retryable"] = error.retryable
            payload["status_code"] = error.status_code
        await self.hooks.emit(PROVIDER_ERROR, payload)

    async def _announce(self, response: Any, has_calls: bool) -> None:
        usage: Any = getattr(response, "usage", None)
        plain_usage = usage.model_dump() if hasattr(usage, "model_dump") else usage
        payload = {
            "provider": self.provider_name,
            "usage": plain_usage,
            "tool_calls": has_calls,
            "iteration": self.iteration - 1,
        }
        await self.hooks.emit(PROVIDER_RESPONSE, payload)
        blocks = replies.display_blocks(response)
        for index, block in enumerate(blocks):
            await self._announce_block(block, index, len(blocks), plain_usage)

    async def _announce_block(self, block: Any, index: int, total: int, usage: Any) -> None:
        place = {"block_index": index, "total_blocks": total}
        start = {"block_type": replies.block_type(block), **place}
        await self.hooks.emit(CONTENT_BLOCK_START, start)
        end: dict[str, Any] = {**place, "block": replies.plain_block(block)}
        if usage is not None and index == total - 1:
            end["usage"] = usage
        await self.hooks.emit(CONTENT_BLOCK_END, end)

    async def _read_answer(self, response: Any) -> str | None:
        text = replies.text_of(response.content)
        if not text:
            self._empty_replies += 1
            logger.warning("Provider %r answered with nothing", self.provider_name)
            if self._empty_replies < MOST_EMPTY_REPLIES:
                return None
            self.status = "incomplete"
            return await self.say("The model gave no answer. Ask again, or try another model.")
        if self.loop.wants_to_go_on():
            await self._store_reply(response, text)
            return None
        await self._store_reply(response, text)
        return text

    async def _store_reply(self, response: Any, text: str) -> None:
        content = replies.stored_content(response.content)
        await self._store_assistant(content or text, metadata=getattr(response, "metadata", None))

    # -- tools ------------------------------------------------------------------------

    async def _run_tools(self, response: Any, calls: list[ToolCall]) -> None:
        self._empty_replies = 0
        content = replies.stored_content(getattr(response, "content", None))
        stored = [{"id": c.id, "tool": c.name, "arguments": c.arguments} for c in calls]
        metadata = getattr(response, "metadata", None)
        # First the calls, then their results: a crash in between leaves a repairable history.
        await self._store_assistant(content, tool_calls=stored, metadata=metadata)
        self._answered = False
        running = ToolCalls(self, calls)
        try:
            await running.run()
        finally:
            for call in calls:
                answer = running.answers.get(call.id)
                if answer is None:
                    answer = cancelled_answer(call)
                await self._store_result(call, answer)

    async def _store_result(self, call: ToolCall, answer: Any) -> None:
        await self.context.add_message(
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": answer}
        )

    # -- ways to end ------------------------------------------------------------------

    async def say(self, text: str) -> str:
        """Store `text` as the loop's own answer."""
        await self._store_assistant(text)
        return text

    async def _store_assistant(self, content: Any, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        await self.context.add_message({"role": "assistant", "content": content, **given})
        self._answered = True

    async def _wrap_up(self) -> str:
        """The limit is reached: have the model say what it has."""
        about = {
            "provider": self.provider_name,
            "iteration": self.iteration,
            "max_reached": True,
        }
        verdict = await self.ask(PROVIDER_REQUEST, about)
        if verdict.action == "deny":
            return await self.say(_denied(verdict))
        self.injections.add(verdict)
        self.injections.add_text(WRAP_UP, "user")
        try:
            response, _ = await self._call_model()
        except Exception:
            logger.warning("The model could not wrap up after the last step", exc_info=True)
            self.status = "incomplete"
            return await self.say(CUT_OFF)
        text = replies.text_of(getattr(response, "content", None))
        return await self.say(text or CUT_OFF)

    async def _cancelled(self) -> str:
        """End a turn that was asked to stop."""
        self.status = "cancelled"
        await self._announce_cancel()
        if not self._answered:
            await self._store_assistant(CUT_OFF, metadata={"cancelled": True})
        return ""

    async def _announce_cancel(self) -> None:
        token = self.cancellation
        common = {"orchestrator": self.loop.name, "turn_count": self.model_calls}
        if not self._cancel_announced:
            self._cancel_announced = True
            state = str(token.state) if token is not None else "immediate"
            await self.hooks.emit(CANCEL_REQUESTED, {**common, "state": state})
            if token is not None:
                with suppress(Exception):
                    await token.trigger_callbacks()
        immediate = token is None or token.is_immediate or not token.is_cancelled
        await self.hooks.emit(CANCEL_COMPLETED, {**common, "was_immediate": immediate})

    async def _broken_off(self, error: BaseException) -> None:
        """Leave a history that the next turn can build on, whatever ended this one."""
        was_cancelled = isinstance(error, asyncio.CancelledError)
        self.status = "cancelled" if was_cancelled else "error"
        # What ended the turn must reach the caller; what fails here is only logged.
        try:
            if not self._answered:
                await self._store_assistant(CUT_OFF, metadata={"incomplete": True})
            if was_cancelled:
                await self._announce_cancel()
            await self._close("")
        except Exception:
            logger.exception("A turn that broke off could not be closed properly")

    async def _finished(self, text: str) -> None:
        preview = text[: replies.WORTH_SHOWING]
        if self.status != "cancelled":
            payload = {"response_preview": preview, "length": len(text), "response": text}
            await self.hooks.emit(PROMPT_COMPLETE, payload)
        await self._close(text)

    async def _close(self, text: str) -> None:
        self.watch.close()
        await self.loop.turn_ends(self, text)
        await self.hooks.emit(EXECUTION_END, {"response": text, "status": _ended_as(self.status)})
        payload = {
            "orchestrator": self.loop.name,
            "turn_count": self.model_calls,
            "status": self.status,
            **self.extra,
        }
        await self.hooks.emit(ORCHESTRATOR_COMPLETE, payload)


def _ended_as(status: str) -> str:
    return {"success": "completed", "incomplete": "completed"}.get(status, status)


def _needs_nothing(verdict: Any) -> bool:
    """Whether a hook result asks for no effect at all, as nearly all do."""
    return (
        verdict.action == "continue"
        and not verdict.user_message
        and not getattr(verdict, "user_messages", None)
    )


def _denied(verdict: Any) -> str:
    return f"Operation denied: {verdict.reason or 'no reason given'}"
