"""Cuts a stream of Markdown into blocks that can be shown for good."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
LONGEST_BLOCK = 200
"""Lines of a block after which it is cut anyway: what is not final has to fit on the screen."""


class Blocks:
    """Takes text as it comes; gives blocks as soon as nothing can change how they look.

    Joining all blocks and the tail gives the text again.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial: list[str] = []
        self._fence: str | None = None

    @property
    def tail(self) -> str:
        """What has come and is no block yet."""
        return "".join([*self._lines, *self._partial])

    def feed(self, text: str) -> list[str]:
        """The blocks that `text` completes."""
        if "\n" not in text:
            self._partial.append(text)
            return []
        *lines, rest = "".join([*self._partial, text]).split("\n")
        self._partial = [rest]
        found = (self._take(f"{line}\n") for line in lines)
        return [block for block in found if block is not None]

    def finish(self) -> list[str]:
        """What is left, as the last block."""
        rest = self.tail
        self._lines, self._partial, self._fence = [], [], None
        return [rest] if rest else []

    def _take(self, line: str) -> str | None:
        self._lines.append(line)
        closed = self._note_fence(line)
        is_blank = self._fence is None and not line.strip()
        if closed or is_blank or (len(self._lines) >= LONGEST_BLOCK and self._fence is None):
            return self._emit()
        return None

    def _note_fence(self, line: str) -> bool:
        """Whether `line` ends a block of code."""
        found = _FENCE.match(line)
        if found is None:
            return False
        mark = found.group(1)
        if self._fence is None:
            self._fence = mark
            return False
        if mark[0] == self._fence[0] and len(mark) >= len(self._fence) and line.strip() == mark:
            self._fence = None
            return True
        return False

    def _emit(self) -> str:
        block = "".join(self._lines)
        self._lines = []
        return block
