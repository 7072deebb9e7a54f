"""Reads what Ollama's chat API answers: pieces to show at once, and the finished response."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from amplifier_core.llm_errors import StreamError
from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
)

from amplifier_modules.providing.arguments import parsed_arguments
from amplifier_modules.providing.failures import Blame
from amplifier_modules.providing.histories import ORIGIN
from amplifier_modules.providing.pieces import BlockKind, Delta, Ended, Piece, Started
from amplifier_modules.providing.prices import Price, Tokens

from .options import MOUNT_NAME

Json = dict[str, Any]
_TOLD = ("done_reason", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


class Reply:
    """Everything that the answer to one request brought."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame
        self._blocks: list[tuple[BlockKind, Any]] = []
        self._kind: BlockKind | None = None
        self._texts: list[str] = []
        self._end: Json = {}

    def take(self, part: Json) -> list[Piece]:
        """What one line of a stream adds; a whole answer is a single line."""
        message = part.get("message") or {}
        pieces = self._add("thinking", message.get("thinking"))
        pieces += self._add("text", message.get("content"))
        for call in message.get("tool_calls") or ():
            pieces += self._close()
            function = dict(call.get("function") or {})
            # Older servers do not name their calls, but results must find them.
            function["id"] = call.get("id") or f"call_{uuid4().hex[:24]}"
            self._blocks.append(("tool_use", function))
            pieces += [Started("tool_use", str(function.get("name"))), Ended()]
        if part.get("done"):
            self._end = part
            pieces += self._close()
        return pieces

    def _add(self, kind: BlockKind, text: Any) -> list[Piece]:
        if not text:
            return []
        if not isinstance(text, str):
            raise self._blame.build(StreamError, "The server sent something else than text.")
        pieces: list[Piece] = []
        if self._kind != kind:
            pieces = [*self._close(), Started(kind)]
            self._kind = kind
        self._texts.append(text)
        return [*pieces, Delta(text)]

    def _close(self) -> list[Piece]:
        if self._kind is None:
            return []
        self._blocks.append((self._kind, "".join(self._texts)))
        self._kind, self._texts = None, []
        return [Ended()]

    # -- the response

    def response(self, price: Price | None) -> ChatResponse:
        """
        Raises:
            StreamError: the answer ended before its last line.
            InvalidToolCallError: the arguments of a call are no JSON object.
        """
        if not self._end:
            text = "The server ended its answer in the middle."
            raise self._blame.build(StreamError, text)
        content = [self._kernel_block(kind, value) for kind, value in self._blocks]
        blocks = [each for each in content if isinstance(each, ToolCallBlock)]
        calls = [ToolCall(id=b.id, name=b.name, arguments=b.input) for b in blocks]
        reason = str(self._end.get("done_reason") or "stop")
        told = {f"ollama:{key}": self._end[key] for key in _TOLD if key in self._end}
        return ChatResponse(
            content=content,
            tool_calls=calls or None,
            usage=self._tokens().usage(price if "eval_count" in self._end else None),
            finish_reason="tool_calls" if calls else reason,
            metadata=told,
        )

    def _kernel_block(self, kind: BlockKind, value: Any) -> ContentBlockUnion:
        if kind == "text":
            return TextBlock(text=value)
        if kind == "thinking":
            return ThinkingBlock(thinking=value, **{ORIGIN: MOUNT_NAME})
        name, given = str(value.get("name")), value.get("arguments")
        if given is not None and not isinstance(given, dict):
            raw = given if isinstance(given, str) else json.dumps(given)
            is_cut = self._end.get("done_reason") == "length"
            given = parsed_arguments(name, raw, self._blame, is_cut=is_cut)
        return ToolCallBlock(id=str(value["id"]), name=name, input=given or {})

    def _tokens(self) -> Tokens:
        return Tokens(
            input=_count(self._end.get("prompt_eval_count")),
            output=_count(self._end.get("eval_count")),
        )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
