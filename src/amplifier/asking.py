"""Puts the questions of `amplifier run` to the person at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier.output import note

if TYPE_CHECKING:
    from amplifier.chat.approvals import Approvals
    from amplifier.chat.questions import Answer, Question

_MOST_AT_ONCE = 4096
_END_OF_INPUT = ("", "\x04")

Aside = Callable[[], AbstractContextManager[None]]
"""Keeps everything else off the screen while a question is on it."""


def person_at_terminal(aside: Aside) -> PersonAtTerminal | None:
    """Whom to ask; None if nobody could see a question and answer it."""
    with suppress(AttributeError, OSError, ValueError):
        if sys.stdin.isatty() and sys.stderr.isatty():
            return PersonAtTerminal(sys.stdin.fileno(), aside)
    return None


class PersonAtTerminal:
    """Shows a question on stderr; a single key is the answer. All but a yes is a no."""

    def __init__(self, terminal: int, aside: Aside) -> None:
        self._terminal = terminal
        self._aside = aside
        self._one_at_a_time = asyncio.Lock()
        self._wakes = asyncio.Event()
        self._has_given_up = False
        self._restore: Callable[[], None] = lambda: None

    def approvals(self) -> Approvals:
        """The approval system of a session in this folder."""
        from amplifier.chat.approvals import Approvals
        from amplifier.grants import FILE, Grants
        from amplifier.sessions.places import sessions_folder

        folder = Path.cwd()
        return Approvals(self.ask, folder, Grants(sessions_folder(folder).parent / FILE))

    async def ask(self, question: Question, seconds: float | None) -> Answer:
        """The verdict and the reason.

        Raises:
            TimeoutError: there was none in time.
        """
        async with self._one_at_a_time:
            with self._aside():
                try:
                    async with asyncio.timeout(seconds):
                        return await self._answered(question)
                except TimeoutError:
                    sys.stderr.write("\n")
                    note("Nobody answered in time.")
                    raise

    def give_up(self) -> None:
        """The person wants no more of it, whatever is asked."""
        self._has_given_up = True
        self._restore()
        self._wakes.set()

    async def _answered(self, question: Question) -> Answer:
        from amplifier.chat.drawing import Drawing, question_card, wants_colour
        from amplifier.chat.questions import DENY_WITH_REASON, KEYS
        from amplifier.chat.terminal import terminal_width

        drawing, width = Drawing(colour=wants_colour()), terminal_width()
        sys.stderr.write("\n" + drawing.lines(question_card(question), width))
        while not self._has_given_up:
            key = (await self._key(question.hint())).lower()
            if key == DENY_WITH_REASON:
                sys.stderr.write("\nWhy not? The model will read it: ")
                sys.stderr.flush()
                return "deny", (await self._line()).strip()
            if key in _END_OF_INPUT or self._has_given_up:
                break
            if key in KEYS and question.takes(KEYS[key][0]):
                sys.stderr.write(f"{KEYS[key][1]}\n")
                return KEYS[key][0], ""
        sys.stderr.write("\n")
        return "deny", "The user interrupted."

    async def _key(self, hint: str) -> str:
        """A key that was pressed for this: nothing was typed before it, and nothing follows."""
        from amplifier.chat.questions import SECONDS_ALONE, SECONDS_TO_LOOK

        if sys.platform == "win32":
            # There is no waiting for single keys here; a line stands for its first.
            sys.stderr.write(f"{hint}: ")
            sys.stderr.flush()
            return (await self._line()).strip()[:1]
        with self._keys_at_once():
            while True:
                while await self._read(SECONDS_TO_LOOK):
                    pass
                sys.stderr.write(f"\r{hint}: ")
                sys.stderr.flush()
                key = await self._read(None) or ""
                if len(key) <= 1 and (self._has_given_up or not await self._read(SECONDS_ALONE)):
                    return key
                sys.stderr.write("\n")
                note("That came too fast to be an answer. Press one key.")

    async def _line(self) -> str:
        if sys.platform == "win32":
            return await asyncio.to_thread(sys.stdin.readline)
        return await self._read(None) or ""

    async def _read(self, seconds: float | None) -> str | None:
        """What is typed, as soon as there is something; None if nothing came in time."""
        if self._has_given_up:
            return None
        loop = asyncio.get_running_loop()
        self._wakes.clear()
        loop.add_reader(self._terminal, self._wakes.set)
        try:
            async with asyncio.timeout(seconds) as deadline:
                await self._wakes.wait()
        except TimeoutError:
            if not deadline.expired():
                raise
            return None
        finally:
            loop.remove_reader(self._terminal)
        if self._has_given_up:
            return None
        return os.read(self._terminal, _MOST_AT_ONCE).decode("utf-8", "replace")

    @contextmanager
    def _keys_at_once(self) -> Iterator[None]:
        """Keys arrive one by one and are not shown; Ctrl-C still interrupts."""
        if sys.platform != "win32":
            import termios
            import tty

            before: Any = termios.tcgetattr(self._terminal)

            def restore() -> None:
                with suppress(termios.error):
                    termios.tcsetattr(self._terminal, termios.TCSADRAIN, before)

            self._restore = restore
            try:
                tty.setcbreak(self._terminal, termios.TCSADRAIN)
                yield
            finally:
                restore()
                self._restore = lambda: None
