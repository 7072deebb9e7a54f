"""Runs a recorded session again, without a model: same prompts, same answers, same results."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any

from amplifier_core.correlation import tool_call
from amplifier_core.events import PROMPT_SUBMIT, PROVIDER_RESPONSE, TOOL_POST, TOOL_PRE
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatResponse, ToolCall, Usage
from amplifier_core.models import ProviderInfo, ToolResult

from amplifier.sessions import events
from amplifier.sessions.diffing import Difference, first_difference
from amplifier.sessions.live import RecordedSession, Recording
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.packing import unpacked_message
from amplifier.sessions.projection import project
from amplifier.sessions.record import Record
from amplifier.sessions.sentences import CUT_OFF

SESSION = "replay"
_ABOUT_APPROVAL = "approval:"
_ENDS_OF_CALLS = (PROMPT_SUBMIT, events.MESSAGE, events.REPLACED, events.TURN_END)


async def replay(records: list[Record], *, live_tools: bool = False) -> Difference | None:
    """Run the turns of a log again; where the new log differs from it, if it does.

    Kernel, loop, context and hooks are the installed ones, on the recorded plan. Model answers
    come from the log, and so do the results of tools, unless they are to be run.

    Raises:
        ValueError: the log does not say which modules there were.
    """
    state = project(records)
    plan = deepcopy(state.composition.get("plan"))
    if not isinstance(plan, dict):
        raise ValueError("The log does not say with which modules it was made. It was imported.")
    plan["providers"] = []
    store = MemoryStore()
    session = RecordedSession(plan, session_id=SESSION, approval_system=_RecordedPerson(records))
    session.recording = Recording(store)
    async with session:
        await _stand_in(session, records, live_tools)
        for turn in state.turns:
            try:
                await session.execute(turn.prompt)
            except LLMError:
                continue  # a recorded failure; the log tells how the turn ended
    both = _comparable(records), _comparable(await store.read(SESSION))
    return first_difference(*(both if live_tools else map(_without_tools, both)))


async def _stand_in(session: RecordedSession, records: list[Record], live_tools: bool) -> None:
    providers = session.coordinator.get("providers")
    providers["recorded"] = _Recorded(_replies(records))
    tools = session.coordinator.get("tools")
    if live_tools:
        return
    results = _results(records)
    for name in {*tools, *(each for each, _ in results)}:
        mine = deque(result for tool, result in results if tool == name)
        tools[name] = _RecordedTool(name, tools.get(name), mine)


def _comparable(records: list[Record]) -> list[Record]:
    """The log without what resuming has added to it, and without who was asked for what."""
    return [
        each
        for each in records
        if not _is_added_by_resume(each) and not each.event.startswith(_ABOUT_APPROVAL)
    ]


def _is_added_by_resume(record: Record) -> bool:
    if record.event != events.MESSAGE:
        return False
    message = record.data.get("message") or {}
    return message.get("role") == "assistant" and message.get("content") == CUT_OFF


def _without_tools(records: list[Record]) -> list[Record]:
    """The log without what tools have told while they ran: recorded ones tell nothing."""
    kept, running = [], set()
    for record in records:
        if record.event == TOOL_PRE:
            running.add(record.data.get("tool_call_id"))
        elif record.event == TOOL_POST:
            running.discard(record.data.get("tool_call_id"))
        elif record.event in _ENDS_OF_CALLS:
            running.clear()
        elif running:
            continue
        kept.append(record)
    return kept


def _replies(records: list[Record]) -> deque[ChatResponse | None]:
    """What the model said, in order; None where a call failed."""
    found: deque[ChatResponse | None] = deque()
    for record in records:
        data = record.data
        if record.event == "provider:error":
            found.append(None)
        elif record.event == PROVIDER_RESPONSE and not data.get("purpose"):
            found.append(ChatResponse(content=[], usage=_usage(data)))
        elif record.event == events.MESSAGE and "provider" in data:
            found.append(_response(unpacked_message(data["message"]), data))
    return found


def _response(message: dict[str, Any], data: dict[str, Any]) -> ChatResponse:
    content = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = [
        ToolCall(id=each["id"], name=each["tool"], arguments=deepcopy(each["arguments"]))
        for each in message.get("tool_calls") or ()
    ]
    return ChatResponse(
        content=deepcopy(blocks),
        tool_calls=calls or None,
        usage=_usage(data),
        metadata=message.get("metadata"),
    )


def _usage(data: dict[str, Any]) -> Usage | None:
    usage = data.get("usage")
    return Usage.model_validate(usage) if isinstance(usage, dict) else None


def _results(records: list[Record]) -> list[tuple[str, Any]]:
    return [
        (str(each.data.get("tool_name")), each.data.get("result"))
        for each in records
        if each.event == TOOL_POST
    ]


class _Recorded:
    """A provider that repeats what another one said."""

    name = "recorded"
    priority = 0

    def __init__(self, replies: deque[ChatResponse | None]) -> None:
        self._replies = replies

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id=self.name, display_name="Recorded answers")

    async def list_models(self) -> list[Any]:
        return []

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or [])

    async def complete(self, request: Any, **_: Any) -> ChatResponse:
        if not self._replies:
            raise LLMError("The recorded session asked the model no more.", provider=self.name)
        reply = self._replies.popleft()
        if reply is None:
            raise LLMError("This call failed in the recorded session.", provider=self.name)
        return reply


class _RecordedPerson:
    """Allows the calls that have run, and no others."""

    def __init__(self, records: list[Record]) -> None:
        self._ran = {each.data.get("tool_call_id") for each in records if each.event == TOOL_PRE}

    async def request_approval(self, prompt: str, options: list[str], *_: Any) -> str:
        scope = tool_call.get()
        wanted = "allow" if scope is not None and scope.call_id in self._ran else "deny"
        return next((each for each in options if each.lower().startswith(wanted)), wanted)


class _RecordedTool:
    """A tool that repeats its recorded results; otherwise it is the one it stands for."""

    def __init__(self, name: str, tool: Any, results: deque[Any]) -> None:
        self.name = name
        self.description = getattr(tool, "description", "")
        self.input_schema = getattr(tool, "input_schema", {"type": "object", "properties": {}})
        self.annotations = getattr(tool, "annotations", {})
        self._results = results

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        if not self._results:
            return ToolResult(success=False, error={"message": "There is no recorded result."})
        result = self._results.popleft()
        if isinstance(result, dict) and "output" in result:
            known = {name: result.get(name) for name in ("success", "output", "error")}
            return ToolResult(**known)
        return ToolResult(output=result)
