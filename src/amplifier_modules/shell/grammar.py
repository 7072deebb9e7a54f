"""Reads a bash command line into a tree, or refuses it: nothing is guessed.

What bash accepts and this grammar does not (locale strings, `coproc`, extended patterns,
lines joined inside a word, ...) is refused on purpose: its meaning depends on options, on
the version or on the place, and a refused command is merely asked about. What this grammar
accepts, bash reads the same way. It never runs anything and looks at no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amplifier_modules.shell.grammar_compound import ScriptReader
from amplifier_modules.shell.grammar_text import ParseError, check_characters
from amplifier_modules.shell.syntax import (
    Arithmetic,
    Assignment,
    Command,
    Compound,
    Function,
    Parameter,
    Part,
    Redirect,
    Script,
    Simple,
    Substitution,
    Word,
)

__all__ = ["Found", "ParseError", "parse", "simple_commands"]


def parse(text: str) -> Script:
    """The tree of `text`.

    Raises:
        ParseError: the text is no command line, or one that cannot be judged.
    """
    if not isinstance(text, str):
        raise ParseError(f"A command must be a str, not {type(text).__name__}", 0)
    check_characters(text)
    try:
        return ScriptReader(text).whole()
    except RecursionError:
        raise ParseError("Nested too deeply", 0) from None


@dataclass(frozen=True, slots=True)
class Found:
    """One simple command somewhere in a script, as far as it is known without a run."""

    argv: tuple[str | None, ...]
    """Its words; None stands for a word that may become any number of any arguments."""
    assignments: tuple[Assignment, ...]
    redirects: tuple[Redirect, ...]
    inside: tuple[str, ...]
    """The constructs around it from the outside in: `subshell`, `if`, `function`,
    `substitution`, `pipe`, ...; empty for a command of the script itself."""
    words: tuple[Word, ...]

    @property
    def name(self) -> str | None:
        """What is run; None when only a run can tell, empty when nothing is."""
        return self.argv[0] if self.argv else ""


def simple_commands(script: Script) -> Iterator[Found]:
    """Every simple command of `script`, in substitutions, redirections and functions too.

    A compound command that is redirected counts as a command without words, so that no
    redirection is overlooked.
    """
    yield from _in_script(script, ())


def _in_script(script: Script, inside: tuple[str, ...]) -> Iterator[Found]:
    for step in script.steps:
        commands = step.pipeline.commands
        where = (*inside, "pipe") if len(commands) > 1 else inside
        for command in commands:
            yield from _in_command(command, where)


def _in_command(command: Command, inside: tuple[str, ...]) -> Iterator[Found]:
    if isinstance(command, Function):
        yield from _in_command(command.body, (*inside, "function"))
        return
    if isinstance(command, Simple):
        yield _found(command, inside)
        for assignment in command.assignments:
            for value in (assignment.value, *assignment.items):
                yield from _in_parts(value.parts if value else (), inside)
    elif command.redirects:
        yield _found(Simple((), (), command.redirects), inside)
    for word in command.words:
        yield from _in_parts(word.parts, inside)
    for redirect in command.redirects:
        for part in (redirect.target, redirect.body):
            yield from _in_parts(part.parts if part else (), inside)
    if isinstance(command, Compound):
        for body in command.bodies:
            yield from _in_script(body, (*inside, command.kind))


def _found(command: Simple, inside: tuple[str, ...]) -> Found:
    argv = tuple(word.static for word in command.words)
    return Found(argv, command.assignments, command.redirects, inside, command.words)


def _in_parts(parts: tuple[Part, ...], inside: tuple[str, ...]) -> Iterator[Found]:
    for part in parts:
        if isinstance(part, Substitution):
            yield from _in_script(part.body, (*inside, "substitution"))
        elif isinstance(part, Parameter | Arithmetic):
            yield from _in_parts(part.parts, inside)
