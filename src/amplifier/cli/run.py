"""`amplifier run`: one prompt, one answer."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

import click

from amplifier.cli.options import new_session_options, output_format_option, session_options
from amplifier.cli.preparing import NotPrepared, check_options, prepared
from amplifier.exits import FAILED, INTERRUPTED

SECONDS_TO_BEGIN = 10.0
"""How long a pipe beside a prompt may stay silent."""


@click.command()
@click.argument("prompt", required=False)
@session_options
@new_session_options
@output_format_option
@click.option(
    "--mode",
    type=click.Choice(["single", "chat"]),
    default="single",
    show_default=True,
    help="With chat, the same as `amplifier chat`.",
)
@click.pass_context
def run(context: click.Context, /, prompt: str | None, mode: str, **options: Any) -> None:
    """Answer PROMPT, once.

    A mention such as `@src/main.py` adds that file to the prompt.

    What is piped in is added to PROMPT; without PROMPT, it is the prompt. The answer goes to
    stdout and everything else to stderr.

    Exit codes: 0 there is an answer, 1 there is none, 2 the command is wrong, 3 the budget is
    used up, 130 interrupted.
    """
    check_options(options)
    if mode == "chat":
        if prompt is not None:
            raise click.UsageError("A chat takes no prompt. Leave it out, or leave out --mode.")
        from amplifier.cli.chat import chat

        options.pop("output_format")
        context.invoke(chat, **options)
    text = given_text(prompt)
    if text is None:
        raise no_prompt("amplifier run")
    try:
        # Late: the kernel and asyncio would slow down every `--help`.
        from amplifier.bundles.attaching import with_files
        from amplifier.turns import run_turn
        from amplifier.views import view_for

        view = view_for(options["output_format"])
        try:
            ready = prepared(options)
        except NotPrepared as error:
            view.failed(str(error))
            sys.exit(FAILED)
        sys.exit(run_turn(ready, with_files(text, prompt, ready.plan), view))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def given_text(prompt: str | None) -> str | None:
    """The prompt and what was piped in; None if there is neither."""
    try:
        piped = _piped(beside_a_prompt=prompt is not None)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    parts = [each for each in (prompt, piped) if each and each.strip()]
    # A shell may pass any bytes; no provider can send what is no text.
    text = "\n\n".join(parts).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text or None


def no_prompt(command: str) -> click.UsageError:
    return click.UsageError(f'There is no prompt. Write one, as in `{command} "Hello"`.')


def _piped(beside_a_prompt: bool) -> str:
    """What stdin holds; nothing if it is a terminal, or closed."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    if beside_a_prompt and not _has_input():
        return ""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _has_input() -> bool:
    """Whether somebody pipes in something. A pipe that was only inherited says nothing."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISREG(kind):
        return True
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return False
    if sys.platform == "win32":
        return True
    import select

    if select.select([sys.stdin], [], [], SECONDS_TO_BEGIN)[0]:
        return True
    click.echo(
        f"Nothing came through the pipe within {SECONDS_TO_BEGIN:.0f} s; going on without it. "
        "With `< /dev/null` there is no wait.",
        err=True,
    )
    return False
