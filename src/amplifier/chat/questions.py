"""Puts questions to the person at the terminal, and makes sure that a person answers them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rich.console import RenderableType

from . import drawing
from .state import State, Wait
from .terminal import is_dumb

Verdict = Literal["once", "session", "project", "deny"]
Answer = tuple[Verdict, str]
"""The verdict, and the reason if one was given."""

KEYS: dict[str, tuple[Verdict, str]] = {
    "y": ("once", "yes, once"),
    "s": ("session", "yes, for this session"),
    "p": ("project", "yes, in this project from now on"),
    "n": ("deny", "no"),
}
DENY_WITH_REASON = "r"

SECONDS_TO_LOOK = 0.5
"""A key that comes sooner after the question or after another key was not meant for it."""
SECONDS_ALONE = 0.15
"""An answer is a single key; what is pasted comes faster."""


@dataclass
class Question:
    """One thing to decide, with the picture that goes before it."""

    title: str
    body: list[RenderableType]
    risk: str
    scopes: tuple[Verdict, ...]
    answer: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    takes_reason: bool = False
    """The person is typing why not."""
    shown: float = 0.0

    def hint(self) -> str:
        if self.takes_reason:
            return "Why not? The model will read it. Enter sends it, Esc goes back."
        keys = [f"[{key}] {text}" for key, (verdict, text) in KEYS.items() if self.takes(verdict)]
        return "  ".join([*keys, f"[{DENY_WITH_REASON}] no, because ..."])

    def takes(self, verdict: Verdict) -> bool:
        return verdict in self.scopes or verdict == "deny"

    def decide(self, verdict: Verdict, reason: str = "") -> None:
        if not self.answer.done():
            self.answer.set_result((verdict, reason))


class Screen(Protocol):
    """Where questions are shown."""

    def show(self, what: RenderableType, group: str = "", *, apart: bool | None = None) -> None: ...
    def changed(self) -> None: ...


class Questions:
    """Puts one question after the other; what is not answered in time is denied."""

    def __init__(self, state: State, screen: Screen) -> None:
        self._state = state
        self._screen = screen
        self._waiting: deque[Question] = deque()

    @property
    def current(self) -> Question | None:
        return self._waiting[0] if self._waiting else None

    async def ask(self, question: Question, seconds: float | None) -> Answer:
        """The person's verdict and reason.

        Raises:
            TimeoutError: there was none in time.
        """
        self._waiting.append(question)
        if self.current is question:
            self._put(question)
        try:
            async with asyncio.timeout(seconds):
                answer = await question.answer
            self._screen.show(drawing.note(f"  {_in_words(answer)}"), "answer", apart=False)
            return answer
        finally:
            was_current = self.current is question
            self._waiting.remove(question)
            if self.current is None:
                self._state.question = None
            elif was_current:
                self._put(self.current)
            self._screen.changed()

    def _show_keys(self, question: Question) -> None:
        """Now they count. Where nothing is drawn over again, they scroll by."""
        if self.current is question and is_dumb():
            self._screen.show(drawing.note(question.hint()), "answer", apart=False)
        self._screen.changed()

    def deny_all(self, reason: str) -> None:
        for question in self._waiting:
            question.decide("deny", reason)

    def _put(self, question: Question) -> None:
        self._screen.show(drawing.question_card(question))
        self._state.question = Wait("your answer")
        question.shown = time.monotonic()
        loop = asyncio.get_running_loop()
        loop.call_later(SECONDS_TO_LOOK + 0.01, self._show_keys, question)
        self._screen.changed()


def _in_words(answer: Answer) -> str:
    verdict, reason = answer
    said = next(text for each, text in KEYS.values() if each == verdict)
    return f"{said}: {reason}" if reason else said


class Answering:
    """Tells keys that answer a question from those that were typed or pasted for something else.

    A key counts if nothing was typed for a while before it and nothing comes right after it.
    Everything else is text, and is kept.
    """

    def __init__(
        self,
        questions: Questions,
        keep: Callable[[str], None],
        begin_reason: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._questions = questions
        self._keep = keep
        self._begin_reason = begin_reason
        self._changed = changed
        self._last_key = 0.0
        self._held: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether keys go to a question, and not into the line."""
        question = self._questions.current
        return question is not None and not question.takes_reason

    @property
    def counts(self) -> bool:
        """Whether the next key can be an answer."""
        question = self._questions.current
        if question is None or self._held is not None:
            return False
        return time.monotonic() - max(self._last_key, question.shown) >= SECONDS_TO_LOOK

    def hint(self, question: Question) -> str:
        if question.takes_reason or self.counts or self._held is not None:
            return question.hint()
        return "..."

    def typed(self, text: str, *, is_key: bool = True) -> None:
        """A key, or something that was pasted, came while a question is open."""
        counts = self.counts and is_key
        self._last_key = time.monotonic()
        if counts and len(text) == 1 and text.lower() in (*KEYS, DENY_WITH_REASON):
            self._held = text
            self._later(SECONDS_ALONE, self._decide)
            return
        held, self._held = self._held or "", None
        self._keep(held + text)
        self._later(SECONDS_TO_LOOK, self._changed)

    def noticed(self) -> None:
        """A key came while no question was open."""
        self._last_key = time.monotonic()

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        # A little more, so that the time has passed for certain when it is looked at.
        asyncio.get_running_loop().call_later(seconds + 0.01, do)

    def _decide(self) -> None:
        key, self._held = self._held, None
        question = self._questions.current
        if key is None or question is None:
            return
        if key.lower() == DENY_WITH_REASON:
            question.takes_reason = True
            self._begin_reason()
        elif question.takes(KEYS[key.lower()][0]):
            question.decide(KEYS[key.lower()][0])
        self._changed()
