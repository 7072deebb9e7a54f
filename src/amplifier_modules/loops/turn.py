"""One turn: from a prompt to an answer, with as many model and tool calls as it takes.

Two things hold whatever happens, also when the task is cancelled or a module raises: each
stored tool call has exactly one stored result, and the turn ends with an assistant message.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amplifier_core.events import (
    CONTEXT_PRE_COMPACT,
    EXECUTION_START,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
)
from amplifier_core.llm_errors import ContextLengthError, LLMError
from amplifier_core.message_models import ChatRequest
from amplifier_core.models import HookResult

from amplifier_modules.loops import announce, history, requests
from amplifier_modules.loops.calls import Dispatch
from amplifier_modules.loops.replies import Reply
from amplifier_modules.loops.tools import ToolCalls
from amplifier_modules.loops.watch import Interrupted, Watch, being_cancelled, to_the_end

if TYPE_CHECKING:
    from amplifier_modules.loops.loop import Loop

logger = logging.getLogger(__name__)

MOST_EMPTY_REPLIES = 3
SECONDS_PER_CLOSING_STEP = 10.0
NO_PROVIDER = "No provider is mounted. Add one to the mount plan."
NO_ANSWER = "The model gave no answer. Ask again, or try another model."
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
        self.watch = Watch(self.cancellation)
        self.prompt = prompt
        self.prompt_fields: dict[str, Any] = {}
        """What the prompt's message has beside role and content."""
        self.context = context
        self.providers = {} if providers is None else providers
        self.tools = {} if tools is None else tools
        self.hooks = hooks
        self.unheard = announce.unheard_by(hooks)
        self.injections = requests.Injections()
        self.model_calls = 0
        self.status = "success"
        self.text = ""
        """The latest answer."""
        self.provider_name = ""
        self.provider: Any = None
        self.extra: dict[str, Any] = {}
        """What a loop adds to `orchestrator:complete`."""
        self._prompt_is_stored = False
        self._calls: ToolCalls | None = None
        self._empty_replies = 0
        self._has_compacted = False
        self._cancel_announced = False
        self._messages_for = requests.reader(context)
        self._request: ChatRequest | None = None
        self._request_tools: dict[str, Any] = {}
        # What is still to come when the turn is over: each once, whatever interrupts them.
        self._endings = [Turn._end, announce.execution_ended, announce.turn_completed]

    # -- the whole --------------------------------------------------------------------

    async def run(self) -> str:
        verdict = await self.ask(PROMPT_SUBMIT, {"prompt": self.prompt})
        if verdict.action == "deny":
            return _denied(verdict)
        self.injections.queue(verdict)
        try:
            await self._begin()
            await self._answer()
            await self._finish()
        except GeneratorExit:
            raise  # the event loop is gone, and nothing can be awaited any more
        except BaseException as error:
            await to_the_end(self._break_off(error))
            raise
        return self.text

    async def _begin(self) -> None:
        await self.hooks.emit(EXECUTION_START, {"prompt": self.prompt})
        await self.loop.turn_starts(self)
        message = {"role": "user", "content": self.prompt, **self.prompt_fields}
        await self.context.add_message(message)
        self._prompt_is_stored = True

    async def _answer(self) -> None:
        try:
            with self.watch:
                await self._converse()
        except Interrupted:
            await self._stop()

    async def _converse(self) -> None:
        if not self.providers:
            return await self._do_without_provider()
        self.provider_name = self.loop.choose_provider(self.providers)
        self.provider = self.providers[self.provider_name]
        most = self.settings.max_iterations
        compacts = self.loop.compacts or self._has_older_context
        is_over = False
        while not is_over:
            if self.is_cancelled:
                return await self._stop()
            await self.loop.before_step(self)
            if compacts:
                await self._compact_if_needed()
            is_last = 0 <= most <= self.model_calls
            is_over = await (self._wrap_up() if is_last else self._step())
            await asyncio.sleep(0)  # let other sessions have their turn
        return None

    async def _do_without_provider(self) -> None:
        if not self.loop.answers_without_provider:
            raise RuntimeError(NO_PROVIDER)
        self.status = "error"
        await self.say(NO_PROVIDER)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.coordinator)

    @property
    def is_cancelled(self) -> bool:
        return self.cancellation is not None and self.cancellation.is_cancelled

    @property
    def must_stop(self) -> bool:
        return self.cancellation is not None and self.cancellation.is_immediate

    @property
    def used_tools(self) -> bool:
        return self._calls is not None

    @property
    def iteration(self) -> int:
        return self.loop.first_iteration + self.model_calls

    def capability(self, name: str) -> Any:
        return self.coordinator.get_capability(name) if self.coordinator is not None else None

    # -- hooks ------------------------------------------------------------------------

    async def ask(
        self, event: str, data: dict[str, Any], later: list[tuple[str, Any]] | None = None
    ) -> Any:
        """Emit an event whose outcome matters, and have it carried out.

        What is injected goes into `later`, if given, until there is room for it.
        """
        verdict = await self.hooks.emit(event, data)
        speaks = verdict.user_message or getattr(verdict, "user_messages", None)
        if verdict.action == "continue" and not speaks:
            return verdict  # as nearly always
        if later is not None:
            verdict, injection = requests.without_injections(verdict)
            if injection is not None:
                later.append((event, injection))
        return await self._carried_out(event, verdict)

    async def _carried_out(self, event: str, verdict: Any) -> Any:
        if self.coordinator is None:
            return await self._carried_out_alone(verdict)
        return await self.coordinator.process_hook_result(verdict, event, self.loop.name)

    async def _carried_out_alone(self, verdict: Any) -> Any:
        """Without a coordinator there is nobody to ask, and injections are stored here."""
        if verdict.action == "ask_user":
            return HookResult(action="deny", reason="There is nobody to ask for approval.")
        for item in requests.injected(verdict):
            if not item.ephemeral:
                await self.context.add_message({"role": item.role, "content": item.content})
        return verdict

    async def _inject(self, event: str, injection: HookResult) -> None:
        try:
            self.injections.queue(await self._carried_out(event, injection))
        except Exception:
            logger.exception("What a hook injected on %r is lost", event)

    # -- one step ---------------------------------------------------------------------

    async def _step(self) -> bool:
        """One model call and the tools it asks for; whether the turn is over."""
        if self.unheard(PROVIDER_REQUEST):
            self.injections.begin_request()
        elif not await self._may_ask({}):
            return True
        request = await self._new_request()
        try:
            reply = await self._ask_model(request)
        except Exception as error:
            return await self._survived(error, request)
        if reply is None:
            await self._stop()
            return True
        await announce.reply_came(self, reply)
        if not reply.calls:
            return await self._take_answer(reply)
        await self._run_tools(reply)
        return False

    async def _may_ask(self, more: dict[str, Any]) -> bool:
        """Whether hooks let the request pass; a denial is the answer."""
        about = {"provider": self.provider_name, "iteration": self.iteration, **more}
        verdict = await self.ask(PROVIDER_REQUEST, about)
        self.injections.begin_request(verdict)
        if verdict.action != "deny":
            return True
        self.status = "incomplete"
        await self.say(_denied(verdict))
        return False

    async def _new_request(self) -> ChatRequest:
        messages = await self._messages_for(provider=self.provider)
        if self._request is None or self.tools != self._request_tools:
            specs, effort = requests.tool_specs(self.tools), self.loop.reasoning_effort
            self._request = ChatRequest(messages=[], tools=specs or None, reasoning_effort=effort)
            self._request_tools = dict(self.tools)
        return requests.with_messages(self._request, self.injections.applied_to(messages))

    async def _ask_model(self, request: ChatRequest) -> Reply | None:
        """What the provider answers; None if the turn has to stop at once."""
        try:
            response = await self.loop.complete(self, request)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            name = self.provider_name
            raise LLMError(f"Provider {name!r} cancelled its own call.", provider=name) from error
        if self.must_stop:
            return None
        reply = Reply(self.provider, response)
        self.model_calls += 1
        self._has_compacted = False
        self.injections.were_read()
        return reply

    async def _survived(self, error: Exception, request: ChatRequest) -> bool:
        """Deal with a failed model call; whether the turn is over, if it need not raise."""
        if self.must_stop:
            await self._stop()
            return True
        if isinstance(error, ContextLengthError) and await self._make_room(request):
            return False
        self.status = "error"
        await announce.call_failed(self, error)
        text = await self.loop.provider_failed(self, error)
        if text is None:
            raise error
        await self.say(text)
        return True

    async def _make_room(self, request: ChatRequest) -> bool:
        """Compact a context that can; whether it is worth asking again."""
        if self._has_compacted or not hasattr(self.context, "compact"):
            return False
        self._has_compacted = True
        await self._compact()
        messages = await self._messages_for(provider=self.provider)
        return self.injections.applied_to(messages) != request.messages

    async def _compact_if_needed(self) -> None:
        wish = getattr(self.context, "should_compact", None)
        answer = wish() if wish is not None else False
        if await answer if inspect.isawaitable(answer) else answer:
            await self._compact()

    @property
    def _has_older_context(self) -> bool:
        """Whether it is left to the loop when to compact, and to announce it."""
        return not hasattr(self.context, "get_messages_for_request")

    async def _compact(self) -> None:
        if self._has_older_context:
            await self.hooks.emit(CONTEXT_PRE_COMPACT, {})
        done = self.context.compact()
        if inspect.isawaitable(done):
            await done

    async def _take_answer(self, reply: Reply) -> bool:
        if reply.text.strip():
            self._empty_replies = 0
            await self._store_answer(reply)
            return not self.loop.wants_to_go_on()
        self._empty_replies += 1
        logger.warning("Provider %r answered with nothing", self.provider_name)
        if self._empty_replies < MOST_EMPTY_REPLIES:
            return False
        self.status = "incomplete"
        await self.say(NO_ANSWER)
        return True

    async def _store_answer(self, reply: Reply) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": reply.content_with([])}
        if reply.metadata is not None:
            message["metadata"] = reply.metadata
        await self.context.add_message(message)
        self.text = reply.text

    async def _run_tools(self, reply: Reply) -> None:
        calls = reply.calls
        self._empty_replies = 0
        # With arguments of their own: a tool may change what it is given.
        stored = [{"id": c.id, "tool": c.name, "arguments": dict(c.arguments)} for c in calls]
        content = reply.content_with(calls) if reply.content else ""
        message: dict[str, Any] = {"role": "assistant", "content": content, "tool_calls": stored}
        if reply.metadata is not None:
            message["metadata"] = reply.metadata
        running = self._calls = ToolCalls(self, calls)
        add_message = self.context.add_message
        # First the calls, then their results: a crash in between leaves a repairable history.
        await add_message(message)
        await running.run()
        for call in calls:
            call_id = call.id
            answer = running.answers[call_id]
            await add_message(history.tool_message(call_id, call.name, answer))
        if running.later:
            for event, injection in running.injections:
                await self._inject(event, injection)

    # -- ways to end ------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Make `text` the answer, in the loop's own words."""
        await self.context.add_message({"role": "assistant", "content": text})
        self.text = text

    async def _wrap_up(self) -> bool:
        """The limit is reached: have the model say what it has."""
        self.status = "incomplete"
        if not await self._may_ask({"max_reached": True}):
            return True
        self.injections.add_text(WRAP_UP)
        request = await self._new_request()
        try:
            reply = await self._ask_model(request)
        except Exception as error:
            reply = None
            if not self.must_stop:
                await announce.call_failed(self, error)
                logger.warning("The model could not wrap up after the last step", exc_info=True)
        if self.must_stop:
            await self._stop()
        elif reply is None:
            await self.say(history.CUT_OFF)
        else:
            await announce.reply_came(self, reply)
            has_text = reply.text.strip()
            await (self._store_answer(reply) if has_text else self.say(history.CUT_OFF))
        return True

    async def _stop(self) -> None:
        """End a turn that was asked to stop."""
        self.status = "cancelled"
        await self._settle()
        await self._announce_cancel()

    async def _settle(self) -> None:
        """Leave a history that the next turn can build on."""
        stored = await requests.stored_messages(self.context)
        answers = self._calls.answers if self._calls is not None else {}
        for message in history.missing(stored, answers, self._prompt_is_stored):
            await self.context.add_message(message)

    async def _announce_cancel(self) -> None:
        is_first_time = not self._cancel_announced
        self._cancel_announced = True
        await announce.cancelled(self, is_first_time)

    async def _finish(self) -> None:
        if self.status != "cancelled":
            await announce.answered(self)
        while self._endings:
            await self._endings.pop(0)(self)

    async def _break_off(self, error: BaseException) -> None:
        """Whatever ended the turn reaches the caller; what fails here is only logged."""
        was_cancelled = isinstance(error, asyncio.CancelledError)
        self.status = "cancelled" if was_cancelled else "error"
        cancelling = [Turn._announce_cancel] if was_cancelled else []
        for step in [Turn._settle, *cancelling, *self._endings]:
            try:
                async with asyncio.timeout(SECONDS_PER_CLOSING_STEP):
                    await step(self)
            except Exception:
                logger.exception("A turn that broke off could not be closed properly")

    async def _end(self) -> None:
        await self.loop.turn_ends(self, self.text)


def _denied(verdict: Any) -> str:
    return f"Operation denied: {verdict.reason or 'no reason given'}"
