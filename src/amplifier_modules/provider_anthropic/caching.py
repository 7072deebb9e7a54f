"""Marks the parts of a request that the vendor is to keep for the next one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from .options import AnthropicSettings

_CANNOT_BE_MARKED = ("thinking", "redacted_thinking")
_CONVERSATIONS_KEPT = 16


class CacheMarks:
    """Sets up to four marks: instructions, tools, and two in the conversation.

    Hooks may end a request with messages that the next request does not have. A mark after
    them would never be met again, so successive requests are compared, and the mark
    goes before as many messages as were exchanged the last time.
    """

    def __init__(self, settings: AnthropicSettings) -> None:
        self._settings = settings
        self._last: dict[str, list[str]] = {}

    def mark(self, body: dict[str, Any], conversation: str | None) -> dict[str, Any]:
        """`body` with marks on copies of what is marked."""
        if not self._settings.enable_prompt_caching:
            return body
        stable = {"type": "ephemeral"}
        if self._settings.cache_stable_region_ttl_1h:
            stable["ttl"] = "1h"
        marked = dict(body)
        for part in ("system", "tools"):
            if body.get(part):
                *others, last = body[part]
                marked[part] = [*others, last | {"cache_control": stable}]
        messages = list(body["messages"])
        for index in self._places(messages, conversation or ""):
            messages[index] = _marked(messages[index])
        return marked | {"messages": messages}

    def _places(self, messages: Sequence[dict[str, Any]], conversation: str) -> list[int]:
        ends = [index for index, each in enumerate(messages) if _can_be_marked(each)]
        if not self._settings.cache_infer_stability_from_history:
            return ends[-2:]
        digests = [_digest(each) for each in messages]
        before = self._last.pop(conversation, [])
        self._last[conversation] = digests
        if len(self._last) > _CONVERSATIONS_KEPT:
            self._last.pop(next(iter(self._last)))
        shared = _common(before, digests)
        if not shared:
            return ends[-2:]
        exchanged = len(before) - shared
        end = max(shared, len(messages) - exchanged)
        before_shared_ends = [index for index in ends if index < shared][-1:]
        before_end = [index for index in ends if index < end][-1:]
        return sorted({*before_shared_ends, *before_end})


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _digest(message: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(message, default=str).encode(), digest_size=16).hexdigest()


def _can_be_marked(message: dict[str, Any]) -> bool:
    content = message["content"]
    return bool(content) and content[-1]["type"] not in _CANNOT_BE_MARKED


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    *others, last = message["content"]
    return message | {"content": [*others, last | {"cache_control": {"type": "ephemeral"}}]}
