"""Reads what the GenAI API answers: pieces to show at once, and the finished response."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from amplifier_core.llm_errors import (
    ContentFilterError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    StreamError,
)
from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
)

from amplifier_modules.providing.arguments import parsed_arguments
from amplifier_modules.providing.failures import Blame
from amplifier_modules.providing.histories import ORIGIN
from amplifier_modules.providing.pieces import Delta, Ended, Piece, Started
from amplifier_modules.providing.prices import Price, Tokens

from .options import MOUNT_NAME
from .requests import PARTS, SIGNATURE, Json

_HELD_BY_BLOCKS = {"text", "thought", "thoughtSignature", "functionCall", "inlineData"}
_FILTERED = {
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "PUP_LIMITED_DISABLED",
    "MODEL_ARMOR",
}  # fmt: skip
_BAD_CALLS = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}


class Reply:
    """Everything that the answer to one request brought, over all its continuations."""

    def __init__(self, blame: Blame) -> None:
        self._blame = blame
        self._parts: list[Json] = []
        self._texts: list[str] = []
        self._is_open = False
        self._usage: Json = {}
        self._earlier: list[Json] = []
        self._about: Json = {}
        self._candidate: Json = {}
        self._block_reason: str | None = None

    @property
    def _reason(self) -> str | None:
        return self._candidate.get("finishReason")

    @property
    def continuation(self) -> str | None:
        """The vendor's mark of where it stopped, if it is to go on from there."""
        token = self._candidate.get("continuationToken")
        return token if token and self._reason == "CONTINUATION" else None

    def take(self, chunk: Json) -> list[Piece]:
        """What one chunk adds; a whole answer is a single chunk."""
        feedback = chunk.get("promptFeedback") or {}
        self._block_reason = feedback.get("blockReason") or self._block_reason
        self._usage.update(chunk.get("usageMetadata") or {})
        for key in ("responseId", "modelVersion"):
            if chunk.get(key):
                self._about[key] = chunk[key]
        pieces: list[Piece] = []
        for candidate in (chunk.get("candidates") or [])[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                pieces += self._add(part)
            rest = {key: value for key, value in candidate.items() if key != "content"}
            self._candidate.update(rest)
        return pieces if self._reason is None else [*pieces, *self._close()]

    def go_on(self) -> None:
        """The next chunks are of another request for the same answer."""
        self._earlier.append(self._usage)
        self._usage, self._candidate = {}, {}

    def check_complete(self) -> None:
        """
        Raises:
            StreamError: the stream ended before the answer did.
        """
        if self._reason is None and self._block_reason is None:
            text = "The vendor ended the stream in the middle of the answer."
            raise self._blame.build(StreamError, text)

    # -- parts

    def _add(self, part: Json) -> list[Piece]:
        if not _is_plain_text(part):
            return [*self._close(), *self._add_whole(part)]
        pieces: list[Piece] = []
        if not self._is_open or bool(self._parts[-1].get("thought")) != bool(part.get("thought")):
            if not part["text"] and "thoughtSignature" not in part:
                return []
            pieces = [*self._close(), *self._open(part)]
        text = part["text"]
        self._texts.append(text)
        pieces += [Delta(text)] if text else []
        if "thoughtSignature" in part:
            # What a signature ends must go back in one piece, with nothing added to it.
            self._parts[-1]["thoughtSignature"] = part["thoughtSignature"]
            pieces += self._close()
        return pieces

    def _open(self, part: Json) -> list[Piece]:
        thought = {"thought": True} if part.get("thought") else {}
        self._parts.append({"text": "", **thought})
        self._is_open = True
        return [Started("thinking" if thought else "text")]

    def _close(self) -> list[Piece]:
        if not self._is_open:
            return []
        self._parts[-1]["text"] = "".join(self._texts)
        self._texts, self._is_open = [], False
        return [Ended()]

    def _add_whole(self, part: Json) -> list[Piece]:
        if "functionCall" not in part:
            self._parts.append(part)
            return []
        call = dict(part["functionCall"])
        # The API need not name its calls, but results must find them.
        call["id"] = call.get("id") or f"call_{uuid4().hex[:24]}"
        self._parts.append(part | {"functionCall": call})
        return [Started("tool_use", str(call.get("name"))), Ended()]

    # -- the response

    def response(self, price: Price | None) -> ChatResponse:
        """
        Raises:
            ContentFilterError: the vendor does not let the answer through.
            InvalidToolCallError: the model made a call that cannot be read.
        """
        self._close()
        self._raise_for_reason()
        parts = [self._with_arguments(each) for each in self._parts]
        content = [block for each in parts if (block := _kernel_block(each)) is not None]
        blocks = [each for each in content if isinstance(each, ToolCallBlock)]
        calls = [ToolCall(id=b.id, name=b.name, arguments=b.input) for b in blocks]
        reason = str(self._reason or "STOP")
        finish = "tool_calls" if calls else _FINISH_REASONS.get(reason, reason.lower())
        return ChatResponse(
            content=content,
            tool_calls=calls or None,
            usage=self._tokens().usage(price if self._usage else None),
            finish_reason=finish,
            metadata=self._metadata(parts),
        )

    def _raise_for_reason(self) -> None:
        said = self._candidate.get("finishMessage")
        if self._block_reason is not None:
            raise self._filtered(f"The vendor blocked the request: {self._block_reason}.", said)
        if self._reason in _FILTERED:
            raise self._filtered(f"The vendor blocked the answer: {self._reason}.", said)
        if self._reason in _BAD_CALLS:
            text = f"The model made a call that cannot be read. {said or 'Ask again.'}"
            raise self._blame.build(InvalidToolCallError, text, retryable=True)
        if self._reason == "MISSING_THOUGHT_SIGNATURE":
            text = "The vendor misses a signature in the conversation. Begin a new one."
            raise self._blame.build(InvalidRequestError, text)
        if self._reason == "MALFORMED_RESPONSE":
            text = "The vendor could not read what its model wrote."
            raise self._blame.build(StreamError, text)

    def _filtered(self, text: str, said: Any) -> LLMError:
        return self._blame.build(ContentFilterError, f"{text} {said}" if said else text)

    def _with_arguments(self, part: Json) -> Json:
        call = part.get("functionCall")
        if call is None:
            return part
        given = call.get("args")
        if given is not None and not isinstance(given, dict):
            raw = given if isinstance(given, str) else json.dumps(given)
            is_cut = self._reason == "MAX_TOKENS"
            given = parsed_arguments(str(call.get("name")), raw, self._blame, is_cut=is_cut)
        return part | {"functionCall": call | {"args": given or {}}}

    def _metadata(self, parts: list[Json]) -> Json:
        told = {f"gemini:{key}": value for key, value in self._about.items()}
        for key in ("finishReason", "groundingMetadata", "urlContextMetadata", "citationMetadata"):
            if self._candidate.get(key):
                told[f"gemini:{key}"] = self._candidate[key]
        if any(not _HELD_BY_BLOCKS.issuperset(each) for each in parts):
            told[PARTS] = parts
        return told

    def _tokens(self) -> Tokens:
        usages = [*self._earlier, self._usage]
        read = _sum(usages, "cachedContentTokenCount")
        thoughts = _sum(usages, "thoughtsTokenCount")
        into = (_sum(usages, "promptTokenCount") or 0) + (
            _sum(usages, "toolUsePromptTokenCount") or 0
        )
        return Tokens(
            input=max(0, into - (read or 0)),
            output=(_sum(usages, "candidatesTokenCount") or 0) + (thoughts or 0),
            cache_read=read,
            reasoning=thoughts,
        )


def _is_plain_text(part: Json) -> bool:
    return isinstance(part.get("text"), str) and {"text", "thought", "thoughtSignature"} >= {*part}


def _sum(usages: Iterable[Json], name: str) -> int | None:
    known = [each[name] for each in usages if isinstance(each.get(name), int)]
    return sum(known) if known else None


def _kernel_block(part: Json) -> ContentBlockUnion | None:
    signature = part.get("thoughtSignature")
    signed = {SIGNATURE: signature, ORIGIN: MOUNT_NAME} if signature else {}
    if "functionCall" in part:
        call = part["functionCall"]
        return ToolCallBlock(
            id=str(call["id"]), name=str(call.get("name")), input=call["args"], **signed
        )
    if part.get("thought") and "text" in part:
        return ThinkingBlock(thinking=part["text"], signature=signature, **{ORIGIN: MOUNT_NAME})
    if "text" in part:
        return TextBlock(text=part["text"], **signed)
    blob = part.get("inlineData")
    if isinstance(blob, dict) and str(blob.get("mimeType")).startswith("image/"):
        source = {"type": "base64", "media_type": blob["mimeType"], "data": blob.get("data")}
        return ImageBlock(source=source, **signed)
    return None
