"""A message with what a context knows about it, and its form as a validated `Message`."""

from __future__ import annotations

import json
import logging
from typing import Any, Literal

from amplifier_core.message_models import Message
from pydantic import ValidationError

from amplifier_modules.contexts.tokens import estimate_tokens

Kind = Literal["kept", "user", "result", "notice", "other"]
"""What compaction may do: nothing, stub, shorten or remove, replace, remove."""

NOTICE_SOURCE = "context-compaction"
_INJECTORS = ("hook", NOTICE_SOURCE)
_ROLES = ("system", "developer", "user", "assistant", "function", "tool")

logger = logging.getLogger(__name__)


class Entry:
    """One admitted message. Its dict is never changed; a shortened one is another entry."""

    __slots__ = ("_validated", "answers", "calls", "kind", "message", "role", "tokens", "unit")

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        self.tokens = estimate_tokens(message)
        self.role = message.get("role")
        is_reply = self.role == "assistant"
        self.calls = _calls(message) if is_reply else ()
        """Ids of the tool calls that it makes."""
        self.answers = () if is_reply else _answers(message)
        """Ids of the tool calls that it answers."""
        self.kind = _kind(self)
        self.unit = 0
        """A call and its results have the same number: they stay or go together."""
        self._validated: Message | None = None

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
        entry.role, entry.kind, entry.unit = self.role, self.kind, self.unit
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


def metadata_of(message: dict[str, Any]) -> dict[str, Any]:
    """The metadata, or nothing if it is not what it should be."""
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _calls(message: dict[str, Any]) -> tuple[str, ...]:
    calls = [str(call.get("id")) for call in _listed(message.get("tool_calls"))]
    return (*calls, *_ids_in(message, "tool_call", "id"))


def _answers(message: dict[str, Any]) -> tuple[str, ...]:
    answered = message.get("tool_call_id")
    in_blocks = _ids_in(message, "tool_result", "tool_call_id")
    return (str(answered), *in_blocks) if answered else in_blocks


def _ids_in(message: dict[str, Any], kind: str, field: str) -> tuple[str, ...]:
    content = message.get("content")
    if not isinstance(content, list):
        return ()
    return tuple(str(block.get(field)) for block in _listed(content) if block.get("type") == kind)


def _listed(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(content: Any) -> str:
    """The text in a message's content, whatever its shape."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n\n".join(filter(None, map(_block_text, content)))
    return json.dumps(content, ensure_ascii=False, default=str)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return text_of(block)
    for field in ("text", "thinking", "output"):
        if field in block:
            return text_of(block[field])
    return ""


def to_message(message: dict[str, Any]) -> Message:
    """`message` as providers expect it: tool calls are blocks of its content.

    `tool_calls` stays beside them, as public loops leave it. What cannot be validated
    becomes plain text, with a warning.
    """
    fields = {key: value for key, value in message.items() if key[:1] != "_"}
    calls = _call_blocks(message) if "tool_calls" in message else []
    content = fields.get("content")
    if content is None or isinstance(content, str | list):
        fields["content"] = _with_calls(content, calls)
    else:
        fields["content"] = text_of(content)
    try:
        return Message.model_validate(fields)
    except ValidationError as error:
        what = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors()[:3])
        logger.warning("A %r message is sent as plain text: %s", message.get("role"), what)
        return _as_plain_text(message, calls)


def _as_plain_text(message: dict[str, Any], calls: list[dict[str, Any]]) -> Message:
    role, answered = message.get("role"), message.get("tool_call_id")
    fields = {
        "role": role if role in _ROLES else "user",
        "content": _with_calls(text_of(message.get("content")), calls),
        "tool_call_id": None if answered is None else str(answered),
    }
    return Message.model_validate(fields)


def _with_calls(content: str | list[Any] | None, calls: list[dict[str, Any]]) -> str | list[Any]:
    if isinstance(content, list):
        present = {b.get("id") for b in _listed(content) if b.get("type") == "tool_call"}
        return [*content, *(call for call in calls if call["id"] not in present)]
    if not calls:
        return content or ""
    return [{"type": "text", "text": content}, *calls] if content else list(calls)


def _call_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_call",
            "id": str(call.get("id")),
            "name": str(call.get("tool") or call.get("name") or "unknown"),
            "input": _arguments(call.get("arguments")),
        }
        for call in _listed(message.get("tool_calls"))
    ]


def _arguments(given: Any) -> dict[str, Any]:
    """Arguments as a dict; some providers leave them as JSON text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {"arguments": given}
    if given is None:
        return {}
    return given if isinstance(given, dict) else {"arguments": given}
