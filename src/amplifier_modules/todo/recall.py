"""Finds the todo list of an earlier run in the conversation that was left behind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from amplifier_modules.todo.items import Item, UnreadableItems, read_items

# Searched for, not parsed: a context may keep only the beginning of a long result.
_SUCCEEDED = re.compile(r'"status"\s*:\s*"(?:created|updated)"')


def last_list(messages: Iterable[Any], tool_name: str) -> list[Item]:
    """The items of the newest call that replaced the list; none if there was no such call."""
    succeeded: set[str] = set()
    for message in reversed([each for each in messages if isinstance(each, dict)]):
        call_id = message.get("tool_call_id")
        if message.get("role") == "tool" and _SUCCEEDED.search(_text(message.get("content"))):
            succeeded.add(str(call_id))
        for call in reversed(_calls(message)):
            if call.get("tool", call.get("name")) == tool_name and str(call.get("id")) in succeeded:
                items = _items(call.get("arguments"))
                if items is not None:
                    return items
    return []


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []


def _items(arguments: Any) -> list[Item] | None:
    if not isinstance(arguments, dict):
        return None
    try:
        return read_items(arguments.get("todos"))
    except UnreadableItems:
        return None


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(block.get("text")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""
