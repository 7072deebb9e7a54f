"""A shown message with what compaction has to know about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from amplifier_modules.contexts.messages import (
    NOTICE_SOURCE,
    answers_in,
    calls_in,
    is_injected,
    metadata_of,
)
from amplifier_modules.contexts.tokens import estimate_tokens

Kind = Literal["kept", "user", "result", "notice", "other"]
"""What compaction may do: nothing, stub, shorten or remove, replace, remove."""


class Entry:
    """One message. Its dict is never changed; a shortened one is another entry."""

    __slots__ = ("kind", "message", "tokens", "unit")

    def __init__(self, message: dict[str, Any], tokens: int, kind: Kind, unit: int) -> None:
        self.message = message
        self.tokens = tokens
        self.kind = kind
        self.unit = unit
        """A call and its results have the same number: they stay or go together."""

    @property
    def role(self) -> Any:
        return self.message.get("role")

    @property
    def is_injected(self) -> bool:
        """Whether a hook or the context put it in, and neither the user nor the model."""
        return is_injected(self.message)

    def with_message(self, message: dict[str, Any]) -> Entry:
        """The same entry with another content."""
        return Entry(message, estimate_tokens(message), self.kind, self.unit)


def entries_of(messages: Iterable[dict[str, Any]], counts: Iterable[int]) -> list[Entry]:
    """Entries for messages in the order of a view: results behind the call they belong to."""
    entries: list[Entry] = []
    open_calls: dict[str, int] = {}
    for unit, (message, tokens) in enumerate(zip(messages, counts, strict=True)):
        answers = answers_in(message)
        units = [open_calls.pop(call) for call in answers if call in open_calls]
        kind = _kind(message, answers)
        entries.append(Entry(message, tokens, kind, units[0] if units else unit))
        for call in calls_in(message):
            open_calls[call] = unit
    return entries


def _kind(message: dict[str, Any], answers: tuple[str, ...]) -> Kind:
    role, metadata = message.get("role"), metadata_of(message)
    if role in ("system", "developer") or metadata.get("pinned"):
        return "kept"
    if metadata.get("source") == NOTICE_SOURCE:
        return "notice"
    if answers or role in ("tool", "function"):
        return "result"
    return "user" if role == "user" else "other"
