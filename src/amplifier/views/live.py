"""For people at a terminal: Markdown, cards for tool calls, and what is being waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from amplifier_core import AmplifierSession
from rich.console import RenderableType

from amplifier.chat import drawing
from amplifier.chat.drawing import Drawing
from amplifier.chat.follower import ChildFollower, ConversationFollower, agent_of
from amplifier.chat.state import State
from amplifier.chat.terminal import terminal_size
from amplifier.chat.texts import harmless, one_line, wrapped
from amplifier.output import Output
from amplifier.sessions.live import RecordedSession

from . import ANSWER_SHOWN, models_in_use

MOST_LIVE_LINES = 8
SECONDS_BETWEEN = 0.1
DIM, PLAIN = "\x1b[2m", "\x1b[0m"


class LiveView:
    """What is final scrolls by; below it, what still moves is drawn over again."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._state = State()
        self._drawing = Drawing(colour=drawing.wants_colour())
        self._follower = ConversationFollower(self._state, self)
        self._live: list[str] = []
        self._last_group = ""
        self._is_aside = False
        self._clock: asyncio.Task[None] | None = None
        self._session: AmplifierSession | None = None
        self._shown_by_module: Callable[[], bool] | None = None

    def attach(self, session: RecordedSession) -> None:
        self._session = session
        session.coordinator.display_system = self
        self._shown_by_module = session.coordinator.get_capability(ANSWER_SHOWN)
        if self._shown_by_module is not None:
            return
        name, self._state.model = models_in_use(session)
        self._follower.attach(session)
        session.watch_children(self._attach_child)
        self._state.turn_begins()
        model = self._state.model
        self.show(drawing.note(name if model in name else f"{name} ({model})"), "start")
        self._clock = asyncio.create_task(self._redraw_forever())

    def _attach_child(self, child: AmplifierSession) -> None:
        ChildFollower(self._state, self, agent_of(child), child.session_id).attach(child)

    def answered(self, text: str) -> None:
        if self._shown_by_module is not None and self._shown_by_module():
            return
        self._end()
        self._follower.answer(text)
        status = self._state.status()
        if self._state.spent.calls:
            self.show(drawing.note(status), "end")

    def failed(self, message: str) -> None:
        self._end()
        self._follower.flush()
        self.show(drawing.note(f"amplifier: {message}", "red"))

    def _end(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._is_aside = True
        self._clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the screen to somebody else."""
        was_aside, self._is_aside = self._is_aside, True
        self._clear()
        try:
            yield
        finally:
            self._is_aside = was_aside

    # -- the screen -------------------------------------------------------------------------

    def show(self, what: RenderableType, group: str = "", *, apart: bool | None = None) -> None:
        if apart is None:
            apart = not group or group != self._last_group
        is_first = not self._last_group
        self._last_group = group or "other"
        gap = "\n" if apart and not is_first else ""
        self._write(self._cleared() + gap + self._drawing.lines(what, self.width()))

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        style = {"warning": "yellow", "error": "red"}.get(level, "dim")
        self.show(drawing.note(f"{source}: {message}", style), "note")

    def width(self) -> int:
        return terminal_size().columns

    def changed(self) -> None:
        """The clock draws it."""

    def _write(self, text: str) -> None:
        self.output.write(text)
        if self.output.is_closed and self._session is not None:
            # Nobody reads on, so nobody wants to pay for the rest.
            self._session.coordinator.cancellation.request_immediate()

    async def _redraw_forever(self) -> None:
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(SECONDS_BETWEEN)
                if not self._is_aside:
                    self._draw()

    def _draw(self) -> None:
        """Write only lines that are new, in one piece, so that nothing flickers."""
        lines = self._live_lines()
        if lines == self._live:
            return
        text = f"\x1b[{len(self._live) - 1}A" if len(self._live) > 1 else ""
        rows = []
        for number, line in enumerate(lines):
            old = self._live[number] if number < len(self._live) else None
            # The last is always written: what is cleared below begins at its end.
            is_there = line == old and number < len(lines) - 1
            rows.append("" if is_there else f"\r\x1b[2K{line}")
        text += "\n".join(rows)
        self._live = lines
        self._write(f"{text}\x1b[J")

    def _live_lines(self) -> list[str]:
        width = self.width() - 1
        text = self._follower.live_text()
        lines: list[str] = []
        if text.strip():
            room = min(MOST_LIVE_LINES, terminal_size().lines - 3)
            lines = wrapped(harmless(text[-room * width :]), width)[-room:] if room > 0 else []
        if self._session is not None:
            self._state.is_stopping = self._session.coordinator.cancellation.is_cancelled
        activity = one_line(f"… {self._state.activity()}, Ctrl-C stops it", width)
        return [*lines, f"{DIM}{activity}{PLAIN}" if drawing.wants_colour() else activity]

    def _cleared(self) -> str:
        """What takes the moving part off the screen."""
        up = f"\x1b[{len(self._live) - 1}A" if len(self._live) > 1 else ""
        text = f"{up}\r\x1b[J" if self._live else ""
        self._live = []
        return text

    def _clear(self) -> None:
        text = self._cleared()
        if text:
            self._write(text)
