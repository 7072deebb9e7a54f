"""Reads words: quotes, escapes, expansions and patterns.

Where the shell's own rules depend on the place, the locale or its version, the word is
refused: a refusal costs a question, a wrong guess costs a file.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

from amplifier_modules.shell.grammar_quotes import ansi_c
from amplifier_modules.shell.grammar_text import Cursor
from amplifier_modules.shell.syntax import (
    Arithmetic,
    Parameter,
    Part,
    Pattern,
    Script,
    Substitution,
    Text,
    Word,
)

BREAKS = frozenset(" \t\n;&|<>()")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[A-Za-z0-9_./,:=@%+^!#}\]-]+|[^\x00-\x7f]")
_IN_QUOTES = re.compile(r"[^\"$`\\]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED_NAME = re.compile(r"([!#]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])")
_SUBSCRIPT = re.compile(r"\[(?:[@*]|-?[A-Za-z0-9_]+|\$[A-Za-z_][A-Za-z0-9_]*)\]")
_OPERATION = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//?|\^\^?|,,?|@[A-Za-z]|:|[@*]")
_DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
_IN_BRACES = re.compile(r"[^\"'$`\\{}<>()&;|\n]+")
_IN_ARITHMETIC = re.compile(r"[A-Za-z0-9_ \t\n+*/%<>=!&|^~?:,@#\[\].-]+")
_SUBSCRIPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_NEAT_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\s'\"\\$`\[\](){}<>|&;#]*\]")


class WordReader(Cursor):
    """Reads one word after the other; `script` is left to the reader of commands."""

    @abstractmethod
    def script(self, text: str) -> Script:
        """A script that is the whole of `text`, one level deeper."""

    @abstractmethod
    def script_in_parentheses(self) -> Script:
        """The script from here to its `)`, which is stepped over."""

    @property
    @abstractmethod
    def awaits_document(self) -> bool:
        """Whether a here-document begins on the next line, which a word may then not reach."""

    def word(self) -> Word | None:
        """The word that begins here, or None where none can."""
        start = self.at
        parts: list[Part] = []
        while (part := self._part(self.at == start)) is not None:
            parts.extend(part)
        if self.at == start:
            return None
        source = self.text[start : self.at]
        self._check_word(source)
        return Word(_expandable(parts, source), source)

    def _check_word(self, source: str) -> None:
        if "\n" in source and self.awaits_document:
            raise self.error("A word over two lines before a here-document")
        # Bash reads `name[any text]=` as one assignment, spaces and operators included.
        if _SUBSCRIPTED.match(source) and not _NEAT_SUBSCRIPT.match(source):
            raise self.error("An index that is not plain")
        if self.peek() in ("<", ">") and _DESCRIPTOR.fullmatch(source):
            raise self.error("A descriptor where a word belongs")

    def _part(self, first: bool) -> list[Part] | None:
        if found := self.match(_PLAIN):
            self._check_blank(found[0])
            return [Text(found[0])]
        here = self.peek()
        if here in ("<", ">") and self.text.startswith("(", self.at + 1):
            return [self._process(here)]
        if here == "" or here in BREAKS:
            if here == "(" and not first:
                raise self.error("An unexpected '('")
            return None
        return _READERS[here](self)

    def _check_blank(self, text: str) -> None:
        if not text.isascii() and text.isspace():
            self.at -= 1
            raise self.error("An unquoted space that is not ASCII")

    # -- quotes -------------------------------------------------------------------------

    def _single_quoted(self) -> list[Part]:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.error("A single quote that is not closed")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return [Text(text, quoted=True)]

    def _escaped(self) -> list[Part]:
        char = self.text[self.at + 1 : self.at + 2]
        if char in ("", "\n"):
            raise self.error("A backslash at the end of a word")
        self.at += 2
        return [Text(char, quoted=True)]

    def _double_quoted(self) -> list[Part]:
        self.at += 1
        parts = self.quoted_parts('"')
        if not self.take('"'):
            raise self.error("A double quote that is not closed")
        return parts or [Text("", quoted=True)]

    def quoted_parts(self, end: str) -> list[Part]:
        """Parts up to `end` (empty: all of the text), read as between double quotes."""
        parts: list[Part] = []
        while self.at < len(self.text) and not (end and self.looking_at(end)):
            if found := self.match(_IN_QUOTES):
                parts.append(Text(found[0], quoted=True))
            elif self.looking_at("\\"):
                parts.append(self._escape_in_quotes(end))
            elif self.looking_at("$"):
                parts.append(self._dollar(quoted=True))
            elif self.looking_at("`"):
                parts.append(self._backquoted(quoted=True))
            else:
                self.at += 1
                parts.append(Text('"', quoted=True))
        return parts

    def _escape_in_quotes(self, end: str) -> Text:
        char = self.text[self.at + 1 : self.at + 2]
        if char == "\n":
            # The shell joins the lines before it looks for expansions.
            if self.text[self.at - 1 : self.at] not in (" ", "\t"):
                raise self.error("A line joined in the middle of a word")
            self.at += 2
            return Text("", quoted=True)
        self.at += 2 if char else 1
        return Text(char if char and char in "$`\\" + end else "\\" + char, quoted=True)

    # -- expansions ---------------------------------------------------------------------

    def _dollar(self, quoted: bool = False) -> Part:
        self.at += 1
        if found := self.match(_PARAMETER):
            return Parameter(found[0])
        here = self.peek()
        if here == "(":
            arithmetic = self.peek(2) == "(("
            return self._arithmetic_value() if arithmetic else self._substitution("command")
        if here == "{":
            return self._braced(quoted)
        if not quoted and here == "'":
            return self._ansi_c_quoted()
        if here in ("[", "\\") or (here == '"' and not quoted):
            raise self.error(f"'$' before {here!r}")
        return Text("$", quoted)

    def _unquoted_dollar(self) -> list[Part]:
        return [self._dollar()]

    def _ansi_c_quoted(self) -> Text:
        text, self.at = ansi_c(self.text, self.at)
        return Text(text, quoted=True)

    def _process(self, direction: str) -> Part:
        self.at += 1
        if self.looking_at("(("):
            # Some versions of bash take it for arithmetic first.
            raise self.error("A subshell at the very beginning of a process substitution")
        return self._substitution("input" if direction == "<" else "output")

    def _substitution(self, kind: Literal["command", "input", "output"]) -> Substitution:
        self.at += 1
        return Substitution(kind, self.script_in_parentheses())

    def _backquoted(self, quoted: bool = False) -> Substitution:
        start = self.at
        self.at += 1
        taken: list[str] = []
        while (here := self.peek()) != "`":
            if here == "":
                self.at = start
                raise self.error("A backquote that is not closed")
            escaped = self.peek(2)[1:] if here == "\\" else ""
            if escaped and escaped in "$`\\":
                taken.append(escaped)
                self.at += 2
            elif quoted and (here == '"' or escaped == '"'):
                raise self.error("A double quote in backquotes in double quotes")
            else:
                taken.append(here)
                self.at += 1
        self.at += 1
        return Substitution("command", self.script("".join(taken)))

    def _unquoted_backquotes(self) -> list[Part]:
        return [self._backquoted()]

    def _arithmetic_value(self) -> Arithmetic:
        self.at += 2
        return Arithmetic(self.arithmetic())

    def arithmetic(self, more: str = "") -> tuple[Part, ...]:
        """The parts up to and over `))`; `more` are further characters that may occur."""
        parts: list[Part] = []
        open_parentheses = 0
        while not (open_parentheses == 0 and self.looking_at("))")):
            if found := self.match(_IN_ARITHMETIC):
                parts.append(Text(found[0], quoted=True))
            elif self.looking_at("$"):
                parts.append(self._dollar(quoted=True))
            elif self.peek() and self.peek() in "()" + more:
                open_parentheses += {"(": 1, ")": -1}.get(self.peek(), 0)
                parts.append(Text(self.peek(), quoted=True))
                self.at += 1
            else:
                raise self.error("Arithmetic that is not plain")
            if open_parentheses < 0:
                raise self.error("Arithmetic without '))'")
        self.at += 2
        return tuple(parts)

    def _braced(self, quoted: bool) -> Parameter:
        self.at += 1
        found = self.match(_BRACED_NAME)
        if found is None:
            raise self.error("'${' without a name")
        name = found[0]
        if index := self.match(_SUBSCRIPT):
            name += index[0]
        if self.take("}"):
            return Parameter(name)
        operation = self.match(_OPERATION)
        if operation is None:
            raise self.error("'${' with an unknown operator")
        with self.deeper():
            parts = self._parts_in_braces(quoted)
        return Parameter(name, operation[0], parts)

    def _parts_in_braces(self, quoted: bool) -> tuple[Part, ...]:
        parts: list[Part] = []
        while not self.take("}"):
            if found := self.match(_IN_BRACES):
                parts.append(Text(found[0]))
            elif self.looking_at("$"):
                parts.append(self._dollar(quoted))
            elif self.peek() in ("'", '"', "\\") and not quoted:
                parts.extend(_READERS[self.peek()](self))
            else:
                raise self.error("'${' with more than a plain word in it")
        return tuple(parts)

    # -- patterns -----------------------------------------------------------------------

    def _glob(self) -> list[Part]:
        self.at += 1
        return [Pattern(self.text[self.at - 1], "glob")]

    def _bracket(self) -> list[Part]:
        self.at += 1
        return [Text("[")]

    def _brace(self) -> list[Part]:
        self.at += 1
        return [Text("{")]

    def _tilde(self) -> list[Part]:
        before = self.text[self.at - 1 : self.at]
        self.at += 1
        stands_for_home = before in ("", "=", ":") or before in BREAKS
        return [Pattern("~", "tilde") if stands_for_home else Text("~")]


def _expandable(parts: list[Part], source: str) -> tuple[Part, ...]:
    """The parts with brackets and braces that may match or multiply marked as patterns."""
    in_braces = source[source.find("{") : source.rfind("}") + 1]
    braces = "," in in_braces or ".." in in_braces
    brackets = 0 <= source.find("[") < source.rfind("]")

    def marked(part: Part) -> Part:
        if not isinstance(part, Text) or part.quoted:
            return part
        if part.text == "{" and braces:
            return Pattern("{", "brace")
        return Pattern("[", "glob") if part.text == "[" and brackets else part

    return tuple(marked(each) for each in parts)


_READERS: dict[str, Callable[[WordReader], list[Part]]] = {
    "'": WordReader._single_quoted,
    '"': WordReader._double_quoted,
    "\\": WordReader._escaped,
    "$": WordReader._unquoted_dollar,
    "`": WordReader._unquoted_backquotes,
    "*": WordReader._glob,
    "?": WordReader._glob,
    "[": WordReader._bracket,
    "{": WordReader._brace,
    "~": WordReader._tilde,
}
