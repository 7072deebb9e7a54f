"""`amplifier trust`: what a project brings does nothing until you have seen it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from amplifier.cli.common import Failure, echo_line, failing_in_words


@click.group()
def trust() -> None:
    """Say which settings, bundles, hooks and modules of a project may take effect.

    Trust is for exact contents: whatever changes has to be trusted again.
    """


@trust.command()
@click.option("-B", "--bundle", help="Look at this bundle; otherwise at the active one.")
@failing_in_words
def show(bundle: str | None) -> None:
    """Print what this project brings, and what it would run."""
    from amplifier.trust.review import review

    found = review(bundle)
    if not found.items:
        click.echo("This project brings nothing that would need your trust.")
        return
    for line in found.lines():
        echo_line(line)


@trust.command()
@click.option("-B", "--bundle", help="Trust what this bundle is made of, too.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@failing_in_words
def add(bundle: str | None, yes: bool) -> None:
    """Trust what this project brings, as it is now."""
    from amplifier.trust.review import review
    from amplifier.trust.store import trust as remember

    found = review(bundle)
    missing = found.untrusted
    if not missing:
        click.echo("There is nothing here that you do not trust already.")
        return
    for line in found.lines():
        echo_line(line)
    if not yes:
        if not sys.stdin.isatty():
            raise Failure("Nobody is here to be asked. Read the list above, then use --yes.")
        click.confirm("Trust all of this?", abort=True)
    remember(missing)
    click.echo(f"Trusted: {len(missing)} contents. `amplifier trust revoke` takes it back.")


@trust.command("list")
@failing_in_words
def list_() -> None:
    """Print what you trust."""
    from amplifier.trust.store import trusted

    for found, each in sorted(trusted().items(), key=lambda pair: str(pair[1].get("path"))):
        click.echo(f"{found[:19]}  {_text(each, 'at')}  {_text(each, 'path')}")


@trust.command()
@click.argument("path", required=False)
@click.option("--all", "everything", is_flag=True, help="Forget all that you trust.")
@failing_in_words
def revoke(path: str | None, everything: bool) -> None:
    """Forget what is trusted in this project, or at PATH."""
    from amplifier.settings.places import project_root
    from amplifier.trust.store import revoke as forget

    below = None if everything else Path(path).resolve() if path else project_root()
    gone = forget(below)
    for each in gone:
        click.echo(f"No longer trusted: {each}")
    if not gone:
        raise Failure("Nothing there was trusted. See `amplifier trust list`.")


def _text(each: dict[str, Any], key: str) -> str:
    return str(each.get(key, ""))
