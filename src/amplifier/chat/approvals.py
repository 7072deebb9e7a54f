"""Turns what a tool is about to do into a question that a person can decide."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from amplifier_core import AmplifierSession, ApprovalRequest, ApprovalResponse, events
from amplifier_core.approval import ApprovalTimeoutError
from rich.console import RenderableType
from rich.text import Text

from amplifier.grants import UnreadableGrants

from . import drawing
from .follower import agent_of
from .questions import Answer, Question, Verdict
from .texts import exact

LONGEST_VALUE_LINES = 100
LONGEST_COMMAND = 50_000
"""Characters; nobody reads more before a yes."""
LARGEST_FILE = 1_000_000
MOST_REMEMBERED = 1_000
MOST_COMPARED = 2_000
"""Lines; more are not aligned with each other, which would take long."""
CONTEXT = 3
_PART = re.compile(r"@@ -(\d+)")

Ask = Callable[[Question, float | None], Awaitable[Answer]]


class Remembered(Protocol):
    """What was allowed in this project for good."""

    def allows(self, request: ApprovalRequest, folder: str | None = None) -> bool: ...
    def keep(self, request: ApprovalRequest, folder: str | None = None) -> None: ...


@dataclass
class Approvals:
    """Answers the guard of one session, and hooks that ask, by asking the person."""

    ask: Ask
    folder: Path
    remembered: Remembered | None = None
    agent: str | None = None
    """Whose session it is, if it is a child."""
    session: AmplifierSession | None = None
    _reasons: dict[tuple[str, str], str] = field(default_factory=dict)

    def attach(self, session: AmplifierSession) -> None:
        """Answer for a session that is ready."""
        self.session = session
        coordinator = session.coordinator
        coordinator.hooks.register(events.APPROVAL_REQUIRED, self._note_reason, name="approvals")
        register = coordinator.get_capability("approval.register_provider")
        if register is not None:
            register(self)

    def attach_child(self, child: AmplifierSession) -> None:
        """The same for a child that has yet to start."""
        own = Approvals(self.ask, self.folder, self.remembered, agent_of(child))

        def begins(_event: str, _data: dict[str, Any]) -> None:
            if own.session is None:
                own.attach(child)

        child.coordinator.hooks.register(events.PROMPT_SUBMIT, begins, name="approvals")

    def _note_reason(self, _event: str, data: dict[str, Any]) -> None:
        while len(self._reasons) >= MOST_REMEMBERED:
            del self._reasons[next(iter(self._reasons))]
        key = str(data.get("tool_name")), str(data.get("action"))
        self._reasons[key] = f"{data.get('reason')} Rule: {data.get('rule')}"

    async def request_approval(self, *asked: Any, **named: Any) -> Any:
        """Both contracts: a request of the guard, or the kernel's question with options."""
        if asked and isinstance(asked[0], ApprovalRequest):
            return await self._decide(asked[0])
        return await self._choose(*asked, **named)

    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse:
        folder = self._folder_of(request.tool_name)
        elsewhere = None if Path(folder) == self.folder else folder
        remembered = self.remembered
        if remembered is not None and remembered.allows(request, elsewhere):
            return ApprovalResponse(approved=True, reason="allowed in this project before")
        if _size(request) > LONGEST_COMMAND:
            return ApprovalResponse(approved=False, reason=_too_long(request))
        scopes: tuple[Verdict, ...] = ("once", "session")
        if remembered is not None:
            scopes = (*scopes, "project")
        question = Question(
            self._title(request), self._body(request, folder), request.risk_level, scopes
        )
        verdict, reason = await self.ask(question, request.timeout)
        if verdict == "project" and remembered is not None:
            try:
                remembered.keep(request, elsewhere)
            except (OSError, UnreadableGrants) as error:
                return ApprovalResponse(approved=False, reason=f"it cannot be noted: {error}")
        return ApprovalResponse(
            approved=verdict != "deny",
            reason=reason or ("a person said no" if verdict == "deny" else "a person said yes"),
            remember=verdict in ("session", "project"),
        )

    def _title(self, request: ApprovalRequest) -> str:
        who = "May I" if self.agent is None else f"May agent {self.agent!r}"
        return f"{who} {_what(request)}?"

    def _folder_of(self, tool_name: str) -> str:
        """Where the call would happen: a shell may have moved."""
        if self.session is None:
            return str(self.folder)
        coordinator = self.session.coordinator
        tool = (coordinator.get("tools") or {}).get(tool_name)
        own = getattr(tool, "folder", None)
        if isinstance(own, str) and os.path.isabs(own):
            return own
        return str(coordinator.get_capability("session.working_dir") or self.folder)

    def _body(self, request: ApprovalRequest, folder: str) -> list[RenderableType]:
        where = Text.assemble(("where: ", "dim"), exact(folder))
        changes = _changes(request.details, Path(folder))
        what = changes if changes is not None else _values(request.details)
        reason = self._reasons.pop((request.tool_name, request.action), None)
        why = [] if reason is None else [Text.assemble(("why:   ", "dim"), exact(reason))]
        return [*what, where, *why]

    async def _choose(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        """For a hook that asks: its own words, and its own options."""
        once = _option(options, "once", "allow", "yes")
        always = _option(options, "always", "session")
        scopes: tuple[Verdict, ...] = ("once", "session") if always else ("once",)
        title = "May I go on?" if self.agent is None else f"May agent {self.agent!r} go on?"
        question = Question(title, [Text(exact(prompt))], "medium", scopes)
        try:
            verdict, _ = await self.ask(question, timeout)
        except TimeoutError as error:
            raise ApprovalTimeoutError(f"Nobody answered in {timeout:.0f} s.") from error
        chosen = {"once": once, "session": always}.get(verdict)
        return chosen or next((each for each in options if _denies(each)), "deny")


def _option(options: list[str], *words: str) -> str | None:
    return next((each for word in words for each in options if word in each.lower()), None)


def _denies(option: str) -> bool:
    return option.lower().startswith(("deny", "no"))


def _what(request: ApprovalRequest) -> str:
    """The deed in a few words; the whole of it is below."""
    command = request.details.get("command")
    if isinstance(command, str) and request.action.startswith("run "):
        return "run this command"
    path = request.details.get("file_path")
    return f"{request.action} on {path!r}" if isinstance(path, str) else request.action


def _size(request: ApprovalRequest) -> int:
    command = request.details.get("command")
    return len(command) if isinstance(command, str) else 0


def _too_long(request: ApprovalRequest) -> str:
    return (
        f"the command has {_size(request):,} characters, more than a person can read. "
        "Write it to a file and run that"
    )


def _values(details: dict[str, Any]) -> list[RenderableType]:
    """The input of a call. A command is shown whole: what is left out could be anything."""
    shown: list[RenderableType] = []
    for key, value in details.items():
        whole = str(value)
        lines = exact(whole[:LONGEST_COMMAND]).split("\n")
        if key != "command":
            lines = lines[:LONGEST_VALUE_LINES]
        hidden = whole.count("\n") + 1 - len(lines)
        if hidden > 0:
            lines.append(f"… {hidden:,} more lines")
        elif len(whole) > LONGEST_COMMAND:
            lines.append(f"… {len(whole) - LONGEST_COMMAND:,} more characters")
        name = "" if key == "command" else f"{exact(str(key))}: "
        style = "bold" if key == "command" else ""
        shown.append(Text.assemble((name, "dim"), ("\n".join(lines), style), overflow="fold"))
    return shown


def _changes(details: dict[str, Any], folder: Path) -> list[RenderableType] | None:
    """What an edit would change; None if this is no edit."""
    name = details.get("file_path")
    if not isinstance(name, str):
        return None
    old, new, content = (_start_of(details.get(key)) for key in _TEXTS)
    before = _text_of(folder / Path(name).expanduser())
    if old is not None and new is not None:
        if before is None or not old or old not in before:
            return difference(old, new, name)
        times = -1 if details.get("replace_all") else 1
        return difference(before, before.replace(old, new, times), name)
    if content is not None:
        return difference(before or "", content, name)
    return None


_TEXTS = ("old_string", "new_string", "content")


def _start_of(value: Any) -> str | None:
    return value[:LARGEST_FILE] if isinstance(value, str) else None


def _text_of(path: Path) -> str | None:
    try:
        if path.is_file() and path.stat().st_size <= LARGEST_FILE:
            return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        pass
    return None


def difference(before: str, after: str, name: str) -> list[RenderableType]:
    """What would change in a file."""
    old, new = exact(before).splitlines(), exact(after).splitlines()
    start, end = _same_around(old, new)
    middle = max(len(old), len(new)) - start - end
    if middle > MOST_COMPARED:
        removed = [f"-{line}" for line in old[start : len(old) - end]]
        added = [f"+{line}" for line in new[start : len(new) - end]]
        return drawing.changes([f"@@ from line {start + 1} @@", *removed, *added], name)
    found = difflib.unified_diff(
        _cut(old, start, end), _cut(new, start, end), lineterm="", n=CONTEXT
    )
    skipped = max(start - CONTEXT, 0)
    return drawing.changes([_placed(line, skipped) for line in list(found)[2:]], name)


def _placed(line: str, skipped: int) -> str:
    """A line of a difference; one that begins a part says where it is in the file."""
    found = _PART.match(line)
    return line if found is None else f"@@ from line {int(found[1]) + skipped} @@"


def _same_around(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the start and at the end are the same."""
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - start
    end = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return start, end


def _cut(lines: list[str], start: int, end: int) -> list[str]:
    return lines[max(start - CONTEXT, 0) : len(lines) - max(end - CONTEXT, 0)]
