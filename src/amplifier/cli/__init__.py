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
COMMANDS = {name: file for each in SECTIONS.values() for name, file in each.items()}
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
        for heading, names in SECTIONS.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), each.get_short_help_str(formatter.width - width - 6))
                        for name, each in found
                        if each is not None
                    ]
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
