"""Reads stored messages, and makes validated `Message` objects of them."""

from __future__ import annotations

import json
import logging
from typing import Any

from amplifier_core.message_models import Message
from pydantic import ValidationError

_ROLES = ("system", "developer", "user", "assistant", "function", "tool")
_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name", "metadata"}

NOTICE_SOURCE = "context-compaction"
_INJECTORS = ("hook", NOTICE_SOURCE)

logger = logging.getLogger(__name__)


def metadata_of(message: dict[str, Any]) -> dict[str, Any]:
    """The metadata, or nothing if it is not what it should be."""
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def listed(value: Any) -> list[dict[str, Any]]:
    """The dicts of a list; nothing if it is none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def is_injected(message: dict[str, Any]) -> bool:
    """Whether a hook or the context put it in, and neither the user nor the model."""
    return metadata_of(message).get("source") in _INJECTORS


def is_static_prompt(message: dict[str, Any]) -> bool:
    """Whether a system prompt factory takes its place."""
    is_system = message.get("role") == "system" and not is_injected(message)
    return is_system and not metadata_of(message).get("pinned")


def calls_in(message: dict[str, Any]) -> tuple[str, ...]:
    """Ids of the tool calls that an assistant's message makes."""
    if message.get("role") != "assistant":
        return ()
    calls, content = message.get("tool_calls"), message.get("content")
    ids: tuple[str, ...] = ()
    if isinstance(calls, list):
        ids = tuple([str(call.get("id")) for call in calls if isinstance(call, dict)])
    if isinstance(content, list):
        return (*ids, *_ids_in(content, "tool_call", "id"))
    return ids


def answers_in(message: dict[str, Any]) -> tuple[str, ...]:
    """Ids of the tool calls that a message answers; the assistant's answer none."""
    if message.get("role") == "assistant":
        return ()
    answered, content = message.get("tool_call_id"), message.get("content")
    ids = (str(answered),) if answered else ()
    if isinstance(content, list):
        return (*ids, *_ids_in(content, "tool_result", "tool_call_id"))
    return ids


def _ids_in(content: list[Any], kind: str, field: str) -> list[str]:
    return [str(block.get(field)) for block in listed(content) if block.get("type") == kind]


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
    fields, content = message, message.get("content")
    calls = _call_blocks(message["tool_calls"]) if "tool_calls" in message else []
    if not message.keys() <= _FIELDS:
        fields = {key: value for key, value in message.items() if key[:1] != "_"}
    if calls or not isinstance(content, str):
        fields = {**fields, "content": _with_calls(content, calls)}
    try:
        # As `Message.model_validate`, without asking how: it is done for every message.
        sent: Message = Message.__pydantic_validator__.validate_python(fields)
    except ValidationError as error:
        what = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors()[:3])
        logger.warning("A %r message is sent as plain text: %s", message.get("role"), what)
        return _as_plain_text(message, calls)
    return sent


def _as_plain_text(message: dict[str, Any], calls: list[dict[str, Any]]) -> Message:
    role, answered = message.get("role"), message.get("tool_call_id")
    fields = {
        "role": role if role in _ROLES else "user",
        "content": _with_calls(text_of(message.get("content")), calls),
        "tool_call_id": None if answered is None else str(answered),
    }
    return Message.model_validate(fields)


def _with_calls(content: Any, calls: list[dict[str, Any]]) -> str | list[Any]:
    if isinstance(content, str) or content is None:
        if not calls:
            return content or ""
        return [{"type": "text", "text": content}, *calls] if content else calls
    if not isinstance(content, list):
        return text_of(content)
    present = {b.get("id") for b in listed(content) if b.get("type") == "tool_call"}
    return [*content, *(call for call in calls if call["id"] not in present)]


def _call_blocks(calls: Any) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_call",
            "id": str(call.get("id")),
            "name": str(call.get("tool") or call.get("name") or "unknown"),
            "input": _arguments(call.get("arguments")),
        }
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
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
    if not isinstance(given, dict):
        return {"arguments": given}
    for key in given:
        if not isinstance(key, str):
            return {str(key): value for key, value in given.items()}
    return given
