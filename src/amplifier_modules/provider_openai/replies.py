"""Reads what the Responses API answers: pieces to show at once, and the finished response."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from amplifier_core.llm_errors import ContentFilterError, LLMError, StreamError
from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
)

from amplifier_modules.providing.arguments import parsed_arguments
from amplifier_modules.providing.failures import Blame, Report
from amplifier_modules.providing.histories import ORIGIN
from amplifier_modules.providing.pieces import BlockKind, Delta, Ended, Piece, Started
from amplifier_modules.providing.prices import Price, Tokens

from .family import status_of
from .models import FEES, UNKNOWN_FEES
from .requests import OUTPUT, Json

_SHOWN: dict[str, BlockKind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}
_ENDS = (
    "response.content_part.done",
    "response.output_text.done",
    "response.reasoning_summary_text.done",
    "response.output_item.done",
)
_HELD_BY_BLOCKS = {"message", "reasoning", "function_call"}
_USUAL_TIERS = (None, "auto", "default")


class Reply:
    """Everything that the answer to one request brought, over all its continuations."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame
        self._output: list[Json] = []
        self._received: dict[int, Json] = {}
        self._responses: list[Json] = []
        self._open: BlockKind | None = None
        self._is_complete = False

    @property
    def output(self) -> list[Json]:
        return self._output

    @property
    def last(self) -> Json:
        """The response itself, without its output."""
        return self._responses[-1]

    @property
    def was_continued(self) -> bool:
        return len(self._responses) > 1

    @property
    def cut_for(self) -> str | None:
        """Why the answer is incomplete, if it is."""
        if self.last.get("status") != "incomplete":
            return None
        return str((self.last.get("incomplete_details") or {}).get("reason"))

    # -- receiving

    def take(self, event: Any) -> list[Piece]:
        """What one event of a stream adds."""
        kind = event.type
        if kind in _SHOWN:
            return [*self._switched(_SHOWN[kind]), Delta(event.delta)]
        if kind == "response.output_item.added":
            item = event.item.to_dict()
            return [*self._closed(), *self._begun(item)]
        if kind in _ENDS:
            if kind == "response.output_item.done":
                self._received[event.output_index] = event.item.to_dict()
            return self._closed()
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self._finish(event.response.to_dict())
        elif kind == "error":
            raise self._failed({"code": event.code, "message": event.message})
        return []

    def _begun(self, item: Json) -> list[Piece]:
        if item.get("type") not in ("function_call", "apply_patch_call"):
            return []
        self._open = "tool_use"
        return [Started("tool_use", item.get("name") or "apply_patch")]

    def _switched(self, kind: BlockKind) -> list[Piece]:
        if self._open == kind:
            return []
        pieces = [*self._closed(), Started(kind)]
        self._open = kind
        return pieces

    def _closed(self) -> list[Piece]:
        was_open, self._open = self._open, None
        return [Ended()] if was_open else []

    def take_whole(self, response: Any) -> None:
        """An answer that was not streamed.

        Raises:
            StreamError: what came is no response.
        """
        if not hasattr(response, "to_dict") or getattr(response, "output", None) is None:
            raise self._blame.build(StreamError, "The vendor answered with something unreadable.")
        self._finish(response.to_dict())
        self.check_complete()

    def _finish(self, response: Json) -> None:
        output = response.pop("output", None) or []
        if response.get("status") in ("failed", "cancelled"):
            raise self._failed(response.get("error") or {})
        received = [self._received[index] for index in sorted(self._received)]
        self._received = {}
        self._output += received if len(received) >= len(output) else output
        self._responses.append(response)
        self._is_complete = True

    def _failed(self, error: Json) -> LLMError:
        said = str(error.get("message") or "The vendor gave up on the answer.")
        code = error.get("code")
        if code and code not in said:
            said = f"{said} ({code})"
        return self._blame.for_report(Report(status_of(code), said))

    def check_complete(self) -> None:
        """
        Raises:
            StreamError: the stream ended before the answer did.
        """
        if not self._is_complete:
            text = "The vendor ended the stream in the middle of the answer."
            raise self._blame.build(StreamError, text)
        self._is_complete = False

    def usable(self) -> list[Json]:
        """What of an incomplete answer can go back, so that the vendor goes on from there."""
        kept = [each for each in self._output if _can_go_back(each)]
        self._output = list(kept)
        return kept

    # -- the response

    def response(self, price: Price | None) -> ChatResponse:
        """
        Raises:
            ContentFilterError: the vendor held the answer back.
            InvalidToolCallError: the arguments of a call are no JSON object.
        """
        content = self._content()
        reason = self.cut_for
        if reason == "content_filter" and not content:
            text = "The vendor's filter held the answer back."
            raise self._blame.build(ContentFilterError, text)
        calls = [each for each in content if isinstance(each, ToolCallBlock)]
        return ChatResponse(
            content=content,
            tool_calls=[ToolCall(id=b.id, name=b.name, arguments=b.input) for b in calls] or None,
            usage=self._tokens().usage(price if self._is_priced() else None),
            finish_reason=_finish_reason(reason, has_calls=bool(calls)),
            metadata=self._metadata(),
        )

    def _content(self) -> list[ContentBlockUnion]:
        content: list[ContentBlockUnion] = []
        for item in self._output:
            for block in self._blocks(item):
                if _continues(content, block, is_resumed=self.was_continued):
                    text = content[-1].text + block.text  # type: ignore[union-attr]
                    content[-1] = content[-1].model_copy(update={"text": text})
                else:
                    content.append(block)
        return content

    def _blocks(self, item: Json) -> list[ContentBlockUnion]:
        match item.get("type"):
            case "message":
                return [_text(part, item.get("phase")) for part in item.get("content") or ()]
            case "reasoning":
                return [self._thought(item)]
            case "function_call":
                return [self._call(item)]
            case "apply_patch_call":
                name = "apply_patch"
                return [ToolCallBlock(id=item["call_id"], name=name, input=item["operation"])]
        return []

    def _thought(self, item: Json) -> ThinkingBlock:
        parts = item.get("summary") or item.get("content") or []
        text = "\n\n".join(part.get("text") or "" for part in parts)
        state = [item.get("encrypted_content"), item.get("id")]
        return ThinkingBlock(thinking=text, content=state, **{ORIGIN: self._blame.provider})

    def _call(self, item: Json) -> ToolCallBlock:
        is_cut = self.cut_for is not None
        given = parsed_arguments(item["name"], item.get("arguments"), self._blame, is_cut=is_cut)
        return ToolCallBlock(id=item.get("call_id") or item["id"], name=item["name"], input=given)

    def _metadata(self) -> Json:
        thoughts = [each["id"] for each in self._output if each.get("type") == "reasoning"]
        told = {
            "openai:response_id": self.last.get("id"),
            "openai:model": self.last.get("model"),
            "openai:status": self.last.get("status"),
            "openai:incomplete_reason": self.cut_for,
            "openai:reasoning_items": thoughts or None,
            "openai:continuation_count": len(self._responses) - 1 or None,
        }
        if any(each.get("type") not in _HELD_BY_BLOCKS for each in self._output):
            told[OUTPUT] = self._output
        return {name: value for name, value in told.items() if value is not None}

    def _tokens(self) -> Tokens:
        usages = [each.get("usage") or {} for each in self._responses]
        into = [each.get("input_tokens_details") or {} for each in usages]
        out = [each.get("output_tokens_details") or {} for each in usages]
        read = _sum(each.get("cached_tokens") for each in into)
        written = _sum(each.get("cache_write_tokens") for each in into)
        whole = _sum(each.get("input_tokens") for each in usages) or 0
        return Tokens(
            input=max(0, whole - (read or 0) - (written or 0)),
            output=_sum(each.get("output_tokens") for each in usages) or 0,
            cache_read=read,
            cache_write=written,
            reasoning=_sum(each.get("reasoning_tokens") for each in out),
            fees=sum((FEES.get(each["type"], Decimal(0)) for each in self._output), Decimal(0)),
        )

    def _is_priced(self) -> bool:
        """Whether the list of prices holds for it."""
        is_usual = all(each.get("service_tier") in _USUAL_TIERS for each in self._responses)
        return is_usual and not any(each["type"] in UNKNOWN_FEES for each in self._output)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _can_go_back(item: Json) -> bool:
    is_cut = item.get("status") == "incomplete"
    match item.get("type"):
        case "reasoning":
            return bool(item.get("encrypted_content"))
        case "message":
            return any(part.get("text") for part in item.get("content") or ())
    return not is_cut


def _continues(content: list[ContentBlockUnion], block: Any, *, is_resumed: bool) -> bool:
    is_text = isinstance(block, TextBlock) and bool(content) and isinstance(content[-1], TextBlock)
    return is_resumed and is_text


def _text(part: Json, phase: str | None) -> TextBlock:
    extra: Json = {"phase": phase} if phase else {}
    if part.get("type") == "refusal":
        return TextBlock(text=part.get("refusal") or "", refusal=True, **extra)
    if part.get("annotations"):
        extra["citations"] = part["annotations"]
    return TextBlock(text=part.get("text") or "", **extra)


def _finish_reason(cut_for: str | None, *, has_calls: bool) -> str:
    if cut_for is not None:
        return "length" if cut_for == "max_output_tokens" else cut_for
    return "tool_calls" if has_calls else "stop"
