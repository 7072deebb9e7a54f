"""What a log means: transcript, turns, calls, cost. Pure: the same records, the same state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier_core.events import PROMPT_SUBMIT, PROVIDER_RESPONSE, TOOL_POST, TOOL_PRE

from amplifier.budget import Spent
from amplifier.sessions import events
from amplifier.sessions.packing import unpacked_message
from amplifier.sessions.record import Record
from amplifier.sessions.sentences import CHILD, CUT_OFF, INTERRUPTED, NO_BEGINNING, NOT_STARTED
from amplifier.sessions.shapes import calls_of, has_content, in_shape, result_text

Message = dict[str, Any]
AGENT_SPAWNED = ":agent_spawned"
_SYSTEM = ("system", "developer")
CallState = Literal["planned", "asked", "started", "finished"]
"""A planned or asked call never ran; a started one may have; a finished one did, or was refused."""


@dataclass(slots=True)
class Call:
    """A tool call, and how far it got."""

    call_id: str
    tool: str
    planned: dict[str, Any]
    """What the model wrote."""
    input: dict[str, Any]
    """What it is run with, after hooks have changed it."""
    state: CallState = "planned"
    effect: str = "external"
    idempotency_key: str | None = None
    result: Any = None
    result_seq: int | None = None
    child_id: str | None = None
    """The session that does its work, if it hands that on."""
    answer: Message | None = None
    """The message that answers it."""


@dataclass(slots=True)
class Turn:
    """A prompt and what came of it."""

    number: int
    seq: int
    prompt: str
    status: str = "interrupted"
    end_seq: int | None = None


@dataclass(slots=True)
class State:
    """A session as its log tells it."""

    session_id: str = ""
    parent_id: str | None = None
    created: str = ""
    changed: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    """What was said when it was created: where, with which options, from what it was copied."""
    name: str | None = None
    composition: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    limits: dict[str, Any] = field(default_factory=dict)
    """What it may spend at most, as last said on a command line."""
    next_seq: int = 0

    @property
    def agent(self) -> str | None:
        """For a child, which agent it is."""
        plan = self.composition.get("plan")
        session = plan.get("session") if isinstance(plan, dict) else None
        metadata = session.get("metadata") if isinstance(session, dict) else None
        return metadata.get("agent_name") if isinstance(metadata, dict) else None

    @property
    def is_cut_off(self) -> bool:
        """Whether its last turn was never ended."""
        return bool(self.turns) and self.turns[-1].end_seq is None

    @property
    def open_calls(self) -> list[Call]:
        """Calls that no message answers yet."""
        return [each for each in self.calls if each.answer is None]

    @property
    def status(self) -> str:
        if not self.turns:
            return "new"
        return "interrupted" if self.is_cut_off else self.turns[-1].status


def project(records: Iterable[Record]) -> State:
    """The state that a log leads to. Any sequence of records leads to a valid transcript."""
    projector = _Projector()
    for record in records:
        projector.take(record)
    return projector.finish()


class _Projector:
    def __init__(self) -> None:
        self.state = State()
        self._texts: dict[int, str] = {}
        """Prompts by the number of their record: messages refer to them."""
        self._results: dict[int, Any] = {}
        self._group: _Group | None = None
        self._readers = {
            events.CREATED: self._created,
            events.NAMED: self._named,
            events.COMPOSED: self._composed,
            events.LIMITED: self._limited,
            events.MESSAGE: self._message,
            events.REPLACED: self._replaced,
            events.ASKED: self._asked,
            events.ANSWERED: self._answered,
            events.TURN_END: self._turn_ended,
            PROMPT_SUBMIT: self._prompted,
            PROVIDER_RESPONSE: self._responded,
            TOOL_PRE: self._started,
            TOOL_POST: self._returned,
        }

    def take(self, record: Record) -> None:
        state = self.state
        state.changed, state.next_seq = record.ts, record.seq + 1
        reader = self._readers.get(record.event)
        if reader is not None:
            reader(record)
        elif record.event.endswith(AGENT_SPAWNED):
            self._delegated(record)

    def finish(self) -> State:
        self._close_group()
        messages = self.state.messages
        if messages and messages[-1]["role"] != "assistant":
            messages.append(_closing())
        first = next(
            (each for each in messages if each["role"] not in ("system", "developer")), None
        )
        if first is not None and first["role"] != "user":
            messages.insert(messages.index(first), {"role": "user", "content": NO_BEGINNING})
        return self.state

    # -- the session ------------------------------------------------------------------

    def _created(self, record: Record) -> None:
        data, state = record.data, self.state
        state.session_id = str(data.get("session_id", ""))
        state.parent_id = data.get("parent_id")
        state.created, state.facts = record.ts, data

    def _named(self, record: Record) -> None:
        name = record.data.get("name")
        self.state.name = str(name) if name else None

    def _composed(self, record: Record) -> None:
        self.state.composition = record.data

    def _limited(self, record: Record) -> None:
        self.state.limits = record.data

    def _prompted(self, record: Record) -> None:
        prompt = str(record.data.get("prompt", ""))
        self._texts[record.seq] = prompt
        turns = self.state.turns
        turns.append(Turn(len(turns) + 1, record.seq, prompt))

    def _turn_ended(self, record: Record) -> None:
        turns = self.state.turns
        if turns and turns[-1].end_seq is None:
            turns[-1].status = str(record.data.get("status", "success"))
            turns[-1].end_seq = record.seq

    def _responded(self, record: Record) -> None:
        self._count(record.data)

    def _count(self, data: dict[str, Any]) -> None:
        if "provider" in data:
            self.state.spent.steps += 1
        if "provider" in data or isinstance(data.get("usage"), dict):
            self.state.spent.add(data.get("usage"))

    # -- messages ---------------------------------------------------------------------

    def _message(self, record: Record) -> None:
        data = record.data
        self._count(data)
        message = data.get("message")
        if isinstance(message, dict):
            self._add(self._whole(message, data))

    def _whole(self, message: Message, data: dict[str, Any]) -> Message:
        """A message with the content that it shares with another record."""
        same_as = data.get("content_of")
        if same_as is None:
            return unpacked_message(message)
        if same_as in self._texts:
            return {**message, "content": self._texts[same_as]}
        result = self._results.get(same_as)
        if data.get("part") == "output" and isinstance(result, dict):
            return {**message, "content": result.get("output")}
        return {**message, "content": result_text(result)}

    def _replaced(self, record: Record) -> None:
        self._close_group()
        self.state.messages.clear()
        given = record.data.get("messages")
        for message in given if isinstance(given, list) else ():
            if isinstance(message, dict):
                self._add(unpacked_message(message))

    def _add(self, message: Message) -> None:
        role = message.get("role")
        if role == "tool":
            self._answer(message)
        elif role == "assistant":
            self._close_group()
            self._add_reply(in_shape(message))
        elif role == "user":
            self._close_group()
            self._keep(in_shape(message))
        elif role in _SYSTEM:
            if self._group is not None:
                self._group.later.append(in_shape(message))
            else:
                self._keep(in_shape(message))

    def _keep(self, message: Message) -> None:
        if has_content(message):
            self.state.messages.append(message)

    def _add_reply(self, message: Message) -> None:
        calls = [Call(*each, input=each[-1]) for each in calls_of(message)]
        if calls:
            self.state.calls += calls
            self._group = _Group(message, calls)
        else:
            self._keep(message)

    def _answer(self, message: Message) -> None:
        call = self._open_call(message.get("tool_call_id"))
        if call is None or self._group is None:
            return
        call.answer = in_shape(message)
        call.state = "finished"
        if all(each.answer is not None for each in self._group.calls):
            self._close_group()

    def _close_group(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            answers = [call.answer or stand_in(call) for call in group.calls]
            self.state.messages += [group.message, *answers]
            for message in group.later:
                self._keep(message)

    # -- calls ------------------------------------------------------------------------

    def _open_call(self, call_id: Any) -> Call | None:
        calls = self._group.calls if self._group is not None else ()
        return next(
            (each for each in calls if each.call_id == call_id and each.answer is None), None
        )

    def _started(self, record: Record) -> None:
        call = self._open_call(record.data.get("tool_call_id"))
        if call is not None and call.state != "finished":
            call.state = "started"
            call.input = record.data.get("tool_input", call.input)
            call.effect = str(record.data.get("effect", call.effect))
            call.idempotency_key = record.data.get("idempotency_key")

    def _asked(self, record: Record) -> None:
        call = self._open_call(record.data.get("tool_call_id"))
        if call is not None and call.state == "started":
            call.state = "asked"

    def _answered(self, record: Record) -> None:
        call = self._open_call(record.data.get("tool_call_id"))
        if call is not None and call.state == "asked":
            call.state = "started"

    def _delegated(self, record: Record) -> None:
        call = self._open_call(record.data.get("tool_call_id"))
        if call is not None:
            call.child_id = record.data.get("sub_session_id")

    def _returned(self, record: Record) -> None:
        self._results[record.seq] = record.data.get("result")
        call = self._open_call(record.data.get("tool_call_id"))
        if call is not None:
            call.state, call.result = "finished", record.data.get("result")
            call.result_seq = record.seq


@dataclass(slots=True)
class _Group:
    """A reply with calls, until all of them are answered."""

    message: Message
    calls: list[Call]
    later: list[Message] = field(default_factory=list)


def stand_in(call: Call) -> Message:
    """The answer to a call that has none: its result, or why there is none."""
    if call.state == "finished":
        content = result_text(call.result)
    else:
        content = unknown_outcome(call) if call.state == "started" else NOT_STARTED
    return {"role": "tool", "tool_call_id": call.call_id, "name": call.tool, "content": content}


def unknown_outcome(call: Call) -> str:
    """What the model is told of a call that was cut off."""
    return INTERRUPTED + (CHILD.format(call.child_id) if call.child_id else "")


def _closing() -> Message:
    return {"role": "assistant", "content": CUT_OFF, "metadata": {"incomplete": True}}
