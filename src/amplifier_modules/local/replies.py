"""Reads what the engine produces: pieces to show at once, and the finished response."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

from amplifier_core.llm_errors import InvalidToolCallError
from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)

from .choices import ANSWER, ARGUMENTS, TOOL
from .engine import Chunk
from .failures import from_report
from .options import MOUNT_NAME
from .texts import parsed

Piece = tuple[str, str]
"""`thinking` or `text`, and what was thought or said."""

_ANSWER_BEGINS = re.compile(rf'\s*\{{\s*"{ANSWER}"\s*:\s*"')
_CALL_BEGINS = re.compile(rf'\s*\{{\s*"{TOOL}"\s*:\s*"([^"]*)')
_CHARACTERS = re.compile(r'(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


class SpokenAnswer:
    """Finds the text of `{"answer": "..."}` while the JSON is still being written."""

    def __init__(self) -> None:
        self.raw = ""
        self._shown_to: int | None = None

    def take(self, fragment: str) -> str:
        """What `fragment` adds to the answer."""
        self.raw += fragment
        if self._shown_to is None:
            begin = _ANSWER_BEGINS.match(self.raw)
            if begin is None:
                return ""
            self._shown_to = begin.end()
        found = _CHARACTERS.match(self.raw, self._shown_to)
        whole = found.group() if found else ""
        # The other half may follow; only a closing quote rules it out.
        if self.raw[self._shown_to + len(whole) :][:1] != '"':
            whole = _HALF_A_CHARACTER.sub("", whole)
        self._shown_to += len(whole)
        return str(parsed(f'"{whole}"'))


class Reply:
    """Everything that one generation brought."""

    def __init__(self, *, is_json: bool) -> None:
        self._answer = SpokenAnswer() if is_json else None
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] = {}
        self.timings: dict[str, Any] = {}
        """How fast the engine was, in its own words."""

    def take(self, chunk: Chunk) -> list[Piece]:
        """What `chunk` adds for the user to see.

        Raises:
            LLMError: the engine reports a failure.
        """
        if "error" in chunk:
            raise from_report(chunk["error"])
        self._usage = chunk.get("usage") or self._usage
        self.timings = chunk.get("timings") or self.timings
        pieces: list[Piece] = []
        for option in chunk.get("choices") or ():
            self._finish_reason = option.get("finish_reason") or self._finish_reason
            delta = option.get("delta") or {}
            pieces += self._thought(delta.get("reasoning_content"))
            pieces += self._said(delta.get("content"))
        return pieces

    def _thought(self, text: str | None) -> list[Piece]:
        self._thoughts.append(text or "")
        return [("thinking", text)] if text else []

    def _said(self, fragment: str | None) -> list[Piece]:
        visible = fragment or ""
        if self._answer is not None:
            visible = self._answer.take(visible)
        self._text.append(visible)
        return [("text", visible)] if visible else []

    def response(self) -> ChatResponse:
        """The finished response.

        Raises:
            InvalidToolCallError: the token limit cut a tool call in two.
        """
        call, unseen = self._conclusion()
        text = "".join(self._text) + unseen
        thoughts = "".join(self._thoughts)
        content: list[ContentBlockUnion] = []
        if thoughts:
            content.append(ThinkingBlock(thinking=thoughts))
        if text:
            content.append(TextBlock(text=text))
        if call is not None:
            content.append(ToolCallBlock(id=call.id, name=call.name, input=call.arguments))
        return ChatResponse(
            content=content,
            tool_calls=None if call is None else [call],
            usage=self._counts(),
            finish_reason="tool_calls" if call is not None else self._finish_reason or "stop",
        )

    def _conclusion(self) -> tuple[ToolCall | None, str]:
        """The call in the reply, and the part of the answer that nobody has seen yet."""
        if self._answer is None:
            return None, ""
        try:
            reply = parsed(self._answer.raw)
        except ValueError as error:
            cut = _CALL_BEGINS.match(self._answer.raw)
            if cut is None:
                return None, ""
            raise _cut_in_two(cut[1], self._answer.raw) from error
        if TOOL in reply:
            call_id = f"call_{uuid4().hex[:12]}"
            return ToolCall(id=call_id, name=reply[TOOL], arguments=reply[ARGUMENTS]), ""
        answer = reply[ANSWER]
        return None, "" if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def _counts(self) -> Usage:
        into = int(self._usage.get("prompt_tokens", 0))
        out = int(self._usage.get("completion_tokens", 0))
        details = self._usage.get("prompt_tokens_details") or {}
        return Usage(
            input_tokens=into,
            output_tokens=out,
            total_tokens=into + out,
            cache_read_tokens=details.get("cached_tokens"),
            cost_usd=Decimal(0),
        )


def _cut_in_two(name: str, raw: str) -> InvalidToolCallError:
    return InvalidToolCallError(
        f"The model ran out of tokens in a call of {name!r}. Raise `max_tokens`.",
        tool_name=name,
        raw_arguments=raw,
        provider=MOUNT_NAME,
    )
