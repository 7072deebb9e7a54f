"""`amplifier session`: what became of earlier turns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.common import Listing, done, list_options
from amplifier.cli.going_on import resume
from amplifier.cli.options import json_option
from amplifier.exits import FAILED
from amplifier.output import printable

if TYPE_CHECKING:
    from amplifier.sessions.files import FileStore
    from amplifier.sessions.projection import State


@click.group()
def session() -> None:
    """See, copy, check, replay and remove sessions. An ID may be shortened, or be a name."""


def _told(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose errors are one line on stderr."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from amplifier.secrets import masked
        from amplifier.sessions.store import StoreError

        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (StoreError, OSError, ValueError) as error:
            click.echo(f"amplifier: {masked(str(error))}", err=True)
            sys.exit(FAILED)

    return run


def _print(document: Any) -> None:
    import json

    click.echo(json.dumps(document, indent=2, default=str))


def _found(wanted: str) -> tuple[FileStore, str]:
    from amplifier.sessions.commands import find

    return find(wanted)


def _loaded(wanted: str) -> tuple[FileStore, State]:
    from amplifier.sessions.loading import load

    store, session_id = _found(wanted)
    return store, done(load(store, session_id))


session.add_command(resume)


# -- looking --------------------------------------------------------------------------------


@session.command("list")
@click.option("-n", "--limit", default=20, show_default=True, help="How many, the latest first.")
@click.option("--all-projects", is_flag=True, help="Not only those of this folder.")
@click.option("-t", "--tree", metavar="ID", help="Only copies and children of ID.")
@click.option("-c", "--children", "with_children", is_flag=True, help="Children as well.")
@list_options
@_told
def list_(
    limit: int, all_projects: bool, tree: str | None, with_children: bool, listing: Listing
) -> None:
    """List sessions; those that did a part of another's work only if asked for."""
    from amplifier.sessions.listing import below, summaries

    if tree:
        found = below(_found(tree))
    else:
        found = summaries(all_projects, limit, with_children=with_children)
    if listing.as_json or listing.detail:
        listing.print([each.as_dict() for each in found[:limit]], str)
        return
    for each in found[:limit]:
        click.echo(each.line())
    if not found:
        click.echo("There are none here yet.", err=True)


@session.command()
@click.argument("id", metavar="ID")
@click.option("-T", "--with-transcript", is_flag=True, help="With all messages.")
@json_option
@_told
def show(id: str, with_transcript: bool, as_json: bool) -> None:
    """Show what is known of a session."""
    from amplifier.sessions.exporting import as_document, described, text_of

    _, state = _loaded(id)
    if as_json:
        _print(as_document(state) if with_transcript else described(state))
        return
    for name, value in described(state).items():
        if value is not None:
            click.echo(printable(f"{name:14} {value}"))
    for turn in state.turns:
        click.echo(printable(f"turn {turn.number} ({turn.status}): {turn.prompt[:80]}"))
    for call in state.open_calls:
        click.echo(printable(f"open call: {call.tool}({call.input}) was {call.state}"))
    if with_transcript:
        for message in state.messages:
            click.echo(printable(f"\n[{message['role']}]\n{text_of(message)}"))


@session.command()
@click.argument("text")
@click.option("-n", "--limit", default=20, show_default=True, help="How many, the latest first.")
@click.option("--project", "here", is_flag=True, help="Only in the sessions of this folder.")
@json_option
@_told
def search(text: str, limit: int, here: bool, as_json: bool) -> None:
    """Find sessions that contain TEXT."""
    from amplifier.sessions.index import Index
    from amplifier.sessions.places import all_stores, store_of

    stores = [store_of(Path.cwd())] if here else all_stores()
    with Index.opened() as index:
        hits = index.search(stores, text, limit)
    if as_json:
        _print([{**each.summary._asdict(), "excerpt": each.excerpt} for each in hits])
        return
    for each in hits:
        click.echo(printable(f"{each.summary.session_id}  {each.excerpt}"))
    if not hits:
        click.echo("No session contains that.", err=True)


# -- changing -------------------------------------------------------------------------------


@session.command()
@click.argument("id", metavar="ID")
@click.argument("name")
@_told
def rename(id: str, name: str) -> None:
    """Give a session a name, by which it can be resumed. An empty one takes it away."""
    from amplifier.sessions.changing import rename as give_name

    store, session_id = _found(id)
    done(give_name(store, session_id, name.strip()))


@session.command()
@click.argument("id", metavar="ID")
@click.option("--at", metavar="TURN|SEQ", help="Up to turn 3 (`3`), or record 42 (`seq:42`).")
@click.option("-n", "--name", help="Name of the copy.")
@json_option
@_told
def fork(id: str, at: str | None, name: str | None, as_json: bool) -> None:
    """Copy a session, whole or up to a turn; the copy goes its own way."""
    from amplifier.sessions.changing import fork as copy

    store, session_id = _found(id)
    new_id = done(copy(store, session_id, at, name))
    _print({"session_id": new_id, "forked_from": session_id}) if as_json else click.echo(new_id)


@session.command()
@click.argument("id", metavar="ID")
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@_told
def delete(id: str, force: bool) -> None:
    """Remove a session for good."""
    store, session_id = _found(id)
    if not force:
        click.confirm(f"Remove session {session_id}?", abort=True, err=True)
    done(store.delete(session_id))


@session.command()
@click.option("-d", "--days", default=30, show_default=True, help="Those unused for so long.")
@click.option("--all-projects", is_flag=True, help="Not only those of this folder.")
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@_told
def cleanup(days: int, all_projects: bool, force: bool) -> None:
    """Remove sessions that were not used for some time."""
    from amplifier.sessions.changing import unused
    from amplifier.sessions.store import Held

    old = unused(days, all_projects)
    if old and not force:
        click.confirm(f"Remove {len(old)} sessions?", abort=True, err=True)
    removed = 0
    for store, session_id in old:
        try:
            done(store.delete(session_id))
            removed += 1
        except Held as error:
            click.echo(str(error), err=True)
    click.echo(f"{removed} removed.")


@session.command("import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
@_told
def import_(folder: Path, as_json: bool) -> None:
    """Take over a session of the public layout (transcript.jsonl, metadata.json)."""
    from amplifier.sessions.importing import import_session
    from amplifier.sessions.places import store_of

    new_id = done(import_session(store_of(Path.cwd()), folder))
    _print({"session_id": new_id}) if as_json else click.echo(new_id)


@session.command()
@click.argument("id", metavar="ID")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["markdown", "json", "jsonl"]),
    default="markdown",
    show_default=True,
    help="To read, as one document, or the records with all values in place.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write to, instead of stdout.",
)
@click.option("--no-redaction", is_flag=True, help="Leave in what looks like a secret.")
@_told
def export(id: str, shape: str, output: Path | None, no_redaction: bool) -> None:
    """Write a session for others to read. What looks like a secret is masked."""
    from amplifier.sessions.redacting import exported

    store, session_id = _found(id)
    text = done(exported(store, session_id, shape, redact=not no_redaction))
    if output is None:
        click.echo(text, nl=False)
    else:
        from amplifier.sessions.disk import Disk

        Disk().write_file(output, text.encode(), durable=False)


# -- checking -------------------------------------------------------------------------------


@session.command()
@click.argument("id", metavar="ID")
@json_option
@_told
def verify(id: str, as_json: bool) -> None:
    """Say exactly what of a session is whole and what is not. Exit code 1 if not all is."""
    from amplifier.sessions.verifying import verify as check

    report = check(*_found(id))
    _print(report.as_dict()) if as_json else click.echo("\n".join(report.lines()))
    sys.exit(0 if report.is_whole else FAILED)


@session.command()
@click.argument("id", metavar="ID")
@json_option
@_told
def repair(id: str, as_json: bool) -> None:
    """Keep the whole part of a session, and put the damaged rest aside in a file."""
    from amplifier.sessions.verifying import repair as mend

    report = mend(*_found(id))
    if as_json:
        _print(report.as_dict())
    else:
        done = "Nothing to repair." if report.problem is None else "Repaired."
        click.echo("\n".join([*report.lines(), done]))


@session.command()
@click.argument("id", metavar="ID")
@click.option("--live-tools", is_flag=True, help="Run the tools instead of using their results.")
@json_option
@_told
def replay(id: str, live_tools: bool, as_json: bool) -> None:
    """Run a session again on the recorded answers; say where it differs. Needs no model."""
    from amplifier.sessions.loading import load_records
    from amplifier.sessions.replaying import replay as again

    store, session_id = _found(id)
    records = done(load_records(store, session_id))
    difference = done(again(records, live_tools=live_tools))
    _report_difference(difference, as_json)


@session.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@json_option
@_told
def diff(a: str, b: str, as_json: bool) -> None:
    """Say where two sessions begin to differ. Exit code 1 if they do."""
    from amplifier.sessions.diffing import first_difference
    from amplifier.sessions.loading import load_records

    both = [done(load_records(*_found(each))) for each in (a, b)]
    _report_difference(first_difference(*both), as_json)


def _report_difference(difference: Any, as_json: bool) -> None:
    if as_json:
        _print({"same": difference is None, "difference": difference and difference._asdict()})
    else:
        click.echo("No difference." if difference is None else printable(str(difference)))
    sys.exit(0 if difference is None else FAILED)


@session.command("to-test")
@click.argument("id", metavar="ID")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the test and its data.",
)
@_told
def to_test(id: str, output: Path) -> None:
    """Write a pytest file, with its data, that replays the session."""
    from amplifier.sessions.testing import write_test

    store, session_id = _found(id)
    click.echo(str(done(write_test(store, session_id, output))))
