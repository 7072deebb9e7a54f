"""`amplifier approve`: what you have allowed in this project for good."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from amplifier.exits import FAILED

if TYPE_CHECKING:
    from amplifier.grants import Grants


@click.group()
def approve() -> None:
    """See and take back what you have allowed in this project for good."""


@approve.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a single JSON document.")
def list_grants(as_json: bool) -> None:
    """List the calls that are not asked about again."""
    from dataclasses import asdict

    from amplifier.grants import UnreadableGrants

    try:
        grants = _grants().listed()
    except UnreadableGrants as error:
        _fail(str(error))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in grants], indent=2))
        return
    for each in grants:
        click.echo(f"{each.id[:8]}  {each.granted[:10]}  {each.tool_name}: {each.action}")
    if not grants:
        click.echo("Nothing is allowed for good in this project.", err=True)


@approve.command()
@click.argument("id", required=False)
@click.option("--all", "everything", is_flag=True, help="Take back all of them.")
def revoke(id: str | None, everything: bool) -> None:
    """Ask again about the call with this ID, or the beginning of it."""
    from amplifier.grants import UnreadableGrants

    if (id is None) == (not everything):
        raise click.UsageError("Name one ID from `amplifier approve list`, or use --all.")
    try:
        gone = _grants().revoke(id)
    except UnreadableGrants as error:
        _fail(str(error))
    if not gone and id is not None:
        _fail(f"There is no approval {id!r}. See `amplifier approve list`.")
    for each in gone:
        click.echo(f"Will be asked about again: {each.action}")


def _grants() -> Grants:
    from pathlib import Path

    from amplifier.grants import FILE, Grants
    from amplifier.sessions.places import sessions_folder

    return Grants(sessions_folder(Path.cwd()).parent / FILE)


def _fail(message: str) -> None:
    click.echo(message, err=True)
    sys.exit(FAILED)
