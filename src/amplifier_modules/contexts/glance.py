"""Makes a `Message` of a stored one that is valid at a glance, as nearly all are.

Every step of a turn sends two new messages. Validation would find nothing to say about them,
and it takes longer than the rest of a context's work. What looks odd in any way is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from amplifier_core.message_models import Message, TextBlock, ToolCallBlock
from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)

_ROLES = ("system", "developer", "user", "assistant", "function", "tool")
_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name", "metadata"}
# In the order in which pydantic declares them.
_set_values, _set_fields_set, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__ for slot in BaseModel.__slots__
)


def at_a_glance(message: dict[str, Any]) -> Message | None:
    """What validation would make of the message, its calls as blocks; None if in doubt."""
    get: Callable[[str], Any] = message.get
    role, content, metadata = get("role"), get("content"), get("metadata")
    name, answered = get("name"), get("tool_call_id")
    if (
        content.__class__ is not str
        or role.__class__ is not str
        or role not in _ROLES
        or not message.keys() <= _FIELDS
        or (name is not None and name.__class__ is not str)
        or (answered is not None and answered.__class__ is not str)
        or not _is_plain_dict(metadata)
    ):
        return None
    extra: dict[str, Any] = {}
    if "tool_calls" in message:
        extra["tool_calls"] = calls = get("tool_calls")
        content = _blocks(content, calls) if calls.__class__ is list and calls else None
        if content is None:
            return None
    values = {
        "role": role,
        "content": content,
        "name": name,
        "tool_call_id": answered,
        "metadata": metadata.copy(),  # as validation does
    }
    return _made(Message, values, set(message), extra)


def _blocks(text: str, calls: list[Any]) -> list[Any] | None:
    blocks: list[Any] = []
    if text:
        values = {"type": "text", "text": text, "visibility": None}
        blocks.append(_made(TextBlock, values, {"type", "text"}, {}))
    for call in calls:
        if call.__class__ is not dict:
            return None
        get: Callable[[str], Any] = call.get
        call_id, tool, arguments = get("id"), get("tool"), get("arguments")
        if call_id.__class__ is not str or tool.__class__ is not str or not tool:
            return None
        if not _is_plain_dict(arguments):
            return None
        given = {"type": "tool_call", "id": call_id, "name": tool, "input": arguments.copy()}
        fields_set = set(given)
        given["visibility"] = None
        blocks.append(_made(ToolCallBlock, given, fields_set, {}))
    return blocks


def _is_plain_dict(value: Any) -> bool:
    return value.__class__ is dict and all([key.__class__ is str for key in value])  # noqa: C419 - quicker


def _made(
    model: type[Model], values: dict[str, Any], fields_set: set[str], extra: dict[str, Any]
) -> Model:
    made = object.__new__(model)
    _set_values(made, values)
    _set_fields_set(made, fields_set)
    _set_extra(made, extra)
    _set_private(made, None)
    return made
