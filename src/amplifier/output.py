"""The answer's way out. Whatever else is printed, by whomever, goes to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

STDOUT = 1
DIM, PLAIN = "\x1b[2m", "\x1b[0m"


class Output:
    """Takes stdout for itself, so that modules and their child processes cannot write to it.

    It never raises: characters that stdout cannot show are written as escapes, and a reader
    who has gone away is remembered in `is_closed`.
    """

    def __init__(self) -> None:
        self._stream = _taken_stdout()
        self.is_closed = self._stream is None

    @property
    def is_seen(self) -> bool:
        """Whether it leads to a terminal, where stderr is read too."""
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> None:
        if self._stream is None or self.is_closed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self.is_closed = True
            # What is still buffered has to go somewhere when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _taken_stdout() -> TextIO | None:
    """A stream of our own to where stdout led; None if it led nowhere."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        own = os.dup(STDOUT)
    except OSError:
        return None
    os.dup2(sys.stderr.fileno(), STDOUT)
    # It stays open to the last; the end of the process closes it.
    return open(own, "w", encoding=encoding, errors="backslashreplace", closefd=False)


def printable(text: str) -> str:
    """Text without characters that would steer the terminal."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def note(text: str, *, dim: bool = False) -> None:
    """One line for the person at the terminal, without codes that would steer the terminal."""
    line = printable(" ".join(text.split()))
    with suppress(OSError):
        sys.stderr.write(f"{DIM}{line}{PLAIN}\n" if dim and sys.stderr.isatty() else f"{line}\n")
