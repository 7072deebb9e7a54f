"""The answer's way out. Whatever else is printed, by whomever, goes to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

STDOUT, STDERR = 1, 2


class Output:
    """Takes stdout for itself, so that modules and their child processes cannot write to it.

    It never raises: characters that stdout cannot show are written as escapes, and a reader
    who has gone away is remembered in `is_closed`.
    """

    def __init__(self) -> None:
        self._stream = _taken_stdout()
        self.is_closed = self._stream is None

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
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        own = os.dup(STDOUT)
    except OSError:
        return None
    with suppress(OSError):  # without stderr there is nowhere to send the rest
        os.dup2(STDERR, STDOUT)
    return open(own, "w", encoding=encoding, errors="backslashreplace")


def note(line: str) -> None:
    """Tell the person at the terminal, if there is one."""
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"{line}\n")
