"""A position in a command line, and what is refused before any of it is read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 100_000
DEEPEST = 24

# Characters that a person cannot see, or sees in another place than the shell does.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ODD = re.compile(r"[^\n\t\x20-\x7e]")


class ParseError(ValueError):
    """The text is no command line that can be judged; `position` is where that showed."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at character {position}.")
        self.problem = problem
        self.position = position


def check_characters(text: str) -> None:
    """Refuse what is too long to judge, and characters that hide what is run."""
    if len(text) > LONGEST:
        raise ParseError(f"More than {LONGEST} characters", LONGEST)
    for found in _ODD.finditer(text):
        if unicodedata.category(found[0]) in _HIDDEN:
            raise ParseError(f"Invisible character U+{ord(found[0]):04X}", found.start())


class Cursor:
    """Reads a text from left to right."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def looking_at(self, start: str) -> bool:
        return self.text.startswith(start, self.at)

    def take(self, expected: str) -> bool:
        """Step over `expected` if it comes next."""
        found = self.looking_at(expected)
        self.at += len(expected) if found else 0
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what `pattern` matches here."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def error(self, problem: str) -> ParseError:
        return ParseError(problem, self.at)

    def expect(self, expected: str, what: str) -> None:
        if not self.take(expected):
            raise self.error(f"{what} without {expected!r}")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of nesting; too many are refused, so that reading always ends."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"Nested more than {DEEPEST} levels deep")
        yield
        self.depth -= 1
