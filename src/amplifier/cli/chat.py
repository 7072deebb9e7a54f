"""`amplifier chat`: a conversation at the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from amplifier.cli.options import new_session_options, session_options
from amplifier.cli.preparing import NotPrepared, check_options, prepared
from amplifier.exits import FAILED


@click.command()
@session_options
@new_session_options
def chat(**options: Any) -> None:
    """Talk with the agent. Without a command, `amplifier` does the same.

    Enter sends, Ctrl-J begins a new line. What you send while the agent works steers it.
    Ctrl-C stops it after the running step, twice at once. Ctrl-D ends the chat; /help lists
    what else you can say.
    """
    check_options(options)
    # Late: the kernel and asyncio would slow down every `--help`.
    from amplifier.chat.opening import run_chat

    try:
        ready = prepared(options)
    except NotPrepared as error:
        click.echo(f"amplifier: {error}", err=True)
        sys.exit(FAILED)
    sys.exit(
        run_chat(
            ready.plan,
            allow_partial=ready.allow_partial,
            recording=ready.recording,
            budget=ready.budget,
        )
    )
