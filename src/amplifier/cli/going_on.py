"""`amplifier continue` and `amplifier resume`: going on with an earlier session."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.options import output_format_option, session_options
from amplifier.cli.preparing import NotPrepared, check_options, prepared
from amplifier.cli.run import given_text, no_prompt
from amplifier.exits import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from amplifier.sessions.files import FileStore

SHOWN_WITHOUT_TERMINAL = 5


def _going_on(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that goes on, and its errors in one line."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from amplifier.output import note
        from amplifier.secrets import masked
        from amplifier.sessions.store import StoreError

        check_options(options)
        try:
            command(*args, **options)
        except BrokenPipeError:
            raise
        except (StoreError, OSError, ValueError) as error:
            note(f"amplifier: {masked(str(error))}")
            sys.exit(FAILED)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    return session_options(output_format_option(run))


@click.command("continue")
@click.argument("prompt", required=False)
@_going_on
def continue_(prompt: str | None, **options: Any) -> None:
    """Go on with the latest session of this project.

    Without PROMPT it chats, or reads it from stdin; a turn that was cut off needs none.
    """
    from amplifier.sessions.commands import newest
    from amplifier.sessions.places import store_of

    store = store_of(Path.cwd(), options["durability"])
    go_on((store, newest(store)), prompt, options)


@click.command()
@click.argument("id", metavar="[ID]", required=False)
@click.argument("prompt", required=False)
@click.option("-n", "--limit", default=10, show_default=True, help="How many to choose from.")
@_going_on
def resume(id: str | None, prompt: str | None, limit: int, **options: Any) -> None:
    """Go on with session ID, with any provider; without ID, choose from a list.

    ID may be shortened, or be a name that `amplifier session rename` gave.
    """
    from amplifier.sessions.commands import find
    from amplifier.sessions.files import FileStore

    store, session_id = find(id) if id is not None else _chosen(limit)
    go_on((FileStore(store.folder, options["durability"]), session_id), prompt, options)


def _chosen(limit: int) -> tuple[FileStore, str]:
    from amplifier.sessions.choosing import choose
    from amplifier.sessions.listing import latest
    from amplifier.sessions.places import store_of
    from amplifier.sessions.store import NoSession

    store = store_of(Path.cwd())
    found = latest(store, limit)
    if not found:
        raise NoSession("This project has no session yet. Begin one with `amplifier run`.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        lines = "\n".join(f"  {each.line()}" for each in found[:SHOWN_WITHOUT_TERMINAL])
        raise click.UsageError(
            f"Without a terminal, say which session to resume. The latest are:\n\n{lines}\n"
        )
    chosen = choose(found)
    if chosen is None:
        sys.exit(INTERRUPTED)
    return store, chosen


def go_on(found: tuple[FileStore, str], prompt: str | None, options: dict[str, Any]) -> None:
    """One more turn; without a prompt, the end of a turn that was cut off, or a chat."""
    from amplifier.bundles.attaching import with_files
    from amplifier.output import note
    from amplifier.sessions.sentences import GO_ON
    from amplifier.turns import run_turn
    from amplifier.views import view_for

    text = given_text(prompt)
    format = options["output_format"]
    may_talk = text is None and sys.stdin.isatty() and format == "text"
    # A chat needs stdout for itself; everything else must not get at it.
    view = None if may_talk else view_for(format)
    try:
        ready = prepared(options, found)
    except NotPrepared as error:
        view.failed(str(error)) if view else note(f"amplifier: {error}")
        sys.exit(FAILED)
    state = ready.recording.state if ready.recording else None
    is_cut_off = state is not None and state.is_cut_off
    if text is None and not is_cut_off:
        if not may_talk:
            raise no_prompt("amplifier continue")
        from amplifier.chat.opening import run_chat

        plan, recording, budget, partial = ready
        sys.exit(run_chat(plan, allow_partial=partial, recording=recording, budget=budget))
    text = with_files(text or GO_ON, prompt, ready.plan)
    sys.exit(run_turn(ready, text, view or view_for(format)))
