"""A message with what a context knows about it."""

from __future__ import annotations

from typing import Any, Literal

from amplifier_core.message_models import Message

from amplifier_modules.contexts.messages import listed, metadata_of, to_message
from amplifier_modules.contexts.tokens import estimate_tokens

Kind = Literal["kept", "user", "result", "notice", "other"]
"""What compaction may do: nothing, stub, shorten or remove, replace, remove."""

NOTICE_SOURCE = "context-compaction"
_INJECTORS = ("hook", NOTICE_SOURCE)


class Entry:
    """One admitted message. Its dict is never changed; a shortened one is another entry."""

    __slots__ = ("_kind", "_validated", "answers", "calls", "message", "role", "tokens", "unit")

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        self.tokens = estimate_tokens(message)
        self.role = message.get("role")
        is_reply = self.role == "assistant"
        self.calls = _calls(message) if is_reply else ()
        """Ids of the tool calls that it makes."""
        self.answers = () if is_reply else _answers(message)
        """Ids of the tool calls that it answers."""
        self.unit = 0
        """A call and its results have the same number: they stay or go together."""
        self._kind: Kind | None = None
        self._validated: Message | None = None

    @property
    def kind(self) -> Kind:
        """Found when it is first asked for: many conversations are never compacted."""
        if self._kind is None:
            self._kind = _kind(self)
        return self._kind

    @property
    def source(self) -> Any:
        return metadata_of(self.message).get("source")

    @property
    def is_injected(self) -> bool:
        """Whether a hook or the context put it in, and neither the user nor the model."""
        return self.source in _INJECTORS

    @property
    def is_static_prompt(self) -> bool:
        """Whether a system prompt factory takes its place."""
        pinned = metadata_of(self.message).get("pinned")
        return self.role == "system" and not self.is_injected and not pinned

    def with_message(self, message: dict[str, Any]) -> Entry:
        """The same entry with another content."""
        entry = Entry.__new__(Entry)
        entry.message, entry.tokens = message, estimate_tokens(message)
        entry.role, entry._kind, entry.unit = self.role, self.kind, self.unit
        entry.calls, entry.answers = self.calls, self.answers
        entry._validated = None
        return entry

    def validated(self) -> Message:
        """The message as a request carries it; validated once."""
        if self._validated is None:
            self._validated = to_message(self.message)
        return self._validated


def _kind(entry: Entry) -> Kind:
    metadata = metadata_of(entry.message)
    if entry.role in ("system", "developer") or metadata.get("pinned"):
        return "kept"
    if metadata.get("source") == NOTICE_SOURCE:
        return "notice"
    if entry.answers or entry.role in ("tool", "function"):
        return "result"
    return "user" if entry.role == "user" else "other"


def _calls(message: dict[str, Any]) -> tuple[str, ...]:
    calls = message.get("tool_calls")
    ids = [str(call.get("id")) for call in listed(calls)] if calls else ()
    return (*ids, *_ids_in(message, "tool_call", "id"))


def _answers(message: dict[str, Any]) -> tuple[str, ...]:
    answered = message.get("tool_call_id")
    in_blocks = _ids_in(message, "tool_result", "tool_call_id")
    return (str(answered), *in_blocks) if answered else in_blocks


def _ids_in(message: dict[str, Any], kind: str, field: str) -> tuple[str, ...]:
    content = message.get("content")
    if not isinstance(content, list):
        return ()
    return tuple(str(block.get(field)) for block in listed(content) if block.get("type") == kind)
