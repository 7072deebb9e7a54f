"""Safety profiles: which commands are refused before they run.

This guards against accidents, not against an adversary: a program that is allowed to run may
do anything that its user may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.safety_rules import Finding, findings, findings_in_text
from amplifier_modules.shell.safety_words import Place
from amplifier_modules.shell.syntax import Script

Profile = Literal["strict", "standard", "permissive", "unrestricted"]

_PERMISSIVE_DANGERS = {"wipe root", "fork bomb"}


class Safety:
    """Judges commands by a profile and by the patterns of the config.

    In a pattern `*` stands for any text and case does not matter. A pattern is about a
    command as a whole: it is held against each command of a line, so that `ls *` says
    nothing about what follows a semicolon.
    """

    def __init__(
        self,
        profile: Profile,
        allow: Sequence[str],
        deny: Mapping[str, Sequence[str]],
        home: str,
    ) -> None:
        self._profile = profile
        self._allow = [_compiled(pattern) for pattern in allow]
        self._deny = [(key, each, _compiled(each)) for key in deny for each in deny[key]]
        self._home = home

    def refusal(self, command: str, folder: str) -> str | None:
        """Why `command` must not run in `folder` and what to do instead, or None."""
        if self._profile == "unrestricted":
            return None
        script: Script | None = None
        problem: ParseError | None = None
        try:
            script = parse(command)
        except ParseError as error:
            problem = error
        if self._profile != "strict" and self._is_allowed(command, script):
            return None
        for each in self._blocking(command, script, problem, folder):
            return (
                f"The safety profile {self._profile!r} refuses this command: {each.reason}. "
                f"{each.hint}"
            )
        return self._denied(command, script)

    def _is_allowed(self, command: str, script: Script | None) -> bool:
        if script is None:
            # What cannot be taken apart is allowed only by a pattern that spells it out.
            return _compiled(command) in self._allow
        texts = [_whole(found) for found in simple_commands(script)]
        return bool(texts) and all(any(p.fullmatch(t) for p in self._allow) for t in texts)

    def _blocking(
        self, command: str, script: Script | None, problem: ParseError | None, folder: str
    ) -> Iterator[Finding]:
        if script is not None:
            found = findings(script, Place(self._home, (folder,)))
        else:
            found = chain(findings_in_text(command), [_unreadable(problem)])
        for each in found:
            certain = each.is_certain and each.danger in _PERMISSIVE_DANGERS
            if certain or self._profile != "permissive":
                yield each

    def _denied(self, command: str, script: Script | None) -> str | None:
        texts = [command.strip(), *(_readings(script) if script is not None else ())]
        for key, written, pattern in self._deny:
            substring = "*" not in written and written.lower() in command.lower()
            if substring or any(pattern.fullmatch(text) for text in texts):
                return (
                    f"The pattern {written!r} in {key!r} refuses this command. "
                    "Find another way, or ask the user to change the config."
                )
        return None


def _whole(found: Found) -> str:
    """A command with all that belongs to it, one space between its words."""
    before = [f"{e.name}={e.value.source if e.value else '(...)'}" for e in found.assignments]
    after = [f"{e.fd or ''}{e.operator} {e.target.source}" for e in found.redirects]
    return " ".join((*before, *(word.source for word in found.words), *after))


def _readings(script: Script) -> Iterator[str]:
    """Every form of each command that a pattern may be meant for."""
    for found in simple_commands(script):
        yield _whole(found)
        yield " ".join(word.source for word in found.words)
        yield " ".join(word.static or word.source for word in found.words)


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in pattern.strip().split("*"))
    return re.compile(".*".join(parts), re.IGNORECASE | re.DOTALL)


def _unreadable(problem: ParseError | None) -> Finding:
    return Finding(
        "unreadable",
        f"it cannot be read with certainty ({problem})",
        "Write it in a simpler way, or put it into a script file and run that.",
        is_certain=False,
    )
