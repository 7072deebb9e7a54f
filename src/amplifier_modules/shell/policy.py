"""The config of hooks-approval: what may be called, what is asked about, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from amplifier_modules.settings import PROTECTED_PATHS, Settings
from amplifier_modules.shell.rules_commands import CommandPattern
from amplifier_modules.shell.verdict import Action, Verdict

MODULE = "hooks-approval"


class Entry(Settings):
    """One line of `allow`, `ask` or `deny`. All keys that are given must fit a call."""

    tool: str | None = None
    """Name of a tool; `*` stands for any characters."""
    path: str | None = None
    """A folder and all below it, a file, or a pattern such as `**/.env`."""
    host: str | None = None
    """A machine, or `*.example.org` for all below it."""
    command: str | None = None
    """A shell command; `*` as its end stands for further arguments."""
    description: str = ""

    @model_validator(mode="after")
    def _means_something(self) -> Entry:
        given = (self.tool, self.path, self.host, self.command)
        if all(each is None for each in given) or "" in given:
            raise ValueError("an entry names a tool, path, host or command")
        if self.command is not None:
            CommandPattern.read(self.command)
        return self

    @cached_property
    def pattern(self) -> CommandPattern | None:
        return None if self.command is None else CommandPattern.read(self.command)

    @property
    def is_bare(self) -> bool:
        """Whether it names a tool and nothing else."""
        return self.path is None and self.host is None and self.command is None

    def __str__(self) -> str:
        keys = ("tool", "path", "host", "command")
        return ", ".join(f"{key} {getattr(self, key)!r}" for key in keys if getattr(self, key))


class Rule(Settings):
    """A rule for shell commands in the older form."""

    pattern: str = Field(min_length=1)
    action: Literal["auto_approve", "auto_deny"]
    description: str = ""

    @model_validator(mode="after")
    def _can_be_read(self) -> Rule:
        read = CommandPattern.read(self.pattern)
        if self.action == "auto_approve":
            read.check_permission()
        return self

    @cached_property
    def command(self) -> CommandPattern:
        return CommandPattern.read(self.pattern)


class Audit(Settings):
    """What is written down about decisions."""

    enabled: bool = True
    path: str = "~/.amplifier/audit/approvals.jsonl"


class ToolOptions(Settings):
    """What is known about one tool."""

    require_approval: bool = False


def _answer(value: object) -> object:
    return (
        {"approve": "allow", "continue": "allow"}.get(value, value)
        if isinstance(value, str)
        else value
    )


class ApprovalSettings(Settings):
    """Keys of hooks-approval."""

    allow: list[Entry] = Field(default_factory=list)
    ask: list[Entry] = Field(default_factory=list)
    deny: list[Entry] = Field(default_factory=list)
    rules: list[Rule] | None = None
    """For shell commands; without it, `ls` in the project, `pwd` and `echo` are approved."""
    default_action: Annotated[Literal["allow", "deny"], BeforeValidator(_answer)] = "deny"
    """What happens when nobody answers in time."""
    default_timeout: float | None = Field(None, gt=0)
    """Seconds to wait for an answer; None waits for ever."""
    audit: Audit = Field(default_factory=Audit)
    policy_driven_only: bool = False
    """Judge only the tools in the session's `require_approval_tools`, and the lists here."""
    tools: dict[str, ToolOptions] = Field(default_factory=dict)
    project: str | None = None
    """The folder in which reads are allowed; otherwise the session's working folder."""

    protected_paths: list[str] = Field(default_factory=lambda: list(PROTECTED_PATHS))
    """Parts of paths, as `.git/hooks`: nothing writes there without being asked about."""

    def objections(self) -> Iterator[tuple[Verdict, Entry]]:
        """The entries of `deny` and `ask`, each with the verdict it stands for."""
        lists: list[tuple[Action, list[Entry]]] = [("deny", self.deny), ("ask", self.ask)]
        for action, entries in lists:
            for number, entry in enumerate(entries):
                reason = entry.description or f"The config says {action} for {entry}."
                yield Verdict(action, f"{action}[{number}]", reason), entry

    @field_validator("allow")
    @classmethod
    def _permits_no_program_at_all(cls, entries: list[Entry]) -> list[Entry]:
        for entry in entries:
            if entry.pattern is not None:
                entry.pattern.check_permission()
                if entry.host is not None:
                    raise ValueError("an allowed command cannot be tied to a host")
            if entry.tool is not None and not entry.tool.strip("*"):
                raise ValueError("an allowed tool needs a name")
        return entries


BUILT_IN_COMMANDS = (
    ("built-in: ls in the project", CommandPattern(("ls",), True), "."),
    ("built-in: pwd", CommandPattern(("pwd",), False), None),
    ("built-in: echo", CommandPattern(("echo",), True, globs=False), None),
)
"""What is approved in a shell when the config has no `rules`: name, pattern, place."""
