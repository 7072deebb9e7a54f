"""What requests show of the history. It only grows, except when a compaction replaces it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from amplifier_core.message_models import Message

from amplifier_modules.contexts.entries import Entry

NO_RESULT = "[There is no result: the call was interrupted before it answered.]"


class View:
    """Entries in an order that every provider accepts: results right behind their call.

    Two things can come between them in the history. What hooks inject while tools run moves
    behind the results. A user's or the model's next message shows that a call was given up,
    by a crash or a cancellation; it is then answered with a note.
    """

    def __init__(self, entries: Iterable[Entry] = (), *, has_prompt_factory: bool = False) -> None:
        self.entries: list[Entry] = []
        self.removed = 0
        """Messages that compactions took out."""
        self.floor = 0
        """The estimate, without more messages, that the last compaction came down to."""
        self.compacted_at = 0
        """The budget of the last compaction; 0 if there was none."""
        self._has_prompt_factory = has_prompt_factory
        self._tokens = 0
        self._dicts: list[dict[str, Any]] = []
        self._messages: list[Message] = []
        self._units = 0
        self._open: dict[str, int] = {}
        self._answered: set[str] = set()
        self._held: list[Entry] = []
        for entry in entries:
            self.append(entry)

    @property
    def tokens(self) -> int:
        """The estimate of everything shown."""
        is_settled = not self._open and not self._held
        return self._tokens if is_settled else self._tokens + self.waiting_tokens

    @property
    def waiting_tokens(self) -> int:
        """The part of it that has no place yet, because results are still to come."""
        return _NOTE_TOKENS * len(self._open) + sum(entry.tokens for entry in self._held)

    def __len__(self) -> int:
        return len(self.entries) + len(self._open) + len(self._held)

    def append(self, entry: Entry) -> None:
        if self._has_prompt_factory and entry.is_static_prompt:
            return
        if entry.answers:
            self._append_result(entry)
            return
        if self._open and entry.role in ("user", "assistant") and not entry.is_injected:
            self._give_up_open_calls()
        if self._open and entry.kind != "result":
            self._held.append(entry)
            return
        self._show(entry, self._next_unit())
        for call in entry.calls:
            self._open[call] = entry.unit

    def _append_result(self, entry: Entry) -> None:
        wanted = [call for call in entry.answers if call in self._open]
        if not wanted and self._answered.issuperset(entry.answers):
            return  # too late, or said twice: providers refuse a second answer
        unit = self._open[wanted[0]] if wanted else self._next_unit()
        self._show(entry, unit)
        for call in wanted:
            del self._open[call]
            self._answered.add(call)
        if self._held and not self._open:
            self._release()

    def _give_up_open_calls(self) -> None:
        for call in list(self._open):
            self._append_result(_no_result(call))

    def _release(self) -> None:
        held, self._held = self._held, []
        for entry in held:
            self._show(entry, self._next_unit())

    def _next_unit(self) -> int:
        self._units += 1
        return self._units

    def _show(self, entry: Entry, unit: int) -> None:
        entry.unit = unit
        self.entries.append(entry)
        self._dicts.append(entry.message)
        self._tokens += entry.tokens

    def replace(self, entries: Sequence[Entry]) -> None:
        """Show these in place of what is shown; what waits goes on waiting."""
        self.entries = list(entries)
        self._dicts = [entry.message for entry in entries]
        self._messages = []
        self._tokens = sum(entry.tokens for entry in entries)

    def dicts(self, prompt: Entry | None) -> list[dict[str, Any]]:
        """The messages behind the system prompt, in a new list."""
        first = () if prompt is None else (prompt.message,)
        return [*first, *self._dicts, *[entry.message for entry in self._waiting()]]

    def messages(self, prompt: Entry | None) -> list[Message]:
        """The same, validated. Each message is validated once and then reused."""
        fresh = self.entries[len(self._messages) :]
        self._messages += [entry.validated() for entry in fresh]
        first = () if prompt is None else (prompt.validated(),)
        return [*first, *self._messages, *[entry.validated() for entry in self._waiting()]]

    def _waiting(self) -> list[Entry]:
        """What a request shows in the middle of tool calls: that they have no results yet."""
        return [*map(_no_result, self._open), *self._held] if self._open or self._held else []


def _no_result(call: str) -> Entry:
    metadata = {"source": "context"}
    fields = {"role": "tool", "tool_call_id": call, "content": NO_RESULT, "metadata": metadata}
    return Entry(fields)


_NOTE_TOKENS = _no_result("").tokens
