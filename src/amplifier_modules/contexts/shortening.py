"""What is left of a message that had to be shortened."""

from __future__ import annotations

from typing import Any

from amplifier_modules.contexts.entries import Entry
from amplifier_modules.contexts.messages import metadata_of, text_of

WORTH_STUBBING = 80
PREVIEW = 50


def shortened_result(entry: Entry, chars: int) -> Entry | None:
    """A tool result cut to its first `chars` characters; None if that gains nothing."""
    message = entry.message
    if message.get("_truncated"):
        return None
    note = f"[Shortened tool result, about {entry.tokens} tokens{_whereabouts(message)}. It began:]"
    content = message.get("content")
    if isinstance(content, list):
        content = [_shortened_block(block, note, chars) for block in content]
    else:
        content = f"{note}\n{text_of(content)[:chars]}"
    flags = {"_truncated": True, "_original_tokens": entry.tokens}
    return _if_shorter(entry, {**message, "content": content, **flags})


def _whereabouts(message: dict[str, Any]) -> str:
    spill = metadata_of(message).get("spill")
    path = spill.get("path") if isinstance(spill, dict) else None
    return f"; the full text is in {path!r}" if path else ""


def _shortened_block(block: Any, note: str, chars: int) -> Any:
    if isinstance(block, dict) and block.get("type") == "tool_result":
        return {**block, "output": f"{note}\n{text_of(block.get('output'))[:chars]}"}
    return {"type": "text", "text": f"{note}\n{text_of([block])[:chars]}"}


def stubbed_user_message(entry: Entry) -> Entry | None:
    """A user's message as a note with its first words; None if that gains nothing."""
    message = entry.message
    text = text_of(message.get("content"))
    if message.get("_stubbed") or (len(text) <= WORTH_STUBBING and not _has_more(message)):
        return None
    preview = " ".join(text[:PREVIEW].split())
    content = f"[Earlier message of {len(text)} characters, beginning: {preview}...]"
    flags = {"_stubbed": True, "_original_length": len(text)}
    return _if_shorter(entry, {**message, "content": content, **flags})


def _has_more(message: dict[str, Any]) -> bool:
    """Whether the content is more than text, such as a picture."""
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") != "text" for block in content
    )


def _if_shorter(entry: Entry, message: dict[str, Any]) -> Entry | None:
    shorter = entry.with_message(message)
    return shorter if shorter.tokens < entry.tokens else None
