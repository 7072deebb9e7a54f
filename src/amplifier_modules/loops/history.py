"""What a conversation lacks when a turn is cut off, so that the next one can build on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

CUT_OFF = "[This turn was cut off before it was finished.]"


def tool_message(call_id: str, name: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def cancelled_answer(tool: str) -> str:
    """What stands in for the result of a call that was cut off."""
    return json.dumps({"error": "The tool call was cancelled.", "cancelled": True, "tool": tool})


def missing(
    stored: list[Any], answers: Mapping[str, Any], prompt_is_stored: bool
) -> list[dict[str, Any]]:
    """The messages that complete a history: results of open calls, and a last word.

    It is read from the history what was stored, because a context may be cut off while it
    stores. `answers` are the results by call id that are known already.
    """
    answered, last = _tail(stored)
    calls = last.get("tool_calls") or []
    if last.get("role") == "assistant" and not calls:
        return []
    if last.get("role") != "user" and not prompt_is_stored:
        return []  # it is how an earlier turn ended
    results = [_result(call, answers) for call in calls if call["id"] not in answered]
    closing = {"role": "assistant", "content": CUT_OFF, "metadata": {"incomplete": True}}
    return [*results, closing]


def _result(call: dict[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    call_id, tool = call["id"], call["tool"]
    answer = answers[call_id] if call_id in answers else cancelled_answer(tool)
    return tool_message(call_id, tool, answer)


def _tail(stored: list[Any]) -> tuple[set[Any], dict[str, Any]]:
    """Ids of the tool results at the end, and the message before them."""
    answered: set[Any] = set()
    for message in reversed(stored):
        fields = message if isinstance(message, dict) else message.model_dump()
        if fields.get("role") != "tool":
            return answered, fields
        answered.add(fields.get("tool_call_id"))
    return answered, {}
