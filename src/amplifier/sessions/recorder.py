"""Listens to a session and writes its log, at the points where a step must not go on without.

The guards are the last on their events: what they write is what will be done, after approval
and after every change by other hooks. If it cannot be written, it is not done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.correlation import tool_call
from amplifier_core.events import (
    ALL_EVENTS,
    LLM_RESPONSE,
    ORCHESTRATOR_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_RESUME,
    SESSION_START,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.models import HookResult

from amplifier.sessions import events
from amplifier.sessions.journal import QUICK, Journal
from amplifier.sessions.packing import packed_message
from amplifier.sessions.shapes import result_text
from amplifier.sessions.store import StoreError

NAME = "session-log"
LAST = 1_000_000_000
"""Priority: nobody has a say after the log."""

_OWN = (PROMPT_SUBMIT, PROVIDER_REQUEST, PROVIDER_RESPONSE, TOOL_PRE, TOOL_POST, LLM_RESPONSE)
# Pieces, repetitions of what messages have, and what the log says in its own records.
_LEFT_OUT = (
    "*delta*", "content_block:*", "thinking:*", "llm:*", "provider:stream*", "*:raw", "*:debug",
    "prompt:complete", "execution:*", "session:config", ORCHESTRATOR_COMPLETE, "tool:error",
    SESSION_START, SESSION_RESUME,
)  # fmt: skip
_BULKY = ("session_id", "parent_id", "timestamp", "raw", "messages", "prompt", "response")

Writing = Coroutine[Any, Any, None] | None
"""What is left to wait for until something is on disk."""

logger = logging.getLogger(__name__)


HARMLESS = ("pure", "idempotent")
"""Effects of tools that may be run again."""


def effect_of(tool: Any) -> str:
    """What a tool says about what it does; a tool that says nothing may do anything."""
    annotations = getattr(tool, "annotations", None)
    effect = annotations.get("effect") if isinstance(annotations, dict) else None
    return effect if effect in HARMLESS else "external"


@lru_cache(maxsize=1_000)
def _is_told(event: str) -> bool:
    """Whether the log has an event as it came."""
    return event not in _OWN and not any(fnmatchcase(event, each) for each in _LEFT_OUT)


class Recorder:
    """Keeps the books of one live session."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.is_turn_open = False
        self._is_deaf = False
        self._due = 0
        """Records before this one have to be on disk before a model is asked."""
        self._prompt: tuple[int, str] | None = None
        self._results: dict[str, tuple[int, Any]] = {}
        self._planned: dict[str, dict[str, Any]] = {}
        self._reply: dict[str, Any] = {}
        self._undo: list[Callable[[], Any]] = []
        self._coordinator: ModuleCoordinator | None = None

    # -- coming and going -------------------------------------------------------------

    async def attach(self, coordinator: ModuleCoordinator) -> None:
        """Listen from now on. What the context holds already is not written again."""
        self._coordinator = coordinator
        guards = {
            PROMPT_SUBMIT: self._on_prompt,
            PROVIDER_REQUEST: self._on_request,
            TOOL_PRE: self._on_call,
        }
        for event, guard in guards.items():
            self._listen(event, guard, guard=True)
        self._listen(TOOL_POST, self._on_result)
        self._listen(PROVIDER_RESPONSE, self._on_reply)
        self._listen(LLM_RESPONSE, self._on_model)
        self._listen(ORCHESTRATOR_COMPLETE, self._on_turn_end)
        declared = await coordinator.collect_contributions("observability.events")
        extra = [name for names in declared if isinstance(names, list) for name in names]
        for event in dict.fromkeys([*ALL_EVENTS, *map(str, extra)]):
            if _is_told(event):
                self._listen(event, self._on_other)
        self._wrap_context(coordinator.get("context"))
        self._wrap(coordinator, "process_hook_result", self._carried_out)

    def detach(self) -> None:
        while self._undo:
            self._undo.pop()()

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """While the context is given what the log has already."""
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = False

    def _listen(self, event: str, handler: Callable[..., Any], *, guard: bool = False) -> None:
        assert self._coordinator is not None
        register = self._coordinator.hooks.register
        self._undo.append(register(event, handler, priority=LAST, name=NAME, guard=guard))

    def _wrap(self, owner: Any, method: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, method, None)
        if original is None:
            return

        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self._is_deaf:
                return await original(*args, **kwargs)
            return await around(original, *args, **kwargs)

        setattr(owner, method, wrapped)
        self._undo.append(lambda: delattr(owner, method))

    def _wrap_context(self, context: Any) -> None:
        """Whatever is stored, by the loop, a hook or the app, passes here."""
        self._wrap(context, "add_message", self._adding)
        self._wrap(context, "set_messages", self._setting)
        self._wrap(context, "clear", self._clearing)

    # -- commit points ----------------------------------------------------------------

    async def _on_prompt(self, event: str, data: dict[str, Any]) -> None:
        prompt = str(data.get("prompt", ""))
        self._prompt = self.journal.note(event, {"prompt": prompt}), prompt
        self.is_turn_open = True
        await self.journal.commit()

    def _on_request(self, event: str, data: dict[str, Any]) -> Writing:
        """A model is asked only if all that was to be on disk by now is there."""
        return None if self.journal.is_there(self._due) else self.journal.commit(self._due)

    def _on_call(self, event: str, data: dict[str, Any]) -> Writing:
        call_id, given = data.get("tool_call_id"), data.get("tool_input")
        about: dict[str, Any] = {"tool_call_id": call_id, "tool_name": data.get("tool_name")}
        if given != self._planned.get(str(call_id)):
            about["tool_input"] = given
        about["effect"] = self._effect(data.get("tool_name"))
        scope = tool_call.get()
        if scope is not None:
            about["idempotency_key"] = scope.idempotency_key
        self.journal.note(event, about)
        return None if self.journal.is_written() else self.journal.commit()

    def _effect(self, tool: Any) -> str:
        assert self._coordinator is not None
        return effect_of((self._coordinator.get("tools") or {}).get(tool))

    def _on_result(self, event: str, data: dict[str, Any]) -> Writing:
        call_id, result = str(data.get("tool_call_id")), data.get("result")
        about = {"tool_call_id": call_id, "tool_name": data.get("tool_name"), "result": result}
        output = result.get("output") if isinstance(result, dict) else result
        if isinstance(output, str) and len(output) > QUICK:
            return self._on_large_result(event, about, call_id)
        self._results[call_id] = self.journal.note(event, about), result
        self._due = self.journal.next_seq
        # The next request waits for it. If it fails, no request and no call gets through any more.
        self.journal.begin_commit()
        return None

    async def _on_large_result(self, event: str, about: dict[str, Any], call_id: str) -> None:
        seq = await self.journal.note_large(event, about)
        self._results[call_id] = seq, about["result"]
        await self.journal.commit()

    async def _carried_out(
        self, original: Callable[..., Any], result: Any, event: str, *args: Any, **kwargs: Any
    ) -> Any:
        """A question about a call comes after the guards: the call waits for its answer."""
        scope = tool_call.get()
        if event != TOOL_PRE or scope is None or getattr(result, "action", "") != "ask_user":
            return await original(result, event, *args, **kwargs)
        try:
            self.journal.note(events.ASKED, {"tool_call_id": scope.call_id})
            await self.journal.commit()
            answer = await original(result, event, *args, **kwargs)
            if answer.action != "deny":
                self.journal.note(events.ANSWERED, {"tool_call_id": scope.call_id})
                await self.journal.commit()
        except StoreError as error:
            return HookResult(action="deny", reason=str(error))
        return answer

    async def _on_turn_end(self, event: str, data: dict[str, Any]) -> None:
        await self.end_turn({"status": data.get("status", "success")})

    async def end_turn(self, about: dict[str, Any]) -> None:
        if self.is_turn_open:
            self.is_turn_open = False
            self._note_reply_alone()
            self.journal.note(events.TURN_END, about)
            await self.journal.commit()

    # -- messages ---------------------------------------------------------------------

    async def _adding(self, original: Callable[..., Any], message: Any) -> Any:
        done = await original(message)
        fields = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
        role = fields.get("role")
        if role == "tool":
            await self._add_result(fields)
        elif role == "assistant":
            self._add_reply(fields)
            self.journal.commit_soon()
        elif role == "user" and self._prompt and fields.get("content") == self._prompt[1]:
            self._note_message(fields, self._prompt[0])
        else:
            self._note_message(fields)
        return done

    def _note_message(
        self, message: dict[str, Any], content_of: int | None = None, **more: Any
    ) -> None:
        if content_of is None:
            self.journal.note(events.MESSAGE, {"message": message})
            return
        slim = {name: value for name, value in message.items() if name != "content"}
        self.journal.note(events.MESSAGE, {"message": slim, "content_of": content_of, **more})

    def _add_reply(self, message: dict[str, Any]) -> None:
        calls = message.get("tool_calls") or ()
        self._planned = {str(each.get("id")): each.get("arguments") for each in calls}
        self._results.clear()
        reply, self._reply = self._reply, {}
        self.journal.note(events.MESSAGE, {"message": packed_message(message), **reply})

    async def _add_result(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        seq, result = self._results.pop(str(message.get("tool_call_id")), (None, None))
        if isinstance(content, str) and len(content) > QUICK:
            message = await self._as_stored(message)
        if seq is None:
            # Other hooks have kept the result from the log until now.
            self._note_message(message)
            await self.journal.commit()
        elif not isinstance(content, str) or message.get("content") != content:
            self._note_message(message)
        elif isinstance(result, dict) and result.get("output") == content:
            self._note_message(message, seq, part="output")
        else:
            self._note_message(message, seq if result_text(result) == content else None)

    async def _as_stored(self, message: dict[str, Any]) -> dict[str, Any]:
        """A long result as the context keeps it, which may have cut it."""
        assert self._coordinator is not None
        read = getattr(self._coordinator.get("context"), "get_messages", None)
        stored = list(await read()) if read is not None else []
        last = stored[-1] if stored else None
        is_it = isinstance(last, dict) and last.get("tool_call_id") == message["tool_call_id"]
        return last if is_it and last is not None else message

    async def _setting(self, original: Callable[..., Any], messages: Any) -> Any:
        done = await original(messages)
        self.journal.note(events.REPLACED, {"messages": [*map(packed_message, messages)]})
        await self.journal.commit()
        return done

    async def _clearing(self, original: Callable[..., Any]) -> Any:
        done = await original()
        self.journal.note(events.REPLACED, {"messages": []})
        await self.journal.commit()
        return done

    # -- the rest ---------------------------------------------------------------------

    def _on_reply(self, event: str, data: dict[str, Any]) -> None:
        about = {"provider": data.get("provider")}
        usage = data.get("usage")
        if isinstance(usage, dict):
            about["usage"] = {name: value for name, value in usage.items() if value is not None}
        if data.get("purpose"):
            self.journal.note(event, {**about, "purpose": data["purpose"]})
            return
        model = self._reply if "provider" not in self._reply else {}
        self._note_reply_alone()
        self._reply = {**model, **about}

    def _note_reply_alone(self) -> None:
        """A reply that became no message has been paid for all the same."""
        if "provider" in self._reply:
            self.journal.note(PROVIDER_RESPONSE, self._reply)
            self._reply = {}

    def _on_model(self, event: str, data: dict[str, Any]) -> None:
        if data.get("status") == "error" or data.get("error"):
            return
        self._note_reply_alone()
        kept = ("model", "duration_ms")
        self._reply = {name: data[name] for name in kept if data.get(name) is not None}

    def _on_other(self, event: str, data: Any) -> None:
        if isinstance(data, dict):
            self.journal.note(event, {k: v for k, v in data.items() if k not in _BULKY})
