"""`amplifier bundle`: choose, add and look at bundles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    Scoped,
    agree,
    echo_line,
    failing_in_words,
    list_options,
    scope_options,
)

if TYPE_CHECKING:
    from amplifier.settings.scopes import Settings


@click.group()
def bundle() -> None:
    """Bundles say what a session is made of. Only `add` and `update` fetch anything."""


@bundle.command("list")
@list_options
@failing_in_words
def list_(listing: Listing) -> None:
    """List the bundles that can be used by name."""
    from amplifier.bundles.library import known_bundles

    names, active, _ = known_bundles()
    rows = [{"name": name, "from": uri, "active": name == active} for name, uri in names.items()]
    listing.print(
        rows, lambda each: f"{'*' if each['active'] else ' '} {each['name']:<20}{each['from']}"
    )


@bundle.command()
@click.argument("name")
@list_options
@click.pass_context
def show(context: click.Context, name: str, listing: Listing) -> None:
    """Print what NAME is composed of, with origins: the same as `amplifier plan -B NAME`."""
    from amplifier.bundles.planning import plan_for
    from amplifier.cli.plan import plan

    if listing.detail == "compact":
        found = failing_in_words(plan_for)(name)
        click.echo(f"{found.bundle}  {found.hash}")
        return
    is_detailed = listing.detail == "detailed"
    context.invoke(plan, bundle=name, instruction=is_detailed, tokens=False, _format=None,
                   _json=listing.as_json)  # fmt: skip


@bundle.command()
@failing_in_words
def current() -> None:
    """Print the active bundle, and who says so."""
    from amplifier.bundles.library import known_bundles

    _, active, origin = known_bundles()
    click.echo(f"{active}  ({origin})")


@bundle.command()
@click.argument("name")
@scope_options(default="global")
@failing_in_words
def use(name: str, scope: Scoped) -> None:
    """Make NAME the active bundle."""
    from amplifier.bundles.planning import plan_for
    from amplifier.settings.writing import set_key
    from amplifier.trust.store import keeping_trust

    plan_for(name, as_if_trusted=True)
    with keeping_trust(scope.file):
        set_key(scope.file, ["bundle", "active"], name)
    click.echo(f"{name} is active, by {scope.file}.")


@bundle.command()
@click.option("--all", "everywhere", is_flag=True, help="In all scopes.")
@scope_options(default="global")
@failing_in_words
def clear(everywhere: bool, scope: Scoped) -> None:
    """Use the bundle of a less specific scope again, or the default one."""
    from amplifier.settings.places import NoProject, settings_file
    from amplifier.settings.writing import unset_key
    from amplifier.trust.store import keeping_trust

    files = [scope.file]
    if everywhere:
        try:
            files = [settings_file(each) for each in ("local", "project", "global")]
        except NoProject:
            files = [settings_file("global")]
    for file in files:
        if file.exists():
            with keeping_trust(file):
                unset_key(file, ["bundle", "active"])
    click.echo("Cleared.")


@bundle.command()
@click.argument("uri")
@click.option("-n", "--name", help="Name to use it by; otherwise its own.")
@click.option("--app", is_flag=True, help="Compose it into every session.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@scope_options(default="global")
@failing_in_words
def add(uri: str, name: str | None, app: bool, yes: bool, scope: Scoped) -> None:
    """Fetch a bundle, lock it, and make it known by its name."""
    from amplifier.settings.writing import put_entry, set_key
    from amplifier.sources.adding import (
        accept,
        bundle_file,
        bundle_front,
        description_of,
        get_offer,
        lock_beside,
    )
    from amplifier.trust.store import keeping_trust

    offer = get_offer(uri)
    file = bundle_file(offer.folder)
    own = (bundle_front(file).get("bundle") or {}).get("name")
    known_as = name or own or offer.folder.stem
    facts = description_of(file.parent)
    echo_line(f"{known_as} {facts['version']} from {offer.source.uri}")
    for each in facts.get("modules", []):
        echo_line(f"  uses {each}")
    agree("Use it?", yes)
    lock = lock_beside(scope.file)
    with keeping_trust(lock), keeping_trust(scope.file):
        accept(lock, offer, is_module=False)
        if app:
            put_entry(scope.file, ["bundle", "app"], offer.source.uri)
        else:
            set_key(scope.file, ["bundle", "added", str(known_as)], offer.source.uri)
    click.echo(f"Added {known_as} to {scope.file}.")


@bundle.command()
@click.argument("name")
@click.option("--app", is_flag=True, help="One that is composed into every session.")
@scope_options(default="global")
@failing_in_words
def remove(name: str, app: bool, scope: Scoped) -> None:
    """Forget a bundle that was added."""
    from amplifier.settings.writing import set_key, unset_key
    from amplifier.sources.adding import lock_beside
    from amplifier.sources.lock import unlock_source
    from amplifier.trust.store import keeping_trust

    added, apps = _added(scope.file)
    uri = name if app else added.get(name)
    if uri is None or (app and uri not in apps):
        raise Failure(f"{scope.file} has no added bundle {name!r}. See `bundle list`.")
    lock = lock_beside(scope.file)
    with keeping_trust(lock), keeping_trust(scope.file):
        if app:
            set_key(scope.file, ["bundle", "app"], [each for each in apps if each != uri])
        else:
            unset_key(scope.file, ["bundle", "added", name])
        if lock.exists():
            unlock_source(lock, uri)
    click.echo(f"Removed from {scope.file}.")


@bundle.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="All that were added; the default.")
@click.option("--check", is_flag=True, help="Only say what would change.")
@click.option("--rollback", is_flag=True, help="Use the content before the last update again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@scope_options(default="global")
@failing_in_words
def update(
    name: str | None, everything: bool, check: bool, rollback: bool, yes: bool, scope: Scoped
) -> None:
    """Fetch the newest content of NAME, or of all; see what changes before it does."""
    from amplifier.cli.updating import update_sources
    from amplifier.sources.adding import lock_beside

    added, apps = _added(scope.file)
    known = {**added, **{uri: uri for uri in apps}}
    if name is not None and name not in known:
        raise Failure(f"{scope.file} has no added bundle {name!r}. See `bundle list`.")
    wanted = {each: uri for each, uri in known.items() if everything or name in (None, each)}
    update_sources(wanted, lock_beside(scope.file), check_only=check, rollback=rollback, yes=yes,
                   are_modules=False)  # fmt: skip


def _added(file: Path) -> tuple[dict[str, str], list[str]]:
    settings = _read(file)
    return settings.value("bundle", "added") or {}, settings.value("bundle", "app") or []


def _read(file: Path) -> Settings:
    from amplifier.settings.documents import decoded, parse, read_file
    from amplifier.settings.scopes import Layer, combined

    data = read_file(file) or b""
    return combined([Layer("global", file, parse(decoded(data, str(file)), str(file)), data)])
