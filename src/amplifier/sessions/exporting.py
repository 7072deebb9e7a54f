"""A session for others to read: as a page, as data, or in the public layout."""

from __future__ import annotations

from typing import Any

from amplifier.sessions.projection import State
from amplifier.sessions.record import to_json


def text_of(message: dict[str, Any]) -> str:
    """What a person reads of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict)]
    calls = [f"-> {each['tool']}({to_json(each['arguments'])})" for each in _calls(message)]
    return "\n\n".join([*(each for each in texts if isinstance(each, str)), *calls])


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = message.get("tool_calls") or []
    return found


def described(state: State) -> dict[str, Any]:
    """What is known of a session beside its messages."""
    return {
        "session_id": state.session_id,
        "name": state.name,
        "parent_id": state.parent_id,
        "agent": state.agent,
        "children": [each.child_id for each in state.calls if each.child_id] or None,
        "forked_from": state.facts.get("forked_from"),
        "status": state.status,
        "created": state.created,
        "changed": state.changed,
        "working_dir": state.facts.get("working_dir"),
        "turns": len(state.turns),
        "messages": len(state.messages),
        "tool_calls": len(state.calls),
        "model_calls": state.spent.steps,
        "input_tokens": state.spent.input_tokens,
        "output_tokens": state.spent.output_tokens,
        "cost_usd": None if state.spent.cost is None else str(state.spent.cost),
        "composition": state.composition.get("hash"),
        "records": state.next_seq,
    }


def as_page(state: State) -> str:
    """The conversation in Markdown."""
    head = f"# {state.name or state.session_id}\n"
    parts = [f"## {each['role']}\n\n{text_of(each)}\n" for each in state.messages]
    return "\n".join([head, *parts])


def as_document(state: State) -> dict[str, Any]:
    turns = [
        {"number": each.number, "seq": each.seq, "prompt": each.prompt, "status": each.status}
        for each in state.turns
    ]
    return {**described(state), "turn_list": turns, "transcript": state.messages}
