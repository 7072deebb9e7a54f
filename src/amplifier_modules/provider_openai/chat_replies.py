"""Reads what a Chat Completions API answers."""

from __future__ import annotations

from typing import Any

from amplifier_core.llm_errors import ContentFilterError, StreamError
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

from .requests import Json

_FINISH_REASONS = {"function_call": "tool_calls"}
_THOUGHTS = ("reasoning_content", "reasoning")
"""What servers call the thoughts of a model; OpenAI itself does not show them."""


class ChatReply:
    """Everything that the answer to one request brought."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame
        self._texts: dict[str, list[str]] = {"text": [], "thinking": [], "refusal": []}
        self._calls: dict[int, Json] = {}
        self._about: Json = {}
        self._usage: Json = {}
        self._reason: str | None = None
        self._open: BlockKind | None = None
        self._open_call: int | None = None

    # -- receiving

    def take(self, chunk: Any) -> list[Piece]:
        """What one chunk of a stream adds."""
        whole = chunk.to_dict()
        self._note(whole)
        pieces: list[Piece] = []
        for choice in (whole.get("choices") or [])[:1]:
            pieces += self._add(choice.get("delta") or {})
            self._reason = choice.get("finish_reason") or self._reason
        if self._reason:
            pieces += self._closed()
        return pieces

    def take_whole(self, completion: Any) -> None:
        """An answer that was not streamed.

        Raises:
            StreamError: what came is no completion.
        """
        if not hasattr(completion, "to_dict") or not getattr(completion, "choices", None):
            raise self._blame.build(StreamError, "The vendor answered with something unreadable.")
        whole = completion.to_dict()
        self._note(whole)
        choice = whole["choices"][0]
        self._add(choice.get("message") or {})
        self._reason = choice.get("finish_reason") or "stop"

    def check_complete(self) -> None:
        """
        Raises:
            StreamError: the stream ended before the answer did.
        """
        if self._reason is None:
            text = "The vendor ended the stream in the middle of the answer."
            raise self._blame.build(StreamError, text)

    def _note(self, whole: Json) -> None:
        self._about |= {key: whole[key] for key in ("id", "model") if whole.get(key)}
        self._usage = whole.get("usage") or self._usage

    def _add(self, delta: Json) -> list[Piece]:
        pieces: list[Piece] = []
        thought = next((delta[name] for name in _THOUGHTS if delta.get(name)), "")
        for kind, text in (("thinking", thought), ("text", delta.get("content"))):
            if text:
                pieces += self._shown(kind, text)  # type: ignore[arg-type]
        if delta.get("refusal"):
            self._texts["refusal"].append(delta["refusal"])
        for place, call in enumerate(delta.get("tool_calls") or ()):
            pieces += self._add_call(call.get("index", place), call)
        return pieces

    def _shown(self, kind: BlockKind, text: str) -> list[Piece]:
        self._texts[kind].append(text)
        if self._open == kind:
            return [Delta(text)]
        pieces = [*self._closed(), Started(kind), Delta(text)]
        self._open = kind
        return pieces

    def _add_call(self, index: int, call: Json) -> list[Piece]:
        known = self._calls.setdefault(index, {"id": "", "name": "", "arguments": []})
        function = call.get("function") or {}
        known["id"] = known["id"] or call.get("id") or ""
        known["name"] = known["name"] or function.get("name") or ""
        known["arguments"].append(function.get("arguments") or "")
        if self._open == "tool_use" and self._open_call == index:
            return []
        pieces = [*self._closed(), Started("tool_use", known["name"])]
        self._open, self._open_call = "tool_use", index
        return pieces

    def _closed(self) -> list[Piece]:
        was_open, self._open = self._open, None
        return [Ended()] if was_open else []

    # -- the response

    def response(self, price: Price | None) -> ChatResponse:
        """
        Raises:
            ContentFilterError: the vendor held the answer back.
            InvalidToolCallError: the arguments of a call are no JSON object.
        """
        calls = [self._call(place, self._calls[place]) for place in sorted(self._calls)]
        content = [*self._said(), *calls]
        if self._reason == "content_filter" and not content:
            text = "The vendor's filter held the answer back."
            raise self._blame.build(ContentFilterError, text)
        reason = _FINISH_REASONS.get(str(self._reason), self._reason)
        return ChatResponse(
            content=content,
            tool_calls=[ToolCall(id=b.id, name=b.name, arguments=b.input) for b in calls] or None,
            usage=self._tokens().usage(price) if self._usage else None,
            finish_reason="tool_calls" if calls and reason == "stop" else reason,
            metadata={f"chat:{name}": value for name, value in self._about.items()},
        )

    def _said(self) -> list[ContentBlockUnion]:
        thought, text, refusal = (
            "".join(self._texts[kind]) for kind in ("thinking", "text", "refusal")
        )
        blocks: list[ContentBlockUnion] = []
        if thought:
            blocks.append(ThinkingBlock(thinking=thought, **{ORIGIN: self._blame.provider}))
        if text:
            blocks.append(TextBlock(text=text))
        if refusal:
            blocks.append(TextBlock(text=refusal, refusal=True))
        return blocks

    def _call(self, place: int, call: Json) -> ToolCallBlock:
        text = "".join(call["arguments"])
        is_cut = self._reason == "length"
        given = parsed_arguments(call["name"], text, self._blame, is_cut=is_cut)
        # Some servers give no ids; the answer's own id makes one that no other call has.
        call_id = call["id"] or f"call_{self._about.get('id', '')}_{place}"
        return ToolCallBlock(id=call_id, name=call["name"], input=given)

    def _tokens(self) -> Tokens:
        usage = self._usage
        read = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        details = usage.get("completion_tokens_details") or {}
        return Tokens(
            input=max(0, (usage.get("prompt_tokens") or 0) - (read or 0)),
            output=usage.get("completion_tokens") or 0,
            cache_read=read,
            reasoning=details.get("reasoning_tokens"),
        )
