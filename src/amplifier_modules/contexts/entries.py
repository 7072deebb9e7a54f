"""A shown message with what compaction has to know about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from amplifier_modules.contexts.messages import (
    NOTICE_SOURCE,
    answers_in,
    calls_in,
    is_injected,
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
    for index, (message, tokens) in enumerate(zip(messages, counts, strict=True)):
        role, unit = message.get("role"), index
        kind: Kind = "user" if role == "user" else "other"
        if role == "assistant":
            for call in calls_in(message):
                open_calls[call] = index
        else:
            answers = answers_in(message)
            if answers or role in ("tool", "function"):
                kind = "result"
            for call in reversed(answers):
                unit = open_calls.pop(call, unit)
        entries.append(Entry(message, tokens, _special_kind(message, role) or kind, unit))
    return entries


def _special_kind(message: dict[str, Any], role: Any) -> Kind | None:
    if role in ("system", "developer"):
        return "kept"
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        return None
    if metadata.get("pinned"):
        return "kept"
    return "notice" if metadata.get("source") == NOTICE_SOURCE else None
