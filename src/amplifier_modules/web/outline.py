"""Puts plain text together from the blocks and lines of a page."""

from __future__ import annotations

import re
from typing import NamedTuple

from amplifier_modules.web.failures import too_large

DEEPEST_LIST = 8
DEEPEST_QUOTE = 4
_SPACES = re.compile(r"[ \t\n\r\f\v]+")


class Mark(NamedTuple):
    """A place in the text."""

    line: int
    piece: int


class Outline:
    """Text that grows at its end, at most `most` characters of it."""

    def __init__(self, most: int) -> None:
        self.quotes = 0
        self.depth = 0
        self._most = most
        self._size = 0
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._wants_gap = False
        self._marker = ""
        self._row: list[str] | None = None

    def add(self, text: str) -> None:
        """Go on with the line; white space counts as one space."""
        piece = _SPACES.sub(" ", text)
        if piece.startswith(" ") and (not self._pieces or self._pieces[-1].endswith(" ")):
            piece = piece[1:]
        if piece:
            self._grow(len(piece))
            self._pieces.append(piece)

    def end_line(self) -> None:
        if self._row is not None:
            self.add(" ")
            return
        text = self._take()
        if text:
            self._write(self._prefix(self._marker) + text)
            self._marker = ""

    def end_block(self) -> None:
        self.end_line()
        self._wants_gap = self._wants_gap or self._row is None

    def start_item(self, marker: str) -> None:
        self.end_line()
        self._marker = marker if self._row is None else ""

    def verbatim(self, text: str) -> None:
        """A block whose white space stays as it is."""
        self.leave_table()
        self.end_block()
        self._grow(len(text))
        fence = "````" if "```" in text else "```"
        for line in [fence, *text.strip("\r\n").splitlines(), fence]:
            self._write(self._prefix("") + line)
        self._wants_gap = True

    def start_row(self) -> None:
        self.leave_table()
        self.end_line()
        self._row = []

    def start_cell(self) -> None:
        """Begin a cell, and end one that was left open."""
        if self._row is not None and self._pieces:
            self.end_cell()

    def end_cell(self) -> None:
        text = self._take()
        if self._row is not None:
            self._row.append(text)

    def end_row(self, is_header: bool) -> None:
        row, self._row = self._row, None
        if self._pieces:
            row = [*(row or []), self._take()]
        if row and any(row):
            self._write(self._prefix("") + " | ".join(row))
            if is_header:
                self._write(self._prefix("") + " | ".join("---" for _ in row))

    def leave_table(self) -> None:
        """Write the cells so far; what follows in the row is ordinary text."""
        if self._row is not None:
            self.end_row(is_header=False)

    def mark(self) -> Mark:
        return Mark(len(self._lines), len(self._pieces))

    def take_since(self, mark: Mark) -> str | None:
        """Cut the text after `mark` out of the line; None if a line ended in between."""
        if mark.line != len(self._lines) or mark.piece > len(self._pieces):
            return None
        text = "".join(self._pieces[mark.piece :])
        del self._pieces[mark.piece :]
        return text

    def text(self) -> str:
        self.leave_table()
        self.end_line()
        return "\n".join(self._lines)

    def _take(self) -> str:
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        return text

    def _prefix(self, marker: str) -> str:
        depth = min(self.depth, DEEPEST_LIST)
        indent = "  " * (depth - 1) + marker if marker and depth else "  " * depth
        return "> " * min(self.quotes, DEEPEST_QUOTE) + indent

    def _write(self, line: str) -> None:
        if self._wants_gap and self._lines:
            self._lines.append("")
        self._wants_gap = False
        self._grow(len(line) - len(line.lstrip()))
        self._lines.append(line.rstrip())

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            raise too_large(self._most)
