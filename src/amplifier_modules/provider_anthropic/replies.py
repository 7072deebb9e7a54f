"""Reads what the Messages API answers: pieces to show at once, and the finished response."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from amplifier_core.llm_errors import ContentFilterError, StreamError
from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    RedactedThinkingBlock,
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
from .requests import CONTENT, Json

_SHOWN: dict[str, BlockKind] = {"text": "text", "thinking": "thinking", "tool_use": "tool_use"}
_HELD_BY_BLOCKS = {"text", "thinking", "redacted_thinking", "tool_use"}
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
_SEARCH_FEE = Decimal("0.01")


class _Block:
    """A block while it is being received."""

    def __init__(self, start: Json) -> None:
        self._start = start
        self._parts: dict[str, list[str]] = {}
        self._citations: list[Json] = []
        self.kind: str = start.get("type", "")

    def add(self, delta: Json) -> str:
        """What `delta` adds for a user to see."""
        match delta.get("type"):
            case "text_delta":
                return self._part("text", delta["text"])
            case "thinking_delta":
                return self._part("thinking", delta["thinking"])
            case "signature_delta":
                self._part("signature", delta["signature"])
            case "input_json_delta":
                self._part("input", delta["partial_json"])
            case "citations_delta":
                self._citations.append(delta["citation"])
        return ""

    def _part(self, name: str, text: str) -> str:
        self._parts.setdefault(name, []).append(text)
        return text

    def raw(self) -> Json:
        """The block as the vendor would have sent it whole; `input` may still be text."""
        whole = dict(self._start)
        for name, parts in self._parts.items():
            begun = whole.get(name)
            whole[name] = (begun if isinstance(begun, str) else "") + "".join(parts)
        if self._citations:
            whole["citations"] = self._citations
        return whole


class Reply:
    """Everything that the answer to one request brought, over all its continuations."""

    def __init__(self, blame: Blame, *, may_ask_again: bool) -> None:
        self._blame = blame
        self._may_ask_again = may_ask_again
        self._done: list[Json] = []
        self._open: dict[int, _Block] = {}
        self._usage: Json = {}
        self._earlier: list[Json] = []
        self._message: Json = {}
        self._is_complete = False

    @property
    def is_paused(self) -> bool:
        return self._message.get("stop_reason") == "pause_turn"

    @property
    def content(self) -> list[Json]:
        return self._done

    def take(self, event: Any) -> list[Piece]:
        """What one event of a stream adds."""
        match event.type:
            case "message_start":
                self._begin(event.message.to_dict(warnings=False))
            case "content_block_start":
                return self._start(event.index, event.content_block.to_dict(warnings=False))
            case "content_block_delta":
                shown = self._open[event.index].add(event.delta.to_dict(warnings=False))
                return [Delta(shown)] if shown else []
            case "content_block_stop":
                return self._stop(event.index)
            case "message_delta":
                self._message.update(event.delta.to_dict(warnings=False))
                self._count(event.usage.to_dict(warnings=False) if event.usage else {})
            case "message_stop":
                self._is_complete = True
        return []

    def take_whole(self, message: Any) -> None:
        """An answer that was not streamed.

        Raises:
            StreamError: what came is no message.
        """
        if getattr(message, "type", None) != "message" or message.content is None:
            raise self._blame.build(StreamError, "The vendor answered with something unreadable.")
        whole = message.to_dict(warnings=False)
        self._begin(whole)
        self._message.update(whole)
        self._done += whole["content"]
        self._is_complete = True

    def check_complete(self) -> None:
        """
        Raises:
            StreamError: the stream ended before the answer did.
        """
        if not self._is_complete or self._open:
            text = "The vendor ended the stream in the middle of the answer."
            raise self._blame.build(StreamError, text)
        self._is_complete = False

    def _begin(self, message: Json) -> None:
        if self._usage:
            self._earlier.append(self._usage)
        self._usage = {}
        self._count(message.get("usage") or {})
        self._message = {key: message.get(key) for key in ("id", "model")}

    def _count(self, usage: Json) -> None:
        """Counts are cumulative: the last one of each kind holds."""
        self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _start(self, index: int, start: Json) -> list[Piece]:
        block = self._open[index] = _Block(start)
        kind = _SHOWN.get(block.kind)
        if kind is None:
            return []
        pieces: list[Piece] = [Started(kind, start.get("name"))]
        begun = start.get(kind) if kind != "tool_use" else ""
        return [*pieces, Delta(begun)] if begun else pieces

    def _stop(self, index: int) -> list[Piece]:
        block = self._open.pop(index)
        self._done.append(block.raw())
        return [Ended()] if block.kind in _SHOWN else []

    # -- the response

    def response(self, price: Price | None) -> ChatResponse:
        """
        Raises:
            ContentFilterError: the model refused to answer.
            InvalidToolCallError: the arguments of a call are no JSON object.
        """
        reason = self._message.get("stop_reason")
        if reason == "refusal":
            raise self._refusal()
        whole = [self._parsed(raw) for raw in self._done]
        content = [block for raw in whole if (block := _kernel_block(raw)) is not None]
        blocks = [each for each in content if isinstance(each, ToolCallBlock)]
        calls = [ToolCall(id=b.id, name=b.name, arguments=b.input) for b in blocks]
        return ChatResponse(
            content=content,
            tool_calls=calls or None,
            usage=self._tokens().usage(price if self._usage else None),
            finish_reason=_FINISH_REASONS.get(str(reason), str(reason) if reason else "stop"),
            metadata=self._metadata(whole),
        )

    def _parsed(self, raw: Json) -> Json:
        given = raw.get("input")
        if not isinstance(given, str):
            return raw
        is_cut = self._message.get("stop_reason") == "max_tokens"
        arguments = parsed_arguments(raw["name"], given, self._blame, is_cut=is_cut)
        return raw | {"input": arguments}

    def _refusal(self) -> Exception:
        details = self._message.get("stop_details") or {}
        why = details.get("explanation") or "It gave no reason."
        text = f"The model refused to answer. {why}"
        return self._blame.build(ContentFilterError, text, retryable=self._may_ask_again)

    def _metadata(self, whole: Iterable[Json]) -> Json:
        names = ("id", "model", "stop_reason", "stop_sequence")
        given = {name: self._message.get(name) for name in names}
        told = {f"anthropic:{name}": value for name, value in given.items() if value is not None}
        if any(raw["type"] not in _HELD_BY_BLOCKS for raw in whole):
            told[CONTENT] = list(whole)
        return told

    def _tokens(self) -> Tokens:
        usages = [*self._earlier, self._usage]
        reasoning = [(u.get("output_tokens_details") or {}).get("thinking_tokens") for u in usages]
        hourly = [(u.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") for u in usages]
        searches = [(u.get("server_tool_use") or {}).get("web_search_requests") for u in usages]
        return Tokens(
            input=_sum(u.get("input_tokens") for u in usages) or 0,
            output=_sum(u.get("output_tokens") for u in usages) or 0,
            cache_read=_sum(u.get("cache_read_input_tokens") for u in usages),
            cache_write=_sum(u.get("cache_creation_input_tokens") for u in usages),
            cache_write_1h=_sum(hourly) or 0,
            reasoning=_sum(reasoning),
            fees=_SEARCH_FEE * (_sum(searches) or 0),
        )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _kernel_block(raw: Json) -> ContentBlockUnion | None:
    match raw["type"]:
        case "text":
            cited = raw.get("citations")
            return TextBlock(text=raw["text"], **({"citations": cited} if cited else {}))
        case "thinking":
            signature = raw.get("signature") or None
            origin = {ORIGIN: MOUNT_NAME}
            return ThinkingBlock(thinking=raw["thinking"], signature=signature, **origin)
        case "redacted_thinking":
            return RedactedThinkingBlock(data=raw["data"], **{ORIGIN: MOUNT_NAME})
        case "tool_use":
            return ToolCallBlock(id=raw["id"], name=raw["name"], input=raw["input"])
    return None
