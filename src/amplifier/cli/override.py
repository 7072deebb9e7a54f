"""`amplifier module override`: another source or config for a module, wherever it is used."""

from __future__ import annotations

import click

from amplifier.cli.common import Failure, Scoped, failing_in_words, format_options, scope_options


@click.group()
def override() -> None:
    """Give a module another source or config, wherever a bundle uses it."""


@override.command("set")
@click.argument("id")
@click.option("-s", "--source", help="Where its code is.")
@click.option("-c", "--config", "pairs", multiple=True, metavar="KEY=VALUE", help="Repeatable.")
@scope_options(default="project")
@failing_in_words
def set_(id: str, source: str | None, pairs: tuple[str, ...], scope: Scoped) -> None:
    """Override module ID."""
    from amplifier.settings.documents import parse_value
    from amplifier.settings.writing import set_key
    from amplifier.trust.store import keeping_trust

    if source is None and not pairs:
        raise click.UsageError("There is nothing to override. Give --source or --config.")
    with keeping_trust(scope.file):
        if source is not None:
            set_key(scope.file, ["overrides", id, "source"], source)
        for pair in pairs:
            key, separator, value = pair.partition("=")
            if not separator or not key:
                raise click.UsageError(f"{pair!r} has no value. Write it as `key=value`.")
            keys = ["overrides", id, "config", *key.split(".")]
            set_key(scope.file, keys, parse_value(value))
    click.echo(f"Set in {scope.file}.")


@override.command()
@click.argument("id")
@scope_options(default="project")
@failing_in_words
def remove(id: str, scope: Scoped) -> None:
    """Remove the override of module ID from a scope."""
    from amplifier.settings.writing import unset_key
    from amplifier.trust.store import keeping_trust

    with keeping_trust(scope.file):
        if not unset_key(scope.file, ["overrides", id]):
            raise Failure(f"{scope.file} overrides no module {id!r}. See `override list`.")
    click.echo(f"Removed from {scope.file}.")


@override.command("list")
@format_options
@failing_in_words
def list_(as_json: bool) -> None:
    """List all overrides."""
    from amplifier.cli.common import echo_json
    from amplifier.cli.config import _harmless
    from amplifier.settings.scopes import load_settings

    found = _harmless(load_settings().value("overrides") or {}, [])
    if as_json:
        echo_json(found)
        return
    for id, each in found.items():
        click.echo(f"{id}  {each}")
