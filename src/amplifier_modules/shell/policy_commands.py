"""Judges a shell command line: every simple command in it, and what stands around them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.policy import BUILT_IN_COMMANDS, ApprovalSettings, Entry
from amplifier_modules.shell.policy_hidden import hidden_script, program, touched, unclear_host
from amplifier_modules.shell.rules_commands import (
    CommandPattern,
    possible_paths,
    stays_within,
)
from amplifier_modules.shell.rules_places import Places, host_matches, host_of
from amplifier_modules.shell.syntax import Compound, Function, Redirect, Script
from amplifier_modules.shell.verdict import Verdict, strictest

_NO_RULE = "built-in: no rule"
_UNREADABLE = "built-in: unreadable command"
_UNKNOWN = "built-in: unknown command"
_UNKNOWN_FILES = "built-in: unknown files"
_PROTECTED = "built-in: protected_paths"
_HARMLESS_TARGETS = frozenset({"/dev/null"})
_HIGHEST_OWN_DESCRIPTOR = 9
_MOVES = frozenset({"cd", "pushd", "popd", "eval", "source", ".", "exec", "command", "builtin"})


@dataclass(frozen=True, slots=True)
class _Permission:
    """A pattern, the place it is bound to, and the name of the rule it comes from."""

    rule: str
    pattern: CommandPattern
    path: str | None


class CommandPolicy:
    """The part of a config that is about shell commands."""

    def __init__(self, settings: ApprovalSettings, tool_name: str) -> None:
        self._settings = settings
        self._tool = tool_name
        self._permissions = list(_permissions(settings, tool_name))

    def judge(self, text: str, places: Places) -> list[Verdict]:
        """One verdict for each part of `text`; the strictest is that of the whole."""
        refused = self._refused_as_text(text)
        try:
            script = parse(text)
        except ParseError as error:
            return [*refused, Verdict("ask", _UNREADABLE, f"It cannot be judged: {error}")]
        parts = [*refused, *_odd_constructs(script), *self._parts(script, places)]
        return parts or [Verdict("ask", "built-in: empty command", "There is nothing to run.")]

    def is_objection(self, verdict: Verdict) -> bool:
        """Whether a line of the config speaks against it, or may but cannot be applied."""
        if verdict.action == "allow" or not verdict.rule.startswith("built-in"):
            return verdict.action != "allow"
        hides = verdict.rule in (_UNREADABLE, _UNKNOWN)
        speaks = verdict.rule in (_UNKNOWN_FILES, _PROTECTED)
        return speaks or (hides and self._has_objections)

    @property
    def _has_objections(self) -> bool:
        entries = (*self._settings.deny, *self._settings.ask)
        denies = any(each.action == "auto_deny" for each in self._settings.rules or [])
        return denies or not all(each.is_bare for each in entries)

    def _refused_as_text(self, text: str) -> list[Verdict]:
        return [
            Verdict("deny", f"rules[{number}]", rule.description or f"{rule.pattern!r} is denied.")
            for number, rule in enumerate(self._settings.rules or [])
            if rule.action == "auto_deny" and fnmatchcase(text.strip(), rule.pattern)
        ]

    def _parts(self, script: Script, places: Places) -> Iterator[Verdict]:
        at_home = places.is_at_home
        for command in simple_commands(script):
            yield self._part(command, places, at_home)
            if _moves(command):
                at_home = at_home and _stays_home(command, places)
                # Whether it got there is only known in a run.
                places = replace(places, folder=None)

    def _part(self, command: Found, places: Places, at_home: bool) -> Verdict:
        about = " ".join(word.source for word in command.words) or "a redirection or assignment"
        permission = self._permission(command, places, about)
        if permission.action == "allow" and not at_home:
            reason = "Rules hold in the project, and the shell may be elsewhere."
            permission = Verdict("ask", "built-in: another folder", reason, about)
        return strictest([*self._objections(command, places, about), permission])

    # -- what speaks against it -----------------------------------------------------------

    def _objections(self, command: Found, places: Places, about: str) -> Iterator[Verdict]:
        for number, rule in enumerate(self._settings.rules or []):
            if rule.action == "auto_deny" and rule.command.hits(command.argv):
                reason = rule.description or f"{rule.pattern!r} is denied."
                yield Verdict("deny", f"rules[{number}]", reason, about)
        for verdict, entry in self._settings.objections():
            if self._objects(entry, command, places):
                yield replace(verdict, about=about)
            elif self._might_object(entry, command):
                reason = f"Only a run can tell whether this is what {verdict.rule} names."
                yield Verdict("ask", _UNKNOWN, reason, about)
        if (hidden := hidden_script(command)) is not None:
            yield Verdict("ask", _UNKNOWN, hidden, about)
        for path in touched(command, places, self._settings):
            reason = f"It may change {path!r}, which decides what is run later."
            yield Verdict("ask", _PROTECTED, reason, about)
        for reason in _odd_words(command, places):
            yield Verdict("ask", "built-in: more than a plain command", reason, about)
        if self._has_place_rules and _has_unknown_files(command, places):
            reason = "Its files are not known before it runs, and some files are guarded."
            yield Verdict("ask", _UNKNOWN_FILES, reason, about)

    @property
    def _has_place_rules(self) -> bool:
        return any(entry.path for entry in (*self._settings.deny, *self._settings.ask))

    def _objects(self, entry: Entry, command: Found, places: Places) -> bool:
        if entry.tool is not None and not fnmatchcase(self._tool, entry.tool):
            return False
        if entry.pattern is not None and not entry.pattern.hits(command.argv):
            return False
        paths = list(possible_paths(command))
        if entry.path is not None and not any(places.might_be(p, entry.path) for p in paths):
            return False
        if entry.host is None:
            return True
        hosts = [host_of(each) for each in paths]
        return any(host is not None and host_matches(entry.host, host) for host in hosts)

    def _might_object(self, entry: Entry, command: Found) -> bool:
        if entry.tool is not None and not fnmatchcase(self._tool, entry.tool):
            return False
        unclear = entry.pattern is not None and entry.pattern.might_hit(command)
        return unclear or unclear_host(entry, command)

    # -- what speaks for it ---------------------------------------------------------------

    def _permission(self, command: Found, places: Places, about: str) -> Verdict:
        if not command.argv:
            return Verdict("ask", _NO_RULE, "It runs nothing, but has effects.", about)
        if command.argv[0] is None:
            return Verdict("ask", _UNKNOWN, "What it runs is not known before it runs.", about)
        if "/" in command.argv[0] and not _is_anchored(command.argv[0], places):
            return Verdict("ask", _NO_RULE, "Which program it names is not known.", about)
        if program(command) == "git" and places.folder not in (places.working, places.project):
            # A folder of files can pose as a repository whose config names programs.
            return Verdict("ask", _NO_RULE, "Git obeys the config of the folder it is in.", about)
        for each in self._permissions:
            if not each.pattern.permits(command):
                continue
            if each.path is None or stays_within(command.words[1:], each.path, places):
                return Verdict("allow", each.rule, f"{each.rule} allows it.", about)
        if None in command.argv:
            return Verdict("ask", _NO_RULE, "No rule allows what is only known in a run.", about)
        return Verdict("ask", _NO_RULE, f"No rule allows {about!r}.", about)


def _permissions(settings: ApprovalSettings, tool_name: str) -> Iterator[_Permission]:
    for number, entry in enumerate(settings.allow):
        fits = entry.tool is None or fnmatchcase(tool_name, entry.tool)
        if entry.pattern is not None and fits:
            yield _Permission(f"allow[{number}]", entry.pattern, entry.path)
    if settings.rules is None:
        for name, pattern, path in BUILT_IN_COMMANDS:
            yield _Permission(name, pattern, path)
    for number, rule in enumerate(settings.rules or []):
        if rule.action == "auto_approve":
            yield _Permission(f"rules[{number}]", rule.command, None)


def _odd_constructs(script: Script) -> Iterator[Verdict]:
    """Whatever is more than commands one after the other, which may change what they mean."""
    for step in script.steps:
        for command in step.pipeline.commands:
            if isinstance(command, Function):
                reason = f"It changes what {command.name!r} means."
                yield Verdict("ask", "built-in: function definition", reason, command.name)
            elif isinstance(command, Compound):
                if command.kind in ("group", "subshell"):
                    for body in command.bodies:
                        yield from _odd_constructs(body)
                else:
                    reason = f"{command.kind!r} decides at run time what is run."
                    yield Verdict("ask", "built-in: control structure", reason, command.kind)


def _odd_words(command: Found, places: Places) -> Iterator[str]:
    for assignment in command.assignments:
        yield f"It sets {assignment.name!r}, which may change what is run."
    for redirect in command.redirects:
        if redirect.sets is not None:
            yield f"It sets {redirect.sets!r}, which may change what is run."
        reason = _odd_redirect(redirect, places)
        if reason:
            yield reason


def _odd_redirect(redirect: Redirect, places: Places) -> str | None:
    target = redirect.target.static
    if redirect.is_duplication:
        foreign = int((target or "").rstrip("-") or 0) > _HIGHEST_OWN_DESCRIPTOR
        return f"It uses the descriptor {target!r}, which is not its own." if foreign else None
    if target in _HARMLESS_TARGETS:
        return None
    if redirect.writes:
        return f"It writes to {redirect.target.source!r}."
    if redirect.body is not None:
        return None if redirect.body.static is not None else "Its here-document is not plain."
    if redirect.operator == "<<<":
        return None if target is not None else "What it reads is not known before it runs."
    # Bash makes connections of names such as /dev/tcp/host/80.
    is_device = target is not None and os.path.normpath(target).startswith("/dev/")
    inside = target is not None and not is_device and places.is_within(target, ".")
    return None if inside else f"It reads {redirect.target.source!r}."


def _has_unknown_files(command: Found, places: Places) -> bool:
    if any(word.static is None for word in command.words):
        return True
    return any(places.written(each) is None for each in possible_paths(command))


def _is_anchored(program: str, places: Places) -> bool:
    """Whether a path to a program means what it means to the writer of a rule."""
    return os.path.isabs(program) or places.folder == places.working


def _moves(command: Found) -> bool:
    return command.name is None or os.path.basename(command.name) in _MOVES


def _stays_home(command: Found, places: Places) -> bool:
    """Whether a change of folder is a plain `cd` to where rules hold."""
    if len(command.argv) != 2 or command.argv[0] != "cd":
        return False
    target = command.argv[1] or "-"
    return not target.startswith("-") and places.is_at_home_in(target)


def may_move(text: str) -> bool:
    """Whether running `text` may change the folder in which the next command starts."""
    try:
        return any(_moves(each) for each in simple_commands(parse(text)))
    except ParseError:
        return True
