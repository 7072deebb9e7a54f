"""The shape of a shell command line: what `grammar.parse` returns.

Every node is frozen. A node keeps what a reader has to know to judge a command, not what
is needed to run it: the operators between commands matter, the spaces between them do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

_DESCRIPTOR = re.compile(r"[0-9]+-?|-")

# -- words ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that stand for themselves, after quotes and escapes are taken off."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """Unquoted characters that the shell replaces by names it finds or makes."""

    text: str
    kind: Literal["glob", "brace", "tilde"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name...}`; `parts` are what the braces hold after the name."""

    name: str
    operation: str = ""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((...))`; `parts` are its text and the expansions in it."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Substitution:
    """A script in a word: `$(...)`, backquotes, `<(...)` or `>(...)`."""

    kind: Literal["command", "input", "output"]
    body: Script


Part: TypeAlias = Text | Pattern | Parameter | Arithmetic | Substitution


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `source` is how it was written."""

    parts: tuple[Part, ...]
    source: str

    @property
    def static(self) -> str | None:
        """The one argument that this word becomes; None when only a run can tell."""
        texts = [each.text for each in self.parts if isinstance(each, Text)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    @property
    def is_plain(self) -> bool:
        """Whether it was written without quotes, escapes and expansions."""
        return self.static == self.source


# -- commands ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value` before a command or alone; an array has `items` in place of a value."""

    name: str
    value: Word | None
    items: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection. A here-document has its delimiter as target and its text as body."""

    operator: str
    target: Word
    fd: str | None = None
    body: Word | None = None

    @property
    def is_duplication(self) -> bool:
        """Whether it only joins or closes descriptors, as `2>&1` does."""
        joins = self.operator in ("<&", ">&")
        return joins and _DESCRIPTOR.fullmatch(self.target.static or "") is not None

    @property
    def sets(self) -> str | None:
        """The variable in which `{name}>...` leaves the number of a descriptor."""
        return self.fd[1:-1] if self.fd is not None and self.fd.startswith("{") else None

    @property
    def writes(self) -> bool:
        """Whether it opens a file for writing, or might."""
        return ">" in self.operator and not self.is_duplication


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its arguments, or assignments or redirections alone."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


CompoundKind: TypeAlias = Literal[
    "group", "subshell", "if", "while", "until", "for", "select", "case", "test", "arithmetic"
]


@dataclass(frozen=True, slots=True)
class Compound:
    """A construct around scripts.

    `words` are a loop's items, a case's subject and patterns, or the operands of a test;
    `bodies` are its scripts in the order written, conditions included.
    """

    kind: CompoundKind
    words: tuple[Word, ...] = ()
    bodies: tuple[Script, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A definition. Running it changes what `name` means from then on."""

    name: str
    body: Compound


Command: TypeAlias = Simple | Compound | Function


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|` or `|&`; often just one."""

    commands: tuple[Command, ...]
    operators: tuple[str, ...] = ()
    negated: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline and the operator that follows it: `;` (newlines too), `&`, `&&`, `||`."""

    pipeline: Pipeline
    operator: Literal[";", "&", "&&", "||"] = ";"


@dataclass(frozen=True, slots=True)
class Script:
    """What is run, in order."""

    steps: tuple[Step, ...]
