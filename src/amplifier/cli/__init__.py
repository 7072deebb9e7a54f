"""The `amplifier` command. A command is imported when it is asked for, and no other one."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

import click

from amplifier import __version__

#: Each command with its file, and its name there if that is another.
COMMANDS = {
    "run": "run",
    "chat": "chat",
    "continue": "going_on:continue_",
    "resume": "going_on",
    "session": "session",
    "init": "init",
    "provider": "provider",
    "approve": "approve",
    "policy": "policy",
    "trust": "trust",
    "agents": "agents",
    "bundle": "bundle",
    "config": "config",
    "doctor": "doctor",
    "module": "module",
    "plan": "plan",
    "source": "source",
    "tool": "tool",
    "completion": "completion",
    "version": "version",
}
BETWEEN_COLLECTIONS = 100_000


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        file, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f".{file}", __package__), name or cmd_name)
        return found


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="amplifier")
@click.pass_context
def main(context: click.Context) -> None:
    """An AI agent made of swappable parts. Without a command it begins a chat.

    Try `amplifier run "What is in this folder?"`. Without any key it runs on a small
    embedded model, which is good for a demonstration and for nothing else.
    """
    if context.invoked_subcommand is None:
        from .chat import chat

        context.invoke(chat)


def start() -> Any:
    """The program itself."""
    # What a start imports stays to the end: looking for garbage in it only takes time.
    gc.set_threshold(BETWEEN_COLLECTIONS)
    return main()
