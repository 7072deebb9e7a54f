"""Reads `$'...'`, where a backslash writes characters by name or number."""

from __future__ import annotations

import re

from amplifier_modules.shell.grammar_text import ParseError

_NAMED = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_PLAIN = re.compile(r"[^'\\]+")
_NUMBER = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))"
)


def ansi_c(text: str, start: int) -> tuple[str, int]:
    """The text that begins with the quote at `start`, and where its closing quote ends."""
    taken: list[str] = []
    at = start + 1
    while not text.startswith("'", at):
        if at >= len(text):
            raise ParseError("A quote that is not closed", start)
        if plain := _PLAIN.match(text, at):
            taken.append(plain[0])
            at = plain.end()
        elif number := _NUMBER.match(text, at):
            taken.append(_character(number, at))
            at = number.end()
        elif text[at + 1 : at + 2] in _NAMED:
            taken.append(_NAMED[text[at + 1]])
            at += 2
        else:
            raise ParseError("An unknown escape", at)
    return "".join(taken), at + 1


def _character(number: re.Match[str], at: int) -> str:
    octal, *hexadecimal = number.groups()
    code = int(octal, 8) if octal else int(next(each for each in hexadecimal if each), 16)
    # NUL ends the text, and what lies beyond ASCII depends on the locale.
    if not 0 < code < 128:
        raise ParseError("An escape that is not ASCII", at)
    return chr(code)
