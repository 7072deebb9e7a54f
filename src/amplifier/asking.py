"""Puts the questions of a session to the person at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Literal

from amplifier_core.approval import ApprovalTimeoutError

from amplifier.output import note

_LONGEST_ANSWER = 4096
_WORDS = {"y": "once", "yes": "once", "a": "always", "always": "always"}


def person_at_terminal() -> PersonAtTerminal | None:
    """Whom to ask; None if nobody could see a question and answer it."""
    with suppress(AttributeError, OSError, ValueError):
        if sys.stdin.isatty() and sys.stderr.isatty():
            return PersonAtTerminal(sys.stdin.fileno())
    return None


class PersonAtTerminal:
    """An approval system: a question on stderr, one line as its answer. All but a yes is a no."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """The option that was chosen.

        Raises:
            ApprovalTimeoutError: nobody answered in time.
        """
        # What was typed before the question is no answer to it.
        _forget_typed(self._terminal)
        sys.stderr.write("\n")
        note(prompt)
        always = _first(options, "always")
        sys.stderr.write(f"[y]es{', [a]lways in this session' if always else ''}, [N]o: ")
        sys.stderr.flush()
        try:
            async with asyncio.timeout(timeout):
                line = await self._line()
        except TimeoutError:
            note("Nobody answered in time.")
            raise ApprovalTimeoutError(f"Nobody answered within {timeout:g} s.") from None
        chosen = _WORDS.get(line.strip().lower())
        granted = always if chosen == "always" else _first(options, "once", "allow")
        return (granted if chosen else None) or _first(options, "deny", "no") or "deny"

    async def _line(self) -> str:
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":
            return await asyncio.to_thread(sys.stdin.readline)
        ready = asyncio.Event()
        loop.add_reader(self._terminal, ready.set)
        try:
            await ready.wait()
            return os.read(self._terminal, _LONGEST_ANSWER).decode("utf-8", "replace")
        finally:
            loop.remove_reader(self._terminal)


def _first(options: list[str], *words: str) -> str | None:
    return next((each for word in words for each in options if word in each.lower()), None)


def _forget_typed(terminal: int) -> None:
    if sys.platform != "win32":
        import termios

        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
