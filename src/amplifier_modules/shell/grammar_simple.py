"""Reads simple commands: assignments, arguments, redirections and here-documents."""

from __future__ import annotations

import re
from typing import NamedTuple

from amplifier_modules.shell.grammar_words import WordReader
from amplifier_modules.shell.syntax import Assignment, Redirect, Simple, Text, Word

_BLANKS = re.compile(r"[ \t]+")
_COMMENT = re.compile(r"#[^\n]*")
_TOKEN = re.compile(r"[^ \t\n;&|<>()]*")
_OPERATOR = re.compile(
    r"(&>>|&>)|([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)"
)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\[[A-Za-z0-9_@*+-]*\])?\+?)=")


class _Documents(NamedTuple):
    """Here-documents announced on a line: their texts lie between its end and `end`."""

    line_end: int
    end: int


class SimpleReader(WordReader):
    """Reads one simple command after the other."""

    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self._documents: _Documents | None = None

    @property
    def awaits_document(self) -> bool:
        return self._documents is not None

    # -- between words ------------------------------------------------------------------

    def token(self) -> str:
        """The characters up to the next blank or operator, not stepped over."""
        found = _TOKEN.match(self.text, self.at)
        return found[0] if found else ""

    def blanks(self) -> None:
        """Step over blanks, a comment, and line ends with a backslash before them."""
        while self.match(_BLANKS) or self._joined_line() or self.match(_COMMENT):
            pass

    def lines(self) -> None:
        """Step over blanks and line ends, and over the here-documents that lie there."""
        self.blanks()
        while self.looking_at("\n"):
            if self._documents is None:
                self.at += 1
            else:
                if self._documents.line_end != self.at:
                    raise self.error("A here-document whose beginning is not clear")
                self.at, self._documents = self._documents.end, None
            self.blanks()

    def inner_lines(self) -> None:
        """The same in a place where no here-document can begin."""
        if self.awaits_document:
            raise self.error("A here-document before the end of a construct")
        self.lines()

    def _joined_line(self) -> bool:
        if not self.looking_at("\\\n"):
            return False
        # Elsewhere the shell might make one operator or word of both lines.
        if self.text[self.at - 1 : self.at] not in ("", " ", "\t", ";", "&", "|", "\n"):
            raise self.error("A line joined in the middle of a word")
        if self.awaits_document:
            raise self.error("A line joined before a here-document")
        return self.take("\\\n")

    # -- one command --------------------------------------------------------------------

    def simple(self) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            if (redirect := self.redirect()) is not None:
                redirects.append(redirect)
            elif not words and (assignment := self._assignment()) is not None:
                assignments.append(assignment)
            elif (word := self.word()) is not None:
                words.append(word)
            else:
                break
        if not (assignments or words or redirects):
            raise self.error("A command is missing")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _assignment(self) -> Assignment | None:
        found = self.match(_ASSIGNED)
        if found is None:
            return None
        if self.take("("):
            return Assignment(found[1], None, self._array())
        return Assignment(found[1], self.word() or Word((), ""))

    def _array(self) -> tuple[Word, ...]:
        items: list[Word] = []
        self.inner_lines()
        while not self.take(")"):
            word = None if self.looking_at("[") else self.word()
            if word is None:
                raise self.error("An array that is not plain")
            items.append(word)
            self.inner_lines()
        return tuple(items)

    # -- redirections -------------------------------------------------------------------

    def redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        self.blanks()
        while (redirect := self.redirect()) is not None:
            found.append(redirect)
            self.blanks()
        return tuple(found)

    def redirect(self) -> Redirect | None:
        start = self.at
        found = self.match(_OPERATOR)
        if found is None:
            return None
        both, fd, operator = found.groups()
        if operator in ("<", ">") and self.looking_at("("):
            if fd is not None:
                raise self.error("A number before a process substitution")
            self.at = start
            return None
        if fd is not None and fd.isdigit() and len(fd) > 3:
            raise self.error("A descriptor that is too large")
        self.blanks()
        target = self.word()
        if target is None:
            raise self.error(f"{both or operator!r} without a target")
        if operator in ("<<", "<<-"):
            return Redirect(operator, target, fd, self._document(target, operator == "<<-"))
        return Redirect(both or operator, target, fd)

    def _document(self, target: Word, strip_tabs: bool) -> Word:
        delimiter = target.static
        if delimiter is None or "\n" in delimiter:
            raise self.error("A here-document with an unclear end mark")
        line_end = self._documents.line_end if self._documents else self.text.find("\n", self.at)
        if line_end < 0:
            raise self.error("A here-document without text")
        start = self._documents.end if self._documents else line_end + 1
        body, end = self._text_until(delimiter, start, strip_tabs)
        self._documents = _Documents(line_end, end)
        if not target.is_plain:
            return Word((Text(body, quoted=True),), body)
        if "\\\n" in body:
            raise self.error("A line joined in a here-document")
        reader = type(self)(body, self.depth)
        with reader.deeper():
            return Word(tuple(reader.quoted_parts("")), body)

    def _text_until(self, delimiter: str, start: int, strip_tabs: bool) -> tuple[str, int]:
        taken: list[str] = []
        at = start
        while at < len(self.text):
            newline = self.text.find("\n", at)
            end = len(self.text) if newline < 0 else newline
            line = self.text[at:end]
            line = line.lstrip("\t") if strip_tabs else line
            at = min(end + 1, len(self.text))
            if line == delimiter:
                return "".join(taken), at
            taken.append(line + "\n")
        raise self.error(f"A here-document without its end mark {delimiter!r}")
