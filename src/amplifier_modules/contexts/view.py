"""What requests show of the history. It only grows, except when a compaction replaces it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_core.message_models import Message

from amplifier_modules.contexts.entries import Entry
from amplifier_modules.contexts.messages import (
    answers_in,
    calls_in,
    is_injected,
    is_static_prompt,
    to_message,
)
from amplifier_modules.contexts.tokens import estimate_tokens

NO_RESULT = "[There is no result: the call was interrupted before it answered.]"


class View:
    """Messages in an order that every provider accepts: results right behind their call.

    Two things can come between them in the history. What hooks inject while tools run moves
    behind the results. A user's or the model's next message shows that a call was given up,
    by a crash or a cancellation; it is then answered with a note.
    """

    def __init__(self, *, has_prompt_factory: bool = False) -> None:
        self.shown: list[dict[str, Any]] = []
        self.counts: list[int] = []
        """The estimate of each."""
        self.removed = 0
        """Messages that compactions took out."""
        self.floor = 0
        """The estimate, without more messages, that the last compaction came down to."""
        self.compacted_at = 0
        """The budget of the last compaction; 0 if there was none."""
        self._has_prompt_factory = has_prompt_factory
        self._tokens = 0
        self._validated: list[Message] = []
        """What is shown, as far as it has been asked for."""
        self._open: dict[str, None] = {}
        self._answered: set[str] = set()
        self._held: list[dict[str, Any]] = []

    @property
    def tokens(self) -> int:
        """The estimate of everything shown."""
        return self._tokens + self.waiting_tokens if self._open else self._tokens

    @property
    def waiting_tokens(self) -> int:
        """The part of it that has no place yet, because results are still to come."""
        return _NOTE_TOKENS * len(self._open) + sum(map(estimate_tokens, self._held))

    def __len__(self) -> int:
        return len(self.shown) + len(self._open) + len(self._held)

    def append(self, message: dict[str, Any]) -> None:
        role, call = message.get("role"), message.get("tool_call_id")
        if (
            role == "tool"
            and isinstance(call, str)
            and call in self._open
            and isinstance(message.get("content"), str)
        ):  # the answer that is waited for, as nearly always
            del self._open[call]
            self._answered.add(call)
            self._show(message)
            if self._held and not self._open:
                self._release()
        elif role == "assistant":
            if self._open and not is_injected(message):
                self._give_up_open_calls()
            if self._open:
                self._held.append(message)
                return
            self._show(message)
            for each in calls_in(message):
                self._open[each] = None
        elif answers := answers_in(message):
            self._append_result(message, answers)
        elif not self._has_prompt_factory or not is_static_prompt(message):
            if self._open and role == "user" and not is_injected(message):
                self._give_up_open_calls()
            if self._open and role not in ("tool", "function"):
                self._held.append(message)
            else:
                self._show(message)

    def _append_result(self, message: dict[str, Any], answers: tuple[str, ...]) -> None:
        wanted = [call for call in answers if call in self._open]
        if not wanted and self._answered.issuperset(answers):
            return  # too late, or said twice: providers refuse a second answer
        self._show(message)
        for call in wanted:
            del self._open[call]
            self._answered.add(call)
        if self._held and not self._open:
            self._release()

    def _give_up_open_calls(self) -> None:
        for call in list(self._open):
            self._append_result(_no_result(call), (call,))

    def _release(self) -> None:
        held, self._held = self._held, []
        for message in held:
            self._show(message)

    def _show(self, message: dict[str, Any]) -> None:
        tokens = estimate_tokens(message)
        self.shown.append(message)
        self.counts.append(tokens)
        self._tokens += tokens

    def replace(self, entries: Sequence[Entry]) -> None:
        """Show these in place of what is shown; what waits goes on waiting."""
        ready = {id(old): new for old, new in zip(self.shown, self._validated, strict=False)}
        self.shown = [entry.message for entry in entries]
        self.counts = [entry.tokens for entry in entries]
        self._tokens = sum(self.counts)
        self._validated = []
        if ready:
            self._validated = [ready.get(id(each)) or to_message(each) for each in self.shown]

    def dicts(self, prompt: dict[str, Any] | None) -> list[dict[str, Any]]:
        """The messages behind the system prompt, in a new list."""
        first = () if prompt is None else (prompt,)
        return [*first, *self.shown, *self._waiting()]

    def messages(self, prompt: dict[str, Any] | None) -> list[Message]:
        """The same, validated. Each message is validated once and then reused."""
        ready = self._validated
        for message in self.shown[len(ready) :]:
            ready.append(to_message(message))
        if prompt is None and not self._open:
            return ready.copy()
        first = () if prompt is None else (to_message(prompt),)
        return [*first, *ready, *map(to_message, self._waiting())]

    def _waiting(self) -> list[dict[str, Any]]:
        """What a request shows in the middle of tool calls: that they have no results yet."""
        return [*map(_no_result, self._open), *self._held] if self._open else []


def _no_result(call: str) -> dict[str, Any]:
    metadata = {"source": "context"}
    return {"role": "tool", "tool_call_id": call, "content": NO_RESULT, "metadata": metadata}


_NOTE_TOKENS = estimate_tokens(_no_result(""))
"""How many tokens such a note takes."""
