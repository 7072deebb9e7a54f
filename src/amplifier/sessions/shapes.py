"""Makes messages such that every provider accepts them, whatever was written down."""

from __future__ import annotations

from typing import Any

from amplifier_core.models import ToolResult

from amplifier.sessions.record import to_json

Message = dict[str, Any]

_BLOCKS: dict[str, tuple[str, type]] = {
    "text": ("text", str),
    "thinking": ("thinking", str),
    "redacted_thinking": ("data", str),
    "image": ("source", dict),
    "reasoning": ("content", list),
}
"""Kinds of blocks, with the field that each must have."""

_PLAIN = frozenset({"role", "content"})
_OPTIONAL: dict[str, type] = {"name": str, "tool_call_id": str, "metadata": dict}


def in_shape(message: Message) -> Message:
    """The message with content and calls as the contract has them."""
    content = message.get("content")
    if content.__class__ is str and message.keys() <= _PLAIN:
        return message
    is_reply = message.get("role") == "assistant"
    shaped = {**message, "content": _content(content, is_reply)}
    for name, kind in _OPTIONAL.items():
        if name in shaped and not isinstance(shaped[name], kind):
            del shaped[name]
    shaped.pop("tool_calls", None)
    calls = _calls(message) if is_reply else []
    if calls:
        shaped["tool_calls"] = calls
    shaped["content"] = _only_known_calls(shaped["content"], calls)
    return shaped


def _content(content: Any, is_reply: bool) -> str | list[Any]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return [_block(each, is_reply) for each in content]
    return to_json(content)


def _block(block: Any, is_reply: bool) -> dict[str, Any]:
    if isinstance(block, dict):
        kind = block.get("type")
        if is_reply and kind == "tool_call":
            return block
        field = _BLOCKS.get(kind) if isinstance(kind, str) else None
        if field is not None and isinstance(block.get(field[0]), field[1]):
            return block
    return {"type": "text", "text": block if isinstance(block, str) else to_json(block)}


def _only_known_calls(content: Any, calls: list[dict[str, Any]]) -> Any:
    """The content with blocks for all known calls or for none, and for no others."""
    if not isinstance(content, list):
        return content
    kept, left = [], {call["id"]: call for call in calls}
    for block in content:
        if block.get("type") != "tool_call":
            kept.append(block)
        elif block.get("id") in left and isinstance(block.get("input"), dict):
            del left[block["id"]]
            kept.append(block)
    if len(left) < len(calls):
        kept += [
            {
                "type": "tool_call",
                "id": call["id"],
                "name": call["tool"],
                "input": call["arguments"],
            }
            for call in left.values()
        ]
    return kept


def _calls(message: Message) -> list[dict[str, Any]]:
    """The calls of a reply, each with an id of its own."""
    found: dict[str, dict[str, Any]] = {}
    listed = message.get("tool_calls")
    blocks = message.get("content")
    for call in [*_dicts(listed), *(b for b in _dicts(blocks) if b.get("type") == "tool_call")]:
        call_id, tool = call.get("id"), call.get("tool") or call.get("name")
        arguments = call.get("arguments", call.get("input"))
        if isinstance(call_id, str) and call_id and isinstance(tool, str) and tool:
            given = arguments if isinstance(arguments, dict) else {}
            found.setdefault(call_id, {"id": call_id, "tool": tool, "arguments": given})
    return list(found.values())


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def calls_of(message: Message) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, tool and arguments of the calls of a message that is in shape."""
    calls = message.get("tool_calls") or ()
    return [(each["id"], each["tool"], each["arguments"]) for each in calls]


def has_content(message: Message) -> bool:
    """Whether there is anything to read in it."""
    content = message.get("content")
    if isinstance(content, str):
        return bool(content.strip())
    return bool(content)


def result_text(result: Any) -> str:
    """What the model reads of a result as events carry it."""
    if isinstance(result, dict) and "output" in result:
        error = result.get("error")
        return ToolResult.model_construct(
            success=result.get("success") is not False,
            output=result["output"],
            error=error if isinstance(error, dict) else None,
        ).get_serialized_output()
    return ToolResult.model_construct(success=True, output=result).get_serialized_output()
