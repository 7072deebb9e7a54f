"""Judges any call of a tool: by the lists, by what the tool says of itself, by its command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from amplifier_modules.settings import protecting
from amplifier_modules.shell.policy import ApprovalSettings, Entry
from amplifier_modules.shell.policy_commands import CommandPolicy
from amplifier_modules.shell.rules_places import Places, host_matches, host_of
from amplifier_modules.shell.verdict import Verdict, strictest

SHELL_TOOL = "bash"
_SHELL_INPUTS = frozenset({"command", "timeout", "run_in_background", "action", "job_id"})
_JOB_ACTIONS = frozenset({"read", "kill", "list"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it is about to happen."""

    tool_name: str
    input: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    must_ask: str | None = None
    """Who demands approval of every call of this tool; None if nobody does."""

    @property
    def is_shell(self) -> bool:
        return self.tool_name == SHELL_TOOL

    def paths(self, kind: str) -> list[str | None]:
        """The arguments that are paths; None for one that cannot be read as a path."""
        return [
            text if isinstance(text, str) and text else None
            for name in _names(self.annotations.get(kind))
            if (given := self.input.get(name)) is not None
            for text in (given if isinstance(given, list) else [given])
        ]

    def hosts(self) -> list[str | None]:
        """The machines it talks to; None for one that cannot be told."""
        named = _names(self.annotations.get("hosts"))
        arguments = {*(each for each in named if each in self.input), *({"url"} & {*self.input})}
        # An argument that a call leaves out has no machine in it; "url" is no machine either.
        fixed = [each for each in named if each not in self.input and "." in each]
        given = [self.input[each] for each in sorted(arguments)]
        texts = [text for each in given for text in (each if isinstance(each, list) else [each])]
        return [*fixed, *(host_of(each) if isinstance(each, str) else None for each in texts)]


def _names(value: Any) -> list[str]:
    listed = value if isinstance(value, list | tuple) else [value]
    return [each for each in listed if isinstance(each, str)]


class CallPolicy:
    """The whole config, ready to judge."""

    def __init__(self, settings: ApprovalSettings) -> None:
        self._settings = settings
        self._commands = CommandPolicy(settings, SHELL_TOOL)

    def judge(self, call: Call, places: Places) -> Verdict:
        """What is to happen with `call`, before anybody is asked."""
        return strictest(self.parts(call, places))

    def parts(self, call: Call, places: Places) -> list[Verdict]:
        """The verdicts that make up the one on `call`."""
        if call.is_shell:
            return self._shell_parts(call, places)
        objections = [*self._objections(call, places), *self._protected(call, places)]
        return objections or [self._permission(call, places)]

    # -- shell ----------------------------------------------------------------------------

    def _shell_parts(self, call: Call, places: Places) -> list[Verdict]:
        objections = [
            verdict
            for verdict, entry in self._settings.objections()
            if entry.is_bare and fnmatchcase(call.tool_name, entry.tool or "")
        ]
        command = call.input.get("command")
        if call.input.get("action") in _JOB_ACTIONS and not command:
            reason = "It is about background jobs that were approved before."
            return [*objections, Verdict("allow", "built-in: background jobs", reason)]
        judged = self._commands.judge(command if isinstance(command, str) else "", places)
        lenient = self._whole_shell(call)
        if lenient is not None:
            return [*objections, *filter(self._commands.is_objection, judged), lenient]
        for unknown in sorted(set(call.input) - _SHELL_INPUTS):
            reason = f"The input {unknown!r} is not known."
            objections.append(Verdict("ask", "built-in: unknown input", reason))
        return [*objections, *judged]

    def _whole_shell(self, call: Call) -> Verdict | None:
        """What allows any command: an entry with the tool's full name, or `policy_driven_only`."""
        for number, entry in enumerate(self._settings.allow):
            if entry.is_bare and entry.tool == call.tool_name:
                return _allowed(number, entry)
        only_listed = self._settings.policy_driven_only and call.must_ask is None
        return _passed() if only_listed else None

    # -- other tools ----------------------------------------------------------------------

    def _objections(self, call: Call, places: Places) -> Iterator[Verdict]:
        for verdict, entry in self._settings.objections():
            if entry.command is None and _fits_tool(entry, call) and _touches(entry, call, places):
                yield verdict

    def _protected(self, call: Call, places: Places) -> Iterator[Verdict]:
        for path in call.paths("writes"):
            names = {path, places.written(path), places.located(path)} - {None} if path else set()
            if any(protecting(each or "", self._settings.protected_paths) for each in names):
                reason = f"{path!r} decides what is run later."
                yield Verdict("ask", "built-in: protected_paths", reason)

    def _permission(self, call: Call, places: Places) -> Verdict:
        for number, entry in enumerate(self._settings.allow):
            if entry.command is None and _covers(entry, call, places):
                return _allowed(number, entry)
        if call.must_ask is not None:
            return Verdict(
                "ask", call.must_ask, f"Every call of {call.tool_name!r} is asked about."
            )
        if self._settings.policy_driven_only:
            return _passed()
        options = self._settings.tools.get(call.tool_name)
        if options is not None and not options.require_approval:
            rule = f"tools.{call.tool_name}.require_approval"
            return Verdict("allow", rule, "The config says that it needs no approval.")
        return self._by_annotations(call, places)

    def _by_annotations(self, call: Call, places: Places) -> Verdict:
        rule = "built-in: reads in the project"
        if call.annotations.get("effect") != "pure":
            reason = f"{call.tool_name!r} may change something, and no rule allows it."
            return Verdict("ask", "built-in: no rule", reason)
        if call.paths("writes") or call.hosts():
            return Verdict("ask", "built-in: no rule", "It writes, or talks to another machine.")
        # Without a path, such a tool reads where relative paths start.
        reads = call.paths("reads") or (["."] if call.annotations.get("reads") else [])
        outside = [p for p in reads if p is None or not places.is_within(p, ".")]
        if outside:
            return Verdict("ask", "built-in: no rule", f"{outside[0]!r} is not in the project.")
        return Verdict("allow", rule, "It only reads, and only in the project.")


def _passed() -> Verdict:
    return Verdict("allow", "policy_driven_only", "Only listed tools need approval.")


def _allowed(number: int, entry: Entry) -> Verdict:
    reason = entry.description or f"The config allows {entry}."
    return Verdict("allow", f"allow[{number}]", reason)


def _fits_tool(entry: Entry, call: Call) -> bool:
    return entry.tool is None or fnmatchcase(call.tool_name, entry.tool)


def _touches(entry: Entry, call: Call, places: Places) -> bool:
    """Whether any path and any host of the call may be meant; for refusal."""
    paths = [*call.paths("reads"), *call.paths("writes")]
    if entry.path is not None and not any(
        path is None or places.might_be(path, entry.path) for path in paths
    ):
        return False
    hosts = call.hosts()
    return entry.host is None or any(
        host is None or host_matches(entry.host, host) for host in hosts
    )


def _covers(entry: Entry, call: Call, places: Places) -> bool:
    """Whether all paths and all hosts of the call are meant; for permission."""
    if not _fits_tool(entry, call):
        return False
    reads, writes, hosts = call.paths("reads"), call.paths("writes"), call.hosts()
    if entry.tool is None and (writes or (hosts and entry.host is None)):
        return False
    if entry.path is not None:
        known = [path is not None and places.is_within(path, entry.path) for path in reads + writes]
        if not known or not all(known):
            return False
    if entry.host is not None:
        met = [host is not None and host_matches(entry.host, host) for host in hosts]
        if not met or not all(met):
            return False
    # A place alone says nothing of what else a tool does there.
    only_place = entry.tool is None and entry.host is None
    return not only_place or call.annotations.get("effect") == "pure"
