"""Asks the person at the terminal whether a tool may do what it is about to do."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from amplifier_core import ApprovalRequest, ApprovalResponse
from amplifier_core.approval import ApprovalTimeoutError
from rich.console import RenderableType
from rich.text import Text

from . import drawing
from .texts import first_lines, harmless

Verdict = Literal["once", "session", "project", "deny"]

LONGEST_VALUE_LINES = 20
KEYS: dict[str, tuple[Verdict, str]] = {
    "y": ("once", "yes, once"),
    "s": ("session", "yes, for this session"),
    "p": ("project", "yes, in this project from now on"),
    "n": ("deny", "no"),
}
DENY_WITH_REASON = "r"


@dataclass
class Question:
    """One thing to decide, with the picture that goes before it."""

    title: str
    body: list[RenderableType]
    risk: str
    scopes: tuple[Verdict, ...]
    answer: asyncio.Future[tuple[Verdict, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    takes_reason: bool = False
    """The person is typing why not."""

    def hint(self) -> str:
        if self.takes_reason:
            return "Why not? The model will read it. Enter sends it."
        keys = [f"[{key}] {text}" for key, (verdict, text) in KEYS.items() if self.takes(verdict)]
        return "  ".join([*keys, f"[{DENY_WITH_REASON}] no, because ..."])

    def takes(self, verdict: Verdict) -> bool:
        return verdict in self.scopes or verdict == "deny"

    def decide(self, verdict: Verdict, reason: str = "") -> None:
        if not self.answer.done():
            self.answer.set_result((verdict, reason))


class Questions:
    """Puts one question after the other; what is not answered in time is denied."""

    def __init__(self, show: Callable[[RenderableType], None], changed: Callable[[], None]) -> None:
        self._show = show
        self._changed = changed
        self._waiting: deque[Question] = deque()

    @property
    def current(self) -> Question | None:
        return self._waiting[0] if self._waiting else None

    async def ask(self, question: Question, seconds: float | None) -> tuple[Verdict, str]:
        """The person's verdict and reason.

        Raises:
            TimeoutError: there was none in time.
        """
        self._waiting.append(question)
        if self.current is question:
            self._put(question)
        try:
            async with asyncio.timeout(seconds):
                return await question.answer
        finally:
            was_current = self.current is question
            self._waiting.remove(question)
            if was_current and self.current is not None:
                self._put(self.current)
            self._changed()

    def _put(self, question: Question) -> None:
        self._show(drawing.question(question.title, question.body, question.risk))
        self._changed()


class TerminalApprovals:
    """Answers the approval guard and hooks that ask, by asking the person."""

    def __init__(self, questions: Questions, folder: Path, remember: Any = None) -> None:
        self._questions = questions
        self._folder = folder
        self._remembered = remember

    async def request_approval(self, *asked: Any, **named: Any) -> Any:
        """Both contracts: a request of the guard, or the kernel's question with options."""
        if asked and isinstance(asked[0], ApprovalRequest):
            return await self._decide(asked[0])
        return await self._choose(*asked, **named)

    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse:
        if self._remembered is not None and self._remembered.allows(request):
            return ApprovalResponse(approved=True, reason="allowed in this project before")
        scopes: tuple[Verdict, ...] = ("once", "session")
        if self._remembered is not None:
            scopes = (*scopes, "project")
        title = f"May I {request.action}?"
        question = Question(title, self._body(request), request.risk_level, scopes)
        verdict, reason = await self._questions.ask(question, request.timeout)
        if verdict == "project" and self._remembered is not None:
            self._remembered.keep(request)
        return ApprovalResponse(
            approved=verdict != "deny",
            reason=reason or ("a person said no" if verdict == "deny" else "a person said yes"),
            remember=verdict in ("session", "project"),
        )

    def _body(self, request: ApprovalRequest) -> list[RenderableType]:
        lines: list[RenderableType] = [Text(f"in {self._folder}", style="dim")]
        changes = _changes(request.details, self._folder)
        if changes is not None:
            return [*lines, *changes]
        for key, value in request.details.items():
            shown = first_lines(str(value), LONGEST_VALUE_LINES, 200)
            lines.append(Text.assemble((f"{harmless(str(key))}: ", "dim"), "\n".join(shown)))
        return lines

    async def _choose(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        allowing = [each for each in options if each.lower().startswith(("allow", "yes"))]
        question = Question("May I go on?", [Text(harmless(prompt))], "medium", ("once",))
        try:
            verdict, _ = await self._questions.ask(question, timeout)
        except TimeoutError as error:
            raise ApprovalTimeoutError(f"Nobody answered in {timeout:.0f} s.") from error
        return allowing[0] if verdict != "deny" and allowing else "Deny"


def _changes(details: dict[str, Any], folder: Path) -> list[RenderableType] | None:
    """What an edit would change; None if this is no edit."""
    name = details.get("file_path")
    if not isinstance(name, str):
        return None
    old, new = details.get("old_string"), details.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        return drawing.difference(old, new, name)
    content = details.get("content")
    if isinstance(content, str):
        return drawing.difference(_text_of(folder / name), content, name)
    return None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""
