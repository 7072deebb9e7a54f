"""Writes a request in the words of the Chat Completions API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
)

from amplifier_modules.providing.histories import Entry, History

from .requests import Json, chosen_tool, function, image_url, is_native, json_schema, note


def messages(history: History) -> list[Json]:
    """Instructions first, then the conversation.

    Results hold texts alone: pictures follow them, in a message of the user.
    """
    system = "\n\n".join(e.text for e in history.entries if e.role == "system" and e.text.strip())
    written: list[Json] = [{"role": "system", "content": system}] if system else []
    pictures: list[Json] = []
    for entry in history.entries:
        if entry.role == "tool":
            written.append(_result(entry))
            pictures += _pictures(entry)
            continue
        if pictures:
            written.append({"role": "user", "content": pictures})
            pictures = []
        if entry.role != "system":
            written += _message(entry)
    return [*written, {"role": "user", "content": pictures}] if pictures else written


def _message(entry: Entry) -> list[Json]:
    if entry.role == "assistant":
        return _assistant(entry)
    if entry.role == "developer":
        text = f"<context_file>\n{entry.text}\n</context_file>"
        return [{"role": "user", "content": text}] if entry.text else []
    if all(isinstance(each, TextBlock) for each in entry.blocks):
        return [{"role": "user", "content": entry.text}] if entry.text else []
    parts = [part for each in entry.blocks if (part := _part(each)) is not None]
    return [{"role": "user", "content": parts}] if parts else []


def _assistant(entry: Entry) -> list[Json]:
    calls = [_call(each) for each in entry.calls]
    if not calls and not entry.text:
        return []
    message: Json = {"role": "assistant", "content": entry.text or None}
    return [message | ({"tool_calls": calls} if calls else {})]


def _call(block: ToolCallBlock) -> Json:
    arguments = json.dumps(block.input, ensure_ascii=False)
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": arguments},
    }


def _part(block: ContentBlockUnion) -> Json | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text} if block.text else None
    if isinstance(block, ImageBlock):
        return {"type": "image_url", "image_url": {"url": image_url(block.source)}}
    return None


def _result(entry: Entry) -> Json:
    return {"role": "tool", "tool_call_id": entry.call_id, "content": entry.text}


def _pictures(entry: Entry) -> list[Json]:
    images = [
        part for each in entry.blocks if isinstance(each, ImageBlock) and (part := _part(each))
    ]
    said = {"type": "text", "text": f"What the call {entry.call_id} of a tool shows:"}
    return [said, *images] if images else []


def tools(specs: Iterable[ToolSpec] | None) -> tuple[list[Json], list[Degradation]]:
    """Functions; the tools that only a vendor has cannot be had here."""
    written, notes = [], []
    for spec in specs or ():
        if is_native(spec):
            reason = "Chat Completions has functions only"
            notes.append(note(f"the vendor's tool {spec.name!r}", "no such tool", reason))
            continue
        described = function(spec)
        if not described["strict"]:
            # Many servers do not know the word.
            del described["strict"]
        written.append({"type": "function", "function": described})
    return written, notes


def tool_choice(asked: str | Mapping[str, Any] | None) -> str | Json | None:
    choice = chosen_tool(asked)
    if isinstance(choice, tuple):
        return {"type": "function", "function": {"name": choice[0]}}
    return choice


def response_format(request: ChatRequest) -> Json | None:
    wanted = request.response_format
    if isinstance(wanted, ResponseFormatJsonSchema):
        return {"type": "json_schema", "json_schema": json_schema(wanted)}
    return {"type": "json_object"} if isinstance(wanted, ResponseFormatJson) else None
