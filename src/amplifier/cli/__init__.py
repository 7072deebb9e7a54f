"""The `amplifier` command. Each command is imported when it is asked for, and no other one."""

from __future__ import annotations

import gc
import os
from importlib import import_module
from typing import Any

import click

from amplifier import __version__

from .examples import add_examples

#: Under each heading of the help: each command with its file, and its name there if it is another.
SECTIONS = {
    "Work": {
        "run": "run",
        "chat": "chat",
        "continue": "going_on:continue_",
        "resume": "going_on",
        "session": "session",
    },
    "Who answers, and what is allowed": {
        "init": "init",
        "provider": "provider",
        "approve": "approve",
        "policy": "policy",
        "trust": "trust",
    },
    "What a session is made of": {
        "plan": "plan",
        "bundle": "bundle",
        "agents": "agents",
        "tool": "tool",
        "module": "module",
        "source": "source",
        "config": "config",
    },
    "This program": {
        "doctor": "doctor",
        "completion": "completion",
        "version": "version",
    },
}
#: What the help of all commands says of each: no command is imported for that.
TEXTS = {
    "run": "Answer a prompt, once.",
    "chat": "Talk with the agent.",
    "continue": "Go on with the latest session of this project.",
    "resume": "Go on with an earlier session, chosen from a list.",
    "session": "See, copy, check, replay and remove sessions.",
    "init": "Find keys, try them, choose the model that answers.",
    "provider": "Add, try, change, list and remove those who answer.",
    "approve": "See and take back what you have allowed for good.",
    "policy": "See what tools may do without asking you.",
    "trust": "Say what that a project brings may take effect.",
    "plan": "Print all parts of a session, and who says so.",
    "bundle": "Choose, add and look at descriptions of sessions.",
    "agents": "See whom a session can hand work to.",
    "tool": "Look at the tools, and run one without a model.",
    "module": "List, add, write and check providers, tools, hooks and more.",
    "source": "Say where modules and bundles come from.",
    "config": "See and change settings, and where each comes from.",
    "doctor": "Check this installation, and say how to mend it.",
    "completion": "Let the Tab key know commands, sessions and more.",
    "version": "Print the version.",
}
COMMANDS = {name: file for each in SECTIONS.values() for name, file in each.items()}
#: What the public command has under another name, or not at all.
ELSEWHERE = {
    "update": "Use `amplifier module update`, `amplifier bundle update`, and pip for the program.",
    "reset": "Remove `~/.amplifier/cache`, all of which can be fetched again.",
    "routing": "Agents name `provider_preferences`; see `amplifier agents explain`.",
    "notify": "A hook in `.amplifier/hooks` can run any program.",
    "allowed-dirs": "Set `overrides.tool-filesystem.config.allowed_write_paths`.",
    "denied-dirs": "Set `overrides.tool-filesystem.config.denied_write_paths`.",
}
COMPLETE = "_AMPLIFIER_COMPLETE"
"""Set by the scripts for shells: then the command answers the Tab key instead of running."""
BETWEEN_COLLECTIONS = 100_000


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        file, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f".{file}", __package__), name or cmd_name)
        add_examples(cmd_name, found)
        if COMPLETE in os.environ:
            from .completing import offer_values

            offer_values(cmd_name, found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), TEXTS[name]) for name in commands])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. {_advice(name)}", ctx)
        return super().resolve_command(ctx, args)


def _advice(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return ELSEWHERE.get(name) or (
        f"Did you mean {near[0]!r}?" if near else "See `amplifier --help`."
    )


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="amplifier")
@click.pass_context
def main(context: click.Context) -> None:
    """An AI agent made of swappable parts. Without a command it begins a chat.

    \b
      amplifier init                            choose the model that answers
      amplifier                                 chat; it asks before it changes anything
      amplifier run "What is in this folder?"   one answer
      amplifier continue                        go on with the latest session

    Without any key a small embedded model answers, which is good for a demonstration and for
    nothing else. Every command has examples, as in `amplifier run --help`.
    """
    if context.invoked_subcommand is None:
        from .chat import chat

        context.invoke(chat)


def start() -> Any:
    """The program itself."""
    # What a start imports stays to the end: looking for garbage in it only takes time.
    gc.set_threshold(BETWEEN_COLLECTIONS)
    return main(prog_name="amplifier")
