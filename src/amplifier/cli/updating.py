"""What `module update` and `bundle update` do: fetch, show, ask, switch; or go back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from amplifier.cli.common import Failure, agree, echo_line


def update_sources(
    wanted: Mapping[str, str],
    lock: Path,
    *,
    check_only: bool,
    rollback: bool,
    yes: bool,
    are_modules: bool,
) -> None:
    """Update sources by name, or roll them back; each on its own."""
    from amplifier.sources.uris import parse_source

    fetched = {name: uri for name, uri in wanted.items() if parse_source(uri).is_fetched}
    if not fetched:
        click.echo("There is nothing to update: local folders are used as they are.")
        return
    for name, uri in fetched.items():
        if rollback:
            _roll_back(name, uri, lock)
        else:
            _update(name, uri, lock, check_only, yes, are_modules)


def _update(name: str, uri: str, lock: Path, check_only: bool, yes: bool, is_module: bool) -> None:
    from amplifier.sources.adding import accept, changes, get_offer
    from amplifier.trust.store import keeping_trust

    offer = get_offer(uri)
    found = changes(lock, offer)
    if found is None:
        click.echo(f"{name}: no change")
        return
    click.echo(f"{name}: {uri}")
    for each in found:
        echo_line(f"  {each}")
    if check_only:
        return
    agree(f"Update {name}?", yes)
    with keeping_trust(lock):
        accept(lock, offer, is_module=is_module)
    click.echo(f"{name}: updated. `--rollback` takes it back.")


def _roll_back(name: str, uri: str, lock: Path) -> None:
    from amplifier.sources.cache import verified
    from amplifier.sources.lock import read_lock, roll_back
    from amplifier.trust.store import keeping_trust

    previous = read_lock(lock).get(uri, {}).get("previous", [])
    if not previous:
        raise Failure(f"{name!r} has no content before this one. Nothing was changed.")
    verified(previous[0]["hash"], uri)
    with keeping_trust(lock):
        entry = roll_back(lock, uri)
    click.echo(f"{name}: back at {entry['hash'][:19] if entry else ''}")
