"""Texts made fit for a terminal: harmless, as wide as they look, in words people use."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

MOST_CHARACTERS = 20_000
"""Of one text that only a few lines are shown of; the rest is never looked at."""


_TO_LOOK_AT = re.compile(r"[^\n\t -~]+")
_HARMLESS_THOUGH_NOT_PRINTABLE = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
"""Blanks of many kinds, and what joins letters and emoji."""
_LEFT_OUT = frozenset("\r\u00ad\u200b\u2060\ufeff")
"""Carriage returns belong to line ends of other systems; the others only say where to break."""


def harmless(text: str) -> str:
    """`text` with everything that would steer the terminal, or turn it around, written out."""
    return _TO_LOOK_AT.sub(_made_harmless, text)


def _made_harmless(found: re.Match[str]) -> str:
    run = found[0]
    return run if run.isprintable() else "".join(_harmless_character(each) for each in run)


def _harmless_character(character: str) -> str:
    if character.isprintable() or character in _HARMLESS_THOUGH_NOT_PRINTABLE:
        return character
    return "" if character in _LEFT_OUT else _escaped(character)


def exact(text: str) -> str:
    """`text` with everything written out that cannot be seen: for what is to be decided about."""
    return _TO_LOOK_AT.sub(_made_exact, text)


def _made_exact(found: re.Match[str]) -> str:
    run = found[0]
    if run.isprintable():
        return run
    return "".join(each if each.isprintable() else _escaped(each) for each in run)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def one_line(text: str, width: int) -> str:
    """`text` on one line of at most `width` cells."""
    line = " ".join(harmless(text[:MOST_CHARACTERS]).split())
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def wrapped(text: str, width: int) -> list[str]:
    """The lines of `text`, broken where they would leave the terminal."""
    return [piece for line in text.split("\n") for piece in _pieces(line.expandtabs(4), width)]


def _pieces(line: str, width: int) -> list[str]:
    pieces, current, used = [], "", 0
    for word in _words(line):
        size = cell_len(word)
        if used + size > width and current:
            pieces.append(current)
            current, used = "", 0
            word = word.lstrip()
            size = cell_len(word)
        while size > width:
            head = set_cell_size(word, width).rstrip()
            pieces.append(head)
            word = word[len(head) :] if head else ""
            size = cell_len(word)
        current, used = current + word, used + size
    return [*pieces, current]


def _words(line: str) -> list[str]:
    """Words with the blanks before them, so that joining them gives the line again."""
    words, start = [], 0
    for end in range(1, len(line)):
        if line[end] == " " and line[end - 1] != " ":
            words.append(line[start:end])
            start = end
    return [*words, line[start:]] if line else []


def first_lines(text: str, count: int, width: int) -> list[str]:
    """The first `count` lines of `text`, and how many more there are."""
    lines = harmless(text[:MOST_CHARACTERS]).strip("\n").split("\n")
    shown = [one_line_kept(line, width) for line in lines[:count]]
    hidden = text.strip("\n").count("\n") + 1 - len(shown)
    return [*shown, f"… {hidden:,} more lines"] if hidden > 0 else shown


def one_line_kept(line: str, width: int) -> str:
    """`line` cut at `width`, its blanks kept."""
    flat = line.expandtabs(4)
    return flat if cell_len(flat) <= width else set_cell_size(flat, max(width - 1, 0)) + "…"


def seconds_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02} s"


def tokens_text(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.1f}k"
