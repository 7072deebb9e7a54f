"""Which simple commands a pattern such as `git log *` means.

For permission a pattern is read narrowly, word by word. For refusal it is read broadly:
programs are known by their last name, and commands are also looked for behind `sudo`,
`xargs`, `sh -c` and the like.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.rules_dangers import (
    INTERPRETERS,
    RUNNERS,
    RUNS_OTHERS,
    SUBCOMMANDS,
    dangerous_argument,
)
from amplifier_modules.shell.rules_places import Places
from amplifier_modules.shell.syntax import Pattern, Text, Word

_HARMLESS = frozenset({"ls", "echo"})
"""Programs that no option makes harmful: a file name that looks like one does no harm."""
_MOST_LAYERS = 4
_MOST_POSITIONS = 1_000
_NAMES_A_SCRIPT = ("-m", "-jar")
"""Options of interpreters whose next word is what is run."""


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """Words that a command begins with, and whether anything ordinary may follow."""

    words: tuple[str, ...]
    open_ended: bool
    globs: bool = True
    """Whether names that the shell finds may follow too."""

    @classmethod
    def read(cls, text: str) -> CommandPattern:
        """The pattern in `text`; a `*` at its end means any further arguments.

        Raises:
            ValueError: there are no words in it, or a quote is not closed.
        """
        words = shlex.split(text)
        open_ended = bool(words) and words[-1].endswith("*")
        if open_ended:
            last = words.pop().rstrip("*")
            words += [last] if last else []
        if not words and not open_ended:
            raise ValueError("A command pattern is empty. Write the command that it means.")
        return cls(tuple(words), open_ended)

    def check_permission(self) -> None:
        """Refuse patterns that would permit any program at all.

        Raises:
            ValueError: says which word is missing.
        """
        name = os.path.basename(self.words[0]) if self.words else "*"
        shown = shlex.join(self.words) + (" *" if self.open_ended else "")
        if "*" in name:
            raise ValueError(f"The command {shown!r} means any program. Name one.")
        if self._runs_anything(name):
            raise ValueError(
                f"The command {shown!r} lets {name!r} run anything. Write the whole command."
            )

    def _runs_anything(self, name: str) -> bool:
        count = len(self.words)
        if name in RUNS_OTHERS:
            return self.open_ended or count == 1
        if name in INTERPRETERS and count == 1:
            return True
        if not self.open_ended:
            return False
        first = self.words[1] if count > 1 else ""
        if name in INTERPRETERS and first.startswith("-"):
            return first not in _NAMES_A_SCRIPT or count == 2
        return (name in SUBCOMMANDS and count == 1) or (count == 2 and (name, first) in RUNNERS)

    def permits(self, command: Found) -> bool:
        """Whether `command` is exactly what this pattern means."""
        known = len(self.words)
        if not command.words or not command.words[0].is_plain or len(command.argv) < known:
            return False
        if command.argv[0] != self.words[0]:
            return False
        pairs = zip(self.words[1:], command.argv[1:known], strict=True)
        if not all(_permits_word(pattern, given) for pattern, given in pairs):
            return False
        if not self.open_ended:
            return len(command.argv) == known
        rest = command.words[known:]
        if dangerous_argument(self._program, command.argv[known:]) is not None:
            return False
        return all(each.static is not None or self._permits_glob(each) for each in rest)

    @property
    def _program(self) -> str:
        """The name that options are looked up by: `python -m pytest` has those of `pytest`."""
        runs_module = len(self.words) > 2 and self.words[1] == "-m"
        return self.words[2] if runs_module else os.path.basename(self.words[0])

    def _permits_glob(self, word: Word) -> bool:
        """Whether whatever names a glob finds are fine as arguments."""
        if not self.globs or not is_glob(word):
            return False
        beginning = fixed_beginning(word)
        may_be_option = beginning == "" or beginning.startswith("-")
        return not may_be_option or self.words[0] in _HARMLESS

    def hits(self, argv: tuple[str | None, ...]) -> bool:
        """Whether `argv`, or what it runs in turn, is meant in the broad sense."""
        return any(self._hits(each) for each in behind(argv))

    def might_hit(self, command: Found) -> bool:
        """Whether words that only a run can tell may make `command` what is meant."""
        argv = tuple(map(_before_a_run, command.words))
        starts = range(min(len(argv), _MOST_POSITIONS) if _runs_others(argv) else 1)
        return any(self._might_hit(argv[start:]) for start in starts)

    def _might_hit(self, argv: tuple[str | None, ...]) -> bool:
        if not argv or None not in argv:
            return False
        return argv[0] is None or CommandPattern(self.words[:1], True)._hits(argv)

    def _hits(self, argv: tuple[str | None, ...]) -> bool:
        if not argv or argv[0] is None:
            return False
        if not self.words:
            return True
        name = os.path.basename(argv[0]).lower()
        if not fnmatchcase(name, os.path.basename(self.words[0]).lower()):
            return False
        rest = iter(argv[1:])
        return all(any(_hits_word(word, given) for given in rest) for word in self.words[1:])


def _before_a_run(word: Word) -> str | None:
    """What is known of a word; a glob that begins with a folder finds files and no commands."""
    if is_glob(word) and "/" in fixed_beginning(word):
        return word.source
    return word.static


def _permits_word(pattern: str, given: str | None) -> bool:
    if given is None or "*" not in pattern:
        return given == pattern
    escapes = ".." in given.split("/") or (given.startswith("-") and not pattern.startswith("-"))
    return not escapes and _star_matches(pattern, given)


def _star_matches(pattern: str, given: str) -> bool:
    shape = ".*".join(re.escape(each) for each in pattern.split("*"))
    return re.fullmatch(shape, given, re.DOTALL) is not None


def _hits_word(pattern: str, given: str | None) -> bool:
    return given is not None and (given == pattern or _star_matches(pattern, given))


def behind(argv: tuple[str | None, ...], layers: int = 0) -> Iterator[tuple[str | None, ...]]:
    """`argv` and every command that it may run in turn, as far as that can be read."""
    yield argv
    if layers >= _MOST_LAYERS or not _runs_others(argv):
        return
    for position in range(1, min(len(argv), _MOST_POSITIONS)):
        given = argv[position]
        yield argv[position:]
        if given is not None and not given.isidentifier():
            attached = given[2:] if given.startswith("-") else ""
            for text in {given, attached, given.partition("=")[2]} - {""}:
                yield from _in_text(text, layers)


def _runs_others(argv: tuple[str | None, ...]) -> bool:
    name = os.path.basename(argv[0] or "") if argv else ""
    if name in RUNS_OTHERS or name in INTERPRETERS or name == "find":
        return True
    return any((name, each) in RUNNERS for each in argv[1:])


def _in_text(text: str, layers: int) -> Iterator[tuple[str | None, ...]]:
    try:
        commands = list(simple_commands(parse(text)))
    except ParseError:
        return
    for each in commands:
        yield from behind(each.argv, layers + 1)


# -- words as paths ---------------------------------------------------------------------


def is_glob(word: Word) -> bool:
    """Whether a word is known but for the names of files that it finds."""
    return all(
        isinstance(each, Text) or (isinstance(each, Pattern) and each.kind == "glob")
        for each in word.parts
    )


def fixed_beginning(word: Word) -> str:
    """The characters of a word before anything that only a run can tell."""
    taken: list[str] = []
    for each in word.parts:
        if not isinstance(each, Text):
            break
        taken.append(each.text)
    return "".join(taken)


def stays_within(words: tuple[Word, ...], pattern: str, places: Places) -> bool:
    """Whether all words that may be paths are known to lie in the place of `pattern`.

    No word at all means the current folder.
    """
    operands = [each for each in words if not (each.static or "").startswith("-")]
    if not operands and not places.is_within(".", pattern):
        return False
    return all(_stays_within(each, pattern, places) for each in words)


def _stays_within(word: Word, pattern: str, places: Places) -> bool:
    text = word.static
    if text is None:
        beginning = fixed_beginning(word)
        folder, _, _ = beginning.rpartition("/")
        below = word.source[len(beginning) :]
        folder = folder or _root(beginning)
        # Some shells take `..` for a name that `.*` finds.
        if "/" in below or beginning.rpartition("/")[2].startswith("."):
            return False
        return places.is_within(folder, pattern) and places.leads_nowhere(folder, pattern)
    if not text.startswith("-"):
        return places.is_within(text or ".", pattern)
    _, equals, value = text.partition("=")
    return places.is_within(value, pattern) if equals else "/" not in text


def _root(beginning: str) -> str:
    return "/" if beginning.startswith("/") else "."


def possible_paths(command: Found) -> Iterator[str]:
    """Every text in a command that might name a file or a machine."""
    words = (*command.words[1:], *(redirect.target for redirect in command.redirects))
    for text in (fixed_beginning(word) for word in words):
        _, _, value = text.partition("=")
        attached = text[2:] if text.startswith("-") and not text.startswith("--") else ""
        # `git show HEAD:file` and `scp host:file` have the path behind a colon.
        for each in (text, value, attached, text.rpartition(":")[2]):
            if each.lstrip("@"):
                yield each.lstrip("@")
