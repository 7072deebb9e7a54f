"""Tells the model that it no longer sees everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from amplifier_modules.contexts.messages import NOTICE_SOURCE

Verbosity = Literal["minimal", "normal", "verbose"]

_FRAME = '<system-reminder source="{source}">\n{text}\n</system-reminder>'
_MINIMAL = "Older parts of this conversation were shortened."
_ADVICE = (
    "What is missing is not lost: read files again, or repeat a tool call, when you need it. "
    "Do not guess what a shortened result said."
)


def notice(shown: Sequence[dict[str, Any]], removed: int, verbosity: Verbosity) -> dict[str, Any]:
    """A reminder for the tail of the view; a user message, so that no provider moves it."""
    return {
        "role": "user",
        "content": _FRAME.format(source=NOTICE_SOURCE, text=_text(shown, removed, verbosity)),
        "metadata": {"source": NOTICE_SOURCE, "ephemeral": True},
    }


def _text(shown: Sequence[dict[str, Any]], removed: int, verbosity: Verbosity) -> str:
    if verbosity == "minimal":
        return _MINIMAL
    losses = (
        (removed, "messages left out"),
        (_marked(shown, "_truncated"), "tool results cut to their beginning"),
        (_marked(shown, "_stubbed"), "user messages cut to their first words"),
    )
    counted = ", ".join(f"{count} {what}" for count, what in losses if count)
    text = f"{_MINIMAL} So far: {counted}."
    return text if verbosity == "normal" else f"{text}\n{_ADVICE}"


def _marked(shown: Sequence[dict[str, Any]], flag: str) -> int:
    return sum(1 for message in shown if message.get(flag))
