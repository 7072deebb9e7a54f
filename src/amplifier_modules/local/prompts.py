"""Turns a request into what the engine reads. The model's own chat template does the rest.

Templates differ in the roles that they accept, so everything is said in three of them:
system, user, assistant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
)

from .choices import ANSWER, ARGUMENTS, TOOL, Choice
from .options import LocalSettings

_INSTRUCTING = ("system", "developer")
_RESULT = "Result of"
_IMAGE = "[An image was here. This model cannot see.]"


# Keeps the demo model from saying the same thing for ever.
_AGAINST_LOOPS = {"dry_multiplier": 0.8, "dry_allowed_length": 3}


def body(request: ChatRequest, choice: Choice, settings: LocalSettings) -> dict[str, Any]:
    """The request in the engine's form, but for the response format."""
    wishes = {
        "temperature": settings.temperature if request.temperature is None else request.temperature,
        "top_p": request.top_p,
        "seed": settings.seed,
        # Inside JSON a stop word would leave half an object.
        "stop": None if choice.is_constrained else request.stop,
    }
    return {
        "messages": conversation(request, choice, tersely=settings.is_demo),
        "max_tokens": request.max_output_tokens or settings.output_limit(),
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        **(_AGAINST_LOOPS if settings.is_demo else {}),
        **{key: value for key, value in wishes.items() if value is not None},
    }


def conversation(request: ChatRequest, choice: Choice, *, tersely: bool) -> list[dict[str, str]]:
    """One system message, then user and assistant in turn."""
    instructions = [_text(each) for each in request.messages if each.role in _INSTRUCTING]
    if choice.tools:
        instructions.append(_how_to_call(choice, tersely))
    said = list(_turns(request.messages))
    if tersely and not choice.tools:
        _ask_for_words(said)
    system = "\n\n".join(text for text in instructions if text)
    return [{"role": "system", "content": system}, *said] if system else said


def _ask_for_words(said: list[dict[str, str]]) -> None:
    """A demo model repeats the form of what it reads: show it no JSON when words are wanted."""
    asked = ""
    for turn in said:
        if turn["role"] == "assistant" and turn["content"].startswith("{"):
            turn["content"] = "Let me find out."
        elif turn["role"] == "user" and turn["content"].startswith(_RESULT):
            turn["content"] += f"\n\nNow answer in one short sentence: {asked}"
        elif turn["role"] == "user":
            asked = turn["content"]


def _turns(messages: list[Message]) -> Iterator[dict[str, str]]:
    names = _call_names(messages)
    turn: dict[str, str] = {}
    for message in messages:
        if message.role in _INSTRUCTING:
            continue
        role = "assistant" if message.role == "assistant" else "user"
        text = _text(message, names)
        if turn.get("role") == role:
            turn["content"] += f"\n\n{text}"
            continue
        if turn:
            yield turn
        turn = {"role": role, "content": text}
    if turn:
        yield turn


def _text(message: Message, call_names: dict[str, str] | None = None) -> str:
    content = message.content
    parts = [content] if isinstance(content, str) else [_block_text(each) for each in content]
    parts += [_call_text(name, arguments) for _, name, arguments in _extra_calls(message)]
    text = "\n".join(part for part in parts if part)
    if message.role in ("tool", "function"):
        name = message.name or (call_names or {}).get(message.tool_call_id or "", "a tool")
        return f"{_RESULT} {name}:\n{text}"
    return text


def _block_text(block: Any) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolCallBlock():
            return _call_text(block.name, block.input)
        case ToolResultBlock():
            return block.output if isinstance(block.output, str) else _json(block.output)
    return _IMAGE if block.type == "image" else ""


def _extra_calls(message: Message) -> Iterator[tuple[str, str, Any]]:
    """Id, name and arguments of the calls that a context keeps beside the content."""
    in_blocks = {
        each.id for each in message.content if isinstance(each, ToolCallBlock)
    }  # fmt: skip
    for call in (message.model_extra or {}).get("tool_calls") or ():
        name = call.get(TOOL) or call.get("name") if isinstance(call, dict) else None
        if name and call.get("id") not in in_blocks:
            yield str(call.get("id")), str(name), call.get(ARGUMENTS)


def _call_names(messages: Iterable[Message]) -> dict[str, str]:
    names: dict[str, str] = {}
    for message in messages:
        names |= {call_id: name for call_id, name, _ in _extra_calls(message)}
        names |= {each.id: each.name for each in message.content if isinstance(each, ToolCallBlock)}
    return names


def _call_text(name: str, arguments: Any) -> str:
    return _json({TOOL: name, ARGUMENTS: arguments or {}})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _how_to_call(choice: Choice, tersely: bool) -> str:
    describe = _in_a_line if tersely else _in_full
    lines = ["You can use these tools:", *(describe(tool) for tool in choice.tools)]
    lines.append(
        f'To use one, reply with JSON: its name under "{TOOL}", what it needs under "{ARGUMENTS}". '
        "You are then told its result."
    )
    if choice.may_answer:
        lines.append(f'To answer the user, reply with JSON: your words under "{ANSWER}".')
    return "\n".join(lines)


def _in_full(tool: ToolSpec) -> str:
    return f"- {tool.name}: {tool.description or ''}\n  {ARGUMENTS}: {_json(tool.parameters)}"


def _in_a_line(tool: ToolSpec) -> str:
    """A demo model reads slowly and understands little: names and types must do."""
    properties = tool.parameters.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    needed = tool.parameters.get("required") or names
    arguments = ", ".join(name for name in names if name in needed)
    summary = (tool.description or "").strip().partition("\n")[0].partition(". ")[0][:120]
    return f"- {tool.name}({arguments}): {summary}"
