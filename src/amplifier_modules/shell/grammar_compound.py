"""Reads whole scripts: lists, pipelines, compound commands and function definitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from amplifier_modules.shell.grammar_simple import SimpleReader
from amplifier_modules.shell.grammar_words import NAME
from amplifier_modules.shell.syntax import (
    Command,
    Compound,
    CompoundKind,
    Function,
    Pipeline,
    Script,
    Step,
    Word,
)

Ends = frozenset[str]
"""What may follow a script: reserved words, or symbols (the empty one is the text's end)."""

_SYMBOLS = (")", ";;", ";&")
_CLAUSE_ENDS = re.compile(r";;&|;;|;&")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
_MISPLACED = frozenset(
    ("then", "else", "elif", "fi", "do", "done", "esac", "in", "}", "!", "time", "coproc", "]]")
)
_BINARY = frozenset(
    ("=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")
)
_UNARY = re.compile(r"-[a-zA-Z]\Z")


class ScriptReader(SimpleReader):
    """Reads a script to its end."""

    # -- for words ----------------------------------------------------------------------

    def script(self, text: str) -> Script:
        reader = ScriptReader(text, self.depth)
        with reader.deeper():
            return reader.whole()

    def whole(self) -> Script:
        found = self.list_until(frozenset({""}), may_be_empty=True)
        if self.awaits_document:
            raise self.error("A here-document without text")
        return found

    def script_in_parentheses(self) -> Script:
        if self.awaits_document:
            raise self.error("A substitution before a here-document")
        with self.deeper():
            found = self.list_until(frozenset({")"}), may_be_empty=True)
        if self.awaits_document:
            raise self.error("A here-document that begins in a substitution")
        self.expect(")", "A substitution")
        return found

    # -- lists --------------------------------------------------------------------------

    def list_until(self, ends: Ends, may_be_empty: bool = False) -> Script:
        """The script up to one of `ends`, which is not stepped over."""
        steps: list[Step] = []
        self.lines()
        may_end = may_be_empty
        while not (may_end and self._at(ends)):
            pipeline = self._pipeline()
            operator = self._separator(ends)
            steps.append(Step(pipeline, operator))
            may_end = operator not in ("&&", "||")
        return Script(tuple(steps))

    def _at(self, ends: Ends) -> bool:
        if self.at >= len(self.text):
            return "" in ends
        symbol = next((each for each in _SYMBOLS if self.looking_at(each)), None)
        return (symbol or self.token() or "\n") in ends

    def _separator(self, ends: Ends) -> Literal[";", "&", "&&", "||"]:
        self.blanks()
        operators: tuple[Literal["&&", "||"], ...] = ("&&", "||")
        for operator in operators:
            if self.take(operator):
                self.lines()
                return operator
        if self.looking_at("\n"):
            self.lines()
            return ";"
        if self._at(ends & {"", *_SYMBOLS}):
            return ";"
        background = self.looking_at("&")
        if not background and not (self.looking_at(";") and self.peek(2) not in (";;", ";&")):
            raise self.error(f"An unexpected {self.peek()!r}" if self.peek() else "A sudden end")
        self.at += 1
        self.lines()
        return "&" if background else ";"

    def _pipeline(self) -> Pipeline:
        negated, timed = False, False
        while (token := self.token()) in ("!", "time"):
            if (token == "!" and negated) or (token == "time" and timed):
                raise self.error(f"A second {token!r}")
            negated, timed = negated or token == "!", timed or token == "time"
            self._step_over_prefix(token)
        commands = [self._command()]
        operators: list[str] = []
        while (operator := self._pipe()) is not None:
            operators.append(operator)
            self.lines()
            commands.append(self._command())
        return Pipeline(tuple(commands), tuple(operators), negated, timed)

    def _step_over_prefix(self, token: str) -> None:
        self.at += len(token)
        if self.looking_at("("):
            raise self.error("An unexpected '('")
        self.blanks()
        if token == "time" and self.token() == "-p":
            self.at += 2
            self.blanks()
        if self.looking_at("-"):
            raise self.error("An option where a command begins")

    def _pipe(self) -> str | None:
        self.blanks()
        if self.looking_at("||"):
            return None
        return next((each for each in ("|&", "|") if self.take(each)), None)

    # -- commands -----------------------------------------------------------------------

    def _command(self) -> Command:
        with self.deeper():
            token = self.token()
            if token in _MISPLACED:
                raise self.error(f"An unexpected {token!r}")
            if token == "function":
                return self._named_function()
            found = self._compound(token)
            return found if found is not None else self._simple_or_function()

    def _simple_or_function(self) -> Command:
        start = self.at
        name = self.token()
        self.at += len(name)
        if self.match(_PARENTHESES):
            return self._function(name)
        self.at = start
        return self.simple()

    def _named_function(self) -> Function:
        self.at += len("function")
        self.blanks()
        name = self.token()
        self.at += len(name)
        self.match(_PARENTHESES)
        return self._function(name)

    def _function(self, name: str) -> Function:
        if not _FUNCTION_NAME.fullmatch(name):
            raise self.error("A function with an odd name")
        self.inner_lines()
        body = self._compound(self.token())
        if body is None:
            raise self.error("A function without a body in braces")
        return Function(name, body)

    def _compound(self, token: str) -> Compound | None:
        if self.looking_at("(("):
            token = "(("
        elif self.looking_at("("):
            token = "("
        reader = _COMPOUNDS.get(token)
        if reader is None:
            return None
        self.at += len(token)
        kind, words, bodies = reader(self)
        return Compound(kind, tuple(words), tuple(bodies), self.redirects())

    def _reserved(self, word: str) -> None:
        if self.token() != word:
            raise self.error(f"{word!r} is missing")
        self.at += len(word)

    def _body(self, *ends: str) -> Script:
        """A script and the reserved word after it; that word is left for the caller."""
        return self.list_until(frozenset(ends))

    def _group(self) -> _Found:
        body = self._body("}")
        self._reserved("}")
        return "group", [], [body]

    def _subshell(self) -> _Found:
        body = self._body(")")
        self.expect(")", "A subshell")
        return "subshell", [], [body]

    def _arithmetic_command(self) -> _Found:
        start = self.at
        parts = self.arithmetic()
        return "arithmetic", [Word(parts, self.text[start : self.at - 2])], []

    def _if(self) -> _Found:
        bodies: list[Script] = []
        token = "if"
        while token in ("if", "elif"):
            bodies.append(self._body("then"))
            self._reserved("then")
            bodies.append(self._body("elif", "else", "fi"))
            token = self.token()
            self.at += len(token)
        if token == "else":
            bodies.append(self._body("fi"))
            self._reserved("fi")
        return "if", [], bodies

    def _while(self) -> _Found:
        return "while", [], [self._body("do"), self._loop_body()]

    def _until(self) -> _Found:
        return "until", [], [self._body("do"), self._loop_body()]

    def _loop_body(self) -> Script:
        self._reserved("do")
        body = self._body("done")
        self._reserved("done")
        return body

    def _for(self) -> _Found:
        self.blanks()
        if not self.take("(("):
            return "for", *self._named_loop()
        start = self.at
        word = Word(self.arithmetic(";"), self.text[start : self.at - 2])
        if word.source.count(";") != 2:
            raise self.error("'for ((' without three parts")
        self._loop_head_end()
        return "for", [word], [self._loop_body()]

    def _select(self) -> _Found:
        self.blanks()
        return "select", *self._named_loop()

    def _named_loop(self) -> tuple[list[Word], list[Script]]:
        if self.match(NAME) is None or self.peek() not in (" ", "\t", "\n", ";"):
            raise self.error("A loop without a name")
        self.blanks()
        words: list[Word] = []
        if self.token() == "in":
            self.at += 2
            self.blanks()
            while (word := self.word()) is not None:
                words.append(word)
                self.blanks()
            if self.peek() not in (";", "\n"):
                raise self.error("A loop whose list does not end")
        self._loop_head_end()
        return words, [self._loop_body()]

    def _loop_head_end(self) -> None:
        self.blanks()
        self.take(";")
        self.inner_lines()

    def _case(self) -> _Found:
        self.blanks()
        subject = self.word()
        if subject is None:
            raise self.error("'case' without a word")
        self.inner_lines()
        self._reserved("in")
        words, bodies = [subject], []
        self.inner_lines()
        while self.token() != "esac":
            words.extend(self._patterns())
            ends = frozenset({";;", ";&", "esac"})
            bodies.append(self.list_until(ends, may_be_empty=True))
            if self.match(_CLAUSE_ENDS):
                self.lines()
            elif self.token() != "esac":
                raise self.error("'case' without 'esac'")
        self._reserved("esac")
        return "case", words, bodies

    def _patterns(self) -> list[Word]:
        self.take("(")
        found: list[Word] = []
        while not found or self.take("|"):
            self.blanks()
            pattern = self.word()
            if pattern is None:
                raise self.error("A pattern is missing")
            found.append(pattern)
            self.blanks()
        self.expect(")", "A pattern")
        return found

    # -- [[ ]] --------------------------------------------------------------------------

    def _test(self) -> _Found:
        words = self._either()
        self._reserved("]]")
        return "test", words, []

    def _either(self) -> list[Word]:
        words = self._condition()
        while self.take("&&") or self.take("||"):
            words += self._condition()
        return words

    def _condition(self) -> list[Word]:
        with self.deeper():
            self.inner_lines()
            while self.token() == "!" and self.peek(2) != "!(":
                self.at += 1
                self.inner_lines()
            if self.take("("):
                words = self._either()
                self.expect(")", "A condition")
            else:
                words = self._comparison()
            self.inner_lines()
            return words

    def _comparison(self) -> list[Word]:
        words = [self._operand()]
        self.blanks()
        if _UNARY.match(words[0].source):
            return [*words, self._operand()]
        token = self.token() or self.peek()
        if token in _BINARY or token in ("<", ">"):
            self.at += len(token)
            self.blanks()
            words.append(self._operand())
        return words

    def _operand(self) -> Word:
        word = self.word()
        if word is None or word.source in ("]]", "!"):
            raise self.error("A condition is not complete")
        return word


_Found = tuple[CompoundKind, list[Word], list[Script]]

_COMPOUNDS: dict[str, Callable[[ScriptReader], _Found]] = {
    "{": ScriptReader._group,
    "(": ScriptReader._subshell,
    "((": ScriptReader._arithmetic_command,
    "[[": ScriptReader._test,
    "if": ScriptReader._if,
    "while": ScriptReader._while,
    "until": ScriptReader._until,
    "for": ScriptReader._for,
    "select": ScriptReader._select,
    "case": ScriptReader._case,
}
