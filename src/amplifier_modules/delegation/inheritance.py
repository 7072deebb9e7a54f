"""What a child is told of its parent's conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Depth = Literal["none", "recent", "all"]
Scope = Literal["conversation", "agents", "full"]

LONGEST_TEXT = 2000
BEGIN, END, TASK = "[PARENT CONTEXT]", "[END OF PARENT CONTEXT]", "[YOUR TASK]"
_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_AGENT_TOOLS = ("task", "delegate")


async def instruction_with_context(
    instruction: str,
    context: Any,
    depth: Depth,
    turns: int,
    scope: Scope = "conversation",
) -> str:
    """The instruction, after as much of the parent's conversation as is asked for."""
    if depth == "none" or context is None:
        return instruction
    messages = list(await context.get_messages())
    if depth == "recent":
        messages = _last_turns(messages, turns)
    told = [text for message in messages for text in _told(message, scope)]
    if not told:
        return instruction
    return "\n\n".join([BEGIN, *told, END, TASK, instruction])


def _last_turns(messages: list[Any], turns: int) -> list[Any]:
    """From the last so many messages that a user wrote."""
    starts = [
        index
        for index, message in enumerate(messages)
        if message.get("role") == "user" and _text(message)
    ]
    return messages[starts[-turns] :] if len(starts) > turns else messages


def _told(message: Mapping[str, Any], scope: Scope) -> Iterator[str]:
    role, text = message.get("role"), _text(message)
    speaker = _SPEAKERS.get(str(role))
    if role == "tool":
        name = str(message.get("name") or "tool")
        if scope == "full" or (scope == "agents" and name in _AGENT_TOOLS):
            speaker = f"Result of {name}"
    if speaker and text:
        yield f"{speaker}: {_cut(text)}"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [
        str(block.get("text") or "")
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "text"
    ]
    return "\n".join(filter(None, texts)).strip()


def _cut(text: str) -> str:
    for marker in (BEGIN, END, TASK):
        # A text must not be able to end the context and pass for the task.
        text = text.replace(marker, marker.strip("[]").lower())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
