"""Cuts a stream of Markdown into blocks that can be shown for good."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_BLOCK = 50
"""Lines of a block after which it is cut anyway: what is not final has to fit on the screen."""
LONGEST_LINE = 4_000
"""Characters of a line after which it is cut anyway."""

_FENCE = re.compile(r" *(?:(?:[-*+]|\d{1,9}[.)]) +)?(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)$")
_FENCE_END = re.compile(r" *(?P<mark>`{3,}|~{3,})[ \t]*$")
_ITEM = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_ITEM_AFTER_TEXT = re.compile(r" ?(?:[-*+]|1[.)])[ \t]+\S")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_BELOW_TABLE_HEAD = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


class Block(NamedTuple):
    """A part of the text that looks the same whatever comes after it."""

    source: str
    """The text as it came; those of all blocks together are the whole."""
    markdown: str
    """The same, complete in itself: cut code has its fences, a cut table its head."""
    is_apart: bool
    """Whether a blank line belongs before it."""


class Blocks:
    """Takes text as it comes; gives blocks as soon as nothing can change how they look.

    The work for each piece of text does not grow with what came before it.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial: list[str] = []
        self._partial_size = 0
        self._fence: re.Match[str] | None = None
        self._has_words = self._is_list = self._was_blank = False
        self._is_apart = True
        self._repeated = ""
        """What a block begins with that goes on with one that was cut."""

    @property
    def tail(self) -> str:
        """What has come and is no block yet."""
        return "".join([*self._lines, *self._partial])

    def feed(self, text: str) -> list[Block]:
        """The blocks that `text` completes."""
        found: list[Block] = []
        *lines, rest = text.split("\n")
        for line in lines:
            self._feed(f"{line}\n", found)
        if rest:
            self._feed(rest, found)
        return found

    def finish(self) -> list[Block]:
        """What is left, as the last blocks."""
        found: list[Block] = []
        rest, self._partial = "".join(self._partial), []
        if rest:
            self._take(rest, found)
        if self._lines:
            found.append(self._emit())
        return found

    def _feed(self, piece: str, found: list[Block]) -> None:
        self._partial.append(piece)
        self._partial_size += len(piece)
        if self._partial_size <= LONGEST_LINE and not piece.endswith("\n"):
            return
        rest = "".join(self._partial)
        while len(rest) > LONGEST_LINE:
            cut = rest.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
            self._take(rest[:cut], found)
            if self._lines:
                found.append(self._emit(goes_on=True))
            rest = rest[cut:]
        if rest.endswith("\n"):
            self._take(rest, found)
            rest = ""
        self._partial, self._partial_size = [rest] if rest else [], len(rest)

    def _take(self, line: str, found: list[Block]) -> None:
        is_blank = not line.strip()
        if self._has_words and not self._fence and not is_blank and self._begins_anew(line):
            found.append(self._emit())
        self._lines.append(line)
        if is_blank and not self._fence:
            self._was_blank = True
            if self._has_words and not self._is_list:
                found.append(self._emit())
            return
        self._note(line)
        is_whole = self._note_fence(line) or (not self._fence and _HEADING.match(line))
        if is_whole and not self._is_list:
            found.append(self._emit())
        elif len(self._lines) >= LONGEST_BLOCK:
            found.append(self._emit(goes_on=True))

    def _note(self, line: str) -> None:
        """What kind of block it is, by its first line with words."""
        if not self._has_words:
            self._has_words = True
            self._is_list = not self._repeated and _ITEM.match(line) is not None
            self._is_apart = self._is_apart or self._was_blank
        self._was_blank = False

    def _begins_anew(self, line: str) -> bool:
        """Whether a line outside of code ends what came before it."""
        if self._is_list:
            is_below = line.startswith(("  ", "\t"))
            return not is_below and (self._was_blank or _ITEM.match(line) is not None)
        return any(each.match(line) for each in (_FENCE, _HEADING, _ITEM_AFTER_TEXT))

    def _note_fence(self, line: str) -> bool:
        """Whether `line` ends a block of code."""
        if self._fence is None:
            self._fence = _FENCE.match(line.rstrip("\n"))
            return False
        end, mark = _FENCE_END.match(line.rstrip("\n")), self._fence["mark"]
        if end is None or not end["mark"].startswith(mark):
            return False
        self._fence = None
        return True

    def _emit(self, *, goes_on: bool = False) -> Block:
        """The lines so far; with `goes_on`, they were cut where they could go on."""
        source = "".join(self._lines)
        markdown, repeated = f"{self._repeated}{source}", ""
        if goes_on and self._fence:
            mark = self._fence["mark"]
            repeated = f"{mark}{self._fence['info']}\n"
            markdown = f"{markdown.removesuffix(chr(10))}\n{mark}"
        elif goes_on:
            repeated = self._repeated or self._table_head()
        block = Block(source, markdown, self._is_apart)
        self._is_apart = self._was_blank
        self._lines, self._repeated = [], repeated
        self._has_words = self._is_list = self._was_blank = False
        return block

    def _table_head(self) -> str:
        head = self._lines[:2]
        is_table = len(head) == 2 and "|" in head[0] and _BELOW_TABLE_HEAD.match(head[1].rstrip())
        return "".join(head) if is_table else ""
