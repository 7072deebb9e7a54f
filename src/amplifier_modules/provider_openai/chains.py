"""Remembers which of the vendor's responses hold how much of a conversation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_core.message_models import ChatResponse, TextBlock

from amplifier_modules.providing.histories import Entry

RESPONSE_ID = "openai:response_id"
_KEPT = 64

Said = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Link:
    asked: str
    """A digest of everything before the response."""
    said: Said


class Chains:
    """A response is good to go on from as long as nobody has changed what came before it.

    Compaction and hooks do change it. Then the vendor's memory would not be ours any more, and
    the whole conversation is sent.
    """

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}

    def remember(self, response: ChatResponse, asked: Iterable[Any]) -> None:
        response_id = (response.metadata or {}).get(RESPONSE_ID)
        if response_id:
            self._links[response_id] = _Link(_digest(asked), _said(response))
            if len(self._links) > _KEPT:
                self._links.pop(next(iter(self._links)))

    def forget(self, response_id: str) -> None:
        self._links.pop(response_id, None)

    def find(self, entries: Sequence[Entry], items: Sequence[list[Any]]) -> tuple[str, int] | None:
        """The response to go on from, and how many entries it stands for."""
        for index in reversed(range(len(entries))):
            entry = entries[index]
            if entry.role != "assistant":
                continue
            response_id = entry.metadata.get(RESPONSE_ID)
            link = self._links.get(response_id) if isinstance(response_id, str) else None
            is_same = (
                link is not None
                and link.said == (entry.text, tuple(call.id for call in entry.calls))
                and link.asked == _digest(item for each in items[:index] for item in each)
            )
            return (str(response_id), index + 1) if is_same else None
        return None


def _said(response: ChatResponse) -> Said:
    texts = [each.text for each in response.content if isinstance(each, TextBlock)]
    return "\n\n".join(texts), tuple(call.id for call in response.tool_calls or ())


def _digest(items: Iterable[Any]) -> str:
    whole = json.dumps(list(items), sort_keys=True, default=str)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()
