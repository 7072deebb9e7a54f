"""Writes to the terminal: text to stdout, all else to stderr, and never a code of somebody else's.

It never raises: a stream that is gone is forgotten, and characters that a stream cannot show are
replaced.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Literal, TextIO

Style = Literal["", "dim", "cyan", "green", "red"]
Stream = Literal["stdout", "stderr"]

_CODES: dict[Style, str] = {
    "dim": "\x1b[2m",
    "cyan": "\x1b[36m",
    "green": "\x1b[32m",
    "red": "\x1b[31m",
}
_PLAIN = "\x1b[0m"
_CHANGES_DIRECTION = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)


def _harmless_table() -> dict[int, str]:
    table = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
    table |= {code: f"\\u{code:04x}" for code in _CHANGES_DIRECTION}
    table |= dict.fromkeys((11, 12, 133, 8232, 8233), "\n")
    # A carriage return would let text overwrite what is before it on the line.
    table[0x0D] = ""
    del table[0x09], table[0x0A]
    return table


_HARMLESS = _harmless_table()


def harmless(text: str) -> str:
    """The text with control characters written out, so that it can only be read."""
    return text.translate(_HARMLESS)


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", " ")


class Screen:
    """Both streams of the process, looked up anew for each write."""

    def __init__(self) -> None:
        self._gone: set[Stream] = set()
        self._is_midline = False

    def text(self, text: str) -> None:
        """A piece of what the model says."""
        text = harmless(text)
        if text:
            self._write("stdout", text)
            self._is_midline = not text.endswith("\n")

    def text_line(self, line: str) -> None:
        self.end_line()
        self._write("stdout", f"{_one_line(line)}\n")

    def note(self, line: str, style: Style = "") -> None:
        """One line about what happens."""
        self.end_line()
        line = _one_line(line)
        if style and self._has_colours("stderr"):
            line = f"{_CODES[style]}{line}{_PLAIN}"
        self._write("stderr", f"{line}\n")

    def end_line(self) -> None:
        if self._is_midline:
            self._is_midline = False
            self._write("stdout", "\n")

    def _has_colours(self, name: Stream) -> bool:
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        with suppress(Exception):
            return bool(getattr(sys, name).isatty())
        return False

    def _write(self, name: Stream, text: str) -> None:
        stream: TextIO | None = getattr(sys, name)
        if stream is None or name in self._gone:
            return
        try:
            _write_all(stream, text)
        except (OSError, ValueError):  # a closed file is a ValueError
            self._gone.add(name)
            _let_go(stream)


def _write_all(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def _let_go(stream: Any) -> None:
    """Give what is still buffered somewhere to go, or it would fail when the process ends."""
    with suppress(Exception):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
