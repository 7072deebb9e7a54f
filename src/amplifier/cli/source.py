"""`amplifier source`: where the code of a module or bundle is taken from."""

from __future__ import annotations

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    Scoped,
    echo_json,
    failing_in_words,
    list_options,
    scope_options,
)

PLACES = {"module": ("sources", "modules"), "bundle": ("sources", "bundles")}


@click.group()
def source() -> None:
    """Say where a module or a bundle comes from, whatever a bundle says."""


@source.command()
@click.argument("id")
@click.argument("uri")
@click.option("--module", "kind", flag_value="module", help="ID is a module; the default.")
@click.option("--bundle", "kind", flag_value="bundle", help="ID is a bundle.")
@scope_options(default="global")
@failing_in_words
def add(id: str, uri: str, kind: str | None, scope: Scoped) -> None:
    """Take ID from URI. What has to be fetched is fetched by `module add` and `update`."""
    from amplifier.settings.writing import set_key
    from amplifier.sources.uris import parse_source
    from amplifier.trust.store import keeping_trust

    written = parse_source(uri).uri
    with keeping_trust(scope.file):
        set_key(scope.file, [*PLACES[kind or "module"], id], written)
    click.echo(f"Set in {scope.file}.")


@source.command()
@click.argument("id")
@scope_options(default="global")
@failing_in_words
def remove(id: str, scope: Scoped) -> None:
    """Forget the source of ID in a scope."""
    from amplifier.settings.writing import unset_key
    from amplifier.trust.store import keeping_trust

    with keeping_trust(scope.file):
        gone = [unset_key(scope.file, [*keys, id]) for keys in PLACES.values()]
    if not any(gone):
        raise Failure(f"{scope.file} names no source of {id!r}. See `source show`.")
    click.echo(f"Removed from {scope.file}.")


@source.command("list")
@list_options
@failing_in_words
def list_(listing: Listing) -> None:
    """List the sources in effect."""
    from amplifier.settings.scopes import load_settings

    settings = load_settings()
    found = {kind: settings.value(*keys) or {} for kind, keys in PLACES.items()}
    if listing.as_json:
        echo_json(found)
        return
    pairs = [(kind, *pair) for kind, each in found.items() for pair in each.items()]
    rows = [{"id": id, "kind": kind, "from": uri} for kind, id, uri in pairs]
    listing.print(rows, lambda each: f"{each['kind']:<8}{each['id']:<26}{each['from']}")


@source.command()
@click.argument("id")
@failing_in_words
def show(id: str) -> None:
    """Say which layer decides where ID comes from, and which ones lose."""
    import os

    from amplifier.settings.scopes import load_settings
    from amplifier.sources.resolver import VARIABLE

    variable = VARIABLE + id.upper().replace("-", "_")
    settings = load_settings()
    lines = [("environment", variable, os.environ[variable])] if os.environ.get(variable) else []
    for keys in (("overrides", id, "source"), *((*each, id) for each in PLACES.values())):
        said = settings.explain(*keys)
        lines += [(each.scope, str(each.origin), str(each.value)) for each in said]
    if not lines:
        raise Failure(f"No layer names a source of {id!r}: the bundle's, or the installed one.")
    for number, (layer, origin, value) in enumerate(lines):
        click.echo(f"{'in effect' if not number else 'loses':<11}{layer:<12}{origin}  {value}")
