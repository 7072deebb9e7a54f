"""Reads stored messages, and makes validated `Message` objects of them."""

from __future__ import annotations

import json
import logging
from typing import Any

from amplifier_core.message_models import Message
from pydantic import ValidationError

from amplifier_modules.contexts.glance import at_a_glance

_ROLES = ("system", "developer", "user", "assistant", "function", "tool")

logger = logging.getLogger(__name__)


def metadata_of(message: dict[str, Any]) -> dict[str, Any]:
    """The metadata, or nothing if it is not what it should be."""
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def listed(value: Any) -> list[dict[str, Any]]:
    """The dicts of a list; nothing if it is none."""
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
    ready = at_a_glance(message)
    if ready is not None:
        return ready
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
        present = {b.get("id") for b in listed(content) if b.get("type") == "tool_call"}
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
        for call in listed(message.get("tool_calls"))
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
    return {str(key): value for key, value in given.items()}
