"""Reads a conversation into entries that a vendor accepts, and mends what it would refuse.

Contexts keep tool calls in the content, beside it, or both; results as messages or as blocks.
Here every call is a block of its assistant entry and its result follows at once, whatever a
compaction, a cancellation or a change of vendor has done to the conversation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier_core.message_models import (
    ContentBlockUnion,
    ImageBlock,
    Message,
    ReasoningBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)

ORIGIN = "origin"
"""The extra field of thinking blocks that names the provider they came from."""
MISSING = "The result of this tool call is missing: the call was interrupted, or its result lost."

_PORTABLE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_Role = Literal["system", "developer", "user", "assistant", "tool"]
_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass
class Entry:
    """One step of a conversation. A `tool` entry is the result of the call `call_id`."""

    role: _Role
    blocks: list[ContentBlockUnion]
    call_id: str = ""
    name: str | None = None
    is_error: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n\n".join(each.text for each in self.blocks if isinstance(each, TextBlock))

    @property
    def calls(self) -> list[ToolCallBlock]:
        return [each for each in self.blocks if isinstance(each, ToolCallBlock)]


@dataclass
class History:
    """The entries, and what had to be mended: `{tool_call_id, tool_name, kind}` for each."""

    entries: list[Entry]
    repairs: list[dict[str, Any]] = field(default_factory=list)


def read_history(messages: Sequence[Message], provider: str) -> History:
    """`messages` as `provider` may send them; thinking of other vendors is left out."""
    raw = [entry for message in messages for entry in _entries(message, provider)]
    return _Mender(raw).mended()


def sound(text: str) -> str:
    """`text` with U+FFFD for halves of characters, which cannot be sent."""
    return text if text.isascii() else _HALF_A_CHARACTER.sub("\ufffd", text)


def as_text(value: Any) -> str:
    """The output of a tool as a model reads it."""
    if isinstance(value, str):
        return sound(value)
    return sound(json.dumps(value, ensure_ascii=False, default=str))


# -- reading ----------------------------------------------------------------------------


def _entries(message: Message, provider: str) -> list[Entry]:
    blocks = [TextBlock(text=message.content)] if isinstance(message.content, str) else [
        *message.content
    ]  # fmt: skip
    metadata = message.metadata or {}
    if message.role in ("tool", "function") and message.tool_call_id is not None:
        return [_result(message.tool_call_id, blocks, message.name, metadata)]
    results = [each for each in blocks if isinstance(each, ToolResultBlock)]
    entries = [_result(each.tool_call_id, [each], message.name, metadata) for each in results]
    others = [_sound(each) for each in blocks if not isinstance(each, ToolResultBlock)]
    if message.role == "assistant":
        others = [each for each in others if _is_own(each, provider)]
        others += _calls_beside(message, others)
    if others or not results:
        role: _Role = "user" if message.role in ("tool", "function") else message.role  # type: ignore[assignment]
        entries.append(Entry(role, others, name=message.name, metadata=metadata))
    return entries


def _result(
    call_id: str, blocks: list[Any], name: str | None, metadata: dict[str, Any]
) -> Entry:  # fmt: skip
    shown: list[ContentBlockUnion] = []
    is_error = bool(metadata.get("is_error"))
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            is_error = is_error or bool((block.model_extra or {}).get("is_error"))
            shown += _output_blocks(block.output)
        elif isinstance(block, TextBlock | ImageBlock):
            shown.append(_sound(block))
    return Entry("tool", shown, call_id, name, is_error, metadata)


def _output_blocks(output: Any) -> list[ContentBlockUnion]:
    is_list_of_blocks = isinstance(output, list) and output and all(
        isinstance(each, dict) and each.get("type") in ("text", "image") for each in output
    )  # fmt: skip
    if not is_list_of_blocks:
        return [TextBlock(text=as_text(output))]
    message = Message.model_validate({"role": "tool", "content": output})
    return [_sound(each) for each in message.content]  # type: ignore[arg-type]


def _sound(block: ContentBlockUnion) -> ContentBlockUnion:
    if isinstance(block, TextBlock):
        text = sound(block.text)
        return block if text == block.text else block.model_copy(update={"text": text})
    if isinstance(block, ToolCallBlock):
        return block.model_copy(update={"input": _sound_json(block.input)})
    return block


def _sound_json(value: Any) -> Any:
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, dict):
        return {sound(str(key)): _sound_json(each) for key, each in value.items()}
    return [_sound_json(each) for each in value] if isinstance(value, list) else value


def _is_own(block: ContentBlockUnion, provider: str) -> bool:
    if isinstance(block, ThinkingBlock | RedactedThinkingBlock | ReasoningBlock):
        return bool((block.model_extra or {}).get(ORIGIN, provider) == provider)
    return True


def _calls_beside(message: Message, blocks: Iterable[ContentBlockUnion]) -> list[ToolCallBlock]:
    """The calls in `tool_calls` that the content does not have."""
    known = {each.id for each in blocks if isinstance(each, ToolCallBlock)}
    calls = []
    for call in (message.model_extra or {}).get("tool_calls") or ():
        given = call if isinstance(call, dict) else call.model_dump()
        call_id = str(given.get("id"))
        if call_id not in known:
            name = str(given.get("tool") or given.get("name"))
            arguments = given.get("arguments")
            calls.append(
                ToolCallBlock(id=call_id, name=name, input=_sound_json(_arguments(arguments)))
            )
    return calls


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except ValueError:
            given = {"arguments": given}
    return given if isinstance(given, dict) else {}


# -- mending ----------------------------------------------------------------------------


class _Mender:
    """Puts each result after its call, under an id that no other call has."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._results: defaultdict[str, deque[int]] = defaultdict(deque)
        self._calls: defaultdict[str, deque[int]] = defaultdict(deque)
        for position, entry in enumerate(entries):
            if entry.role == "tool":
                self._results[entry.call_id].append(position)
            for call in entry.calls:
                self._calls[call.id].append(position)
        self._used: set[int] = set()
        self._ids: set[str] = set()
        self._history = History([])

    def mended(self) -> History:
        for position, entry in enumerate(self._entries):
            if entry.role == "tool":
                if position not in self._used:
                    self._keep_as_text(entry)
            elif entry.calls:
                self._add_with_results(position, entry)
            else:
                self._history.entries.append(entry)
        return self._history

    def _add_with_results(self, position: int, entry: Entry) -> None:
        blocks: list[ContentBlockUnion] = []
        results = []
        expected = set(range(position + 1, position + 1 + len(entry.calls)))
        for block in entry.blocks:
            if isinstance(block, ToolCallBlock):
                new_id = self._unique(block.id)
                result = self._result_of(block, position, expected)
                results.append(_renamed(result, new_id))
                block = block if new_id == block.id else block.model_copy(update={"id": new_id})
            blocks.append(block)
        self._history.entries += [
            Entry("assistant", blocks, name=entry.name, metadata=entry.metadata), *results
        ]  # fmt: skip

    def _result_of(self, call: ToolCallBlock, position: int, expected: set[int]) -> Entry:
        calls, results = self._calls[call.id], self._results[call.id]
        calls.popleft()
        while results and results[0] < position:
            results.popleft()
        is_answered = results and not (calls and calls[0] <= results[0])
        if not is_answered:
            self._note(call.id, call.name, "missing_result")
            return Entry("tool", [TextBlock(text=MISSING)], call.id, call.name, is_error=True)
        found = results.popleft()
        self._used.add(found)
        if found not in expected:
            self._note(call.id, call.name, "misplaced_result")
        return self._entries[found]

    def _keep_as_text(self, entry: Entry) -> None:
        """A result without a call cannot be sent as one; what it says may still matter."""
        self._note(entry.call_id, entry.name, "result_without_call")
        opening = TextBlock(text="The result of a tool call that is no longer shown:")
        self._history.entries.append(Entry("user", [opening, *entry.blocks]))

    def _unique(self, call_id: str) -> str:
        """`call_id` if every vendor accepts it and no other call has it."""
        candidate = call_id
        if not _PORTABLE_ID.fullmatch(call_id):
            candidate = f"call_{hashlib.sha256(call_id.encode(errors='replace')).hexdigest()[:24]}"
        count = 1
        unique = candidate
        while unique in self._ids:
            count += 1
            unique = f"{candidate[:56]}_{count}"
        self._ids.add(unique)
        return unique

    def _note(self, call_id: str, name: str | None, kind: str) -> None:
        repair = {"tool_call_id": call_id, "tool_name": name, "kind": kind}
        self._history.repairs.append(repair)


def _renamed(result: Entry, call_id: str) -> Entry:
    return Entry("tool", result.blocks, call_id, result.name, result.is_error, result.metadata)
