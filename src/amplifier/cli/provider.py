"""`amplifier provider`: who answers, and with which key."""

from __future__ import annotations

from typing import Any

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    Scoped,
    echo_json,
    failing_in_words,
    format_options,
    list_options,
    scope_options,
)
from amplifier.cli.provider_setup import (
    choose_model,
    config_of,
    entry_in,
    keep_first,
    keep_key,
    key_for,
    try_entry,
)

SET = click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Further config.")
NEW_KEY = click.option("--new-key", is_flag=True, help="Ask for a key, although there is one.")
NO_TEST = click.option("--no-test", is_flag=True, help="Do not try whether it works.")


@click.group()
def provider() -> None:
    """Set up who answers: add, try, change, list and remove providers."""


@provider.command("list")
@list_options
@failing_in_words
def list_(listing: Listing) -> None:
    """List the providers that are set up, the one in use first, then those with a key."""
    from amplifier.providers import configured, detected, name_of

    entries = configured()
    others = [each for each in detected() if each not in [entry["module"] for entry in entries]]
    shown = [{"name": name_of(entry), **_without_secrets(entry)} for entry in entries]
    if listing.as_json:
        echo_json({"configured": shown, "with_credentials": others})
        return
    if listing.detail is not None:
        listing.print(shown, str)
        return
    for number, entry in enumerate(entries):
        model = (entry.get("config") or {}).get("default_model", "its default model")
        click.echo(f"{'*' if number == 0 else ' '} {name_of(entry):<20} {entry['module']}  {model}")
    for module in others:
        click.echo(f"  {module.removeprefix('provider-'):<20} {module}  has a key, not set up")
    if not entries and not others:
        click.echo("No provider is set up. Run `amplifier init`.", err=True)


@provider.command()
@click.argument("type", metavar="TYPE")
@click.option("--id", "name", help="Name of this one, if there are several of a type.")
@click.option("-m", "--model", help="Model to use; asked for if there is a terminal.")
@SET
@NEW_KEY
@NO_TEST
@scope_options(default="global")
@failing_in_words
def add(
    type: str,
    name: str | None,
    model: str | None,
    pairs: tuple[str, ...],
    new_key: bool,
    no_test: bool,
    scope: Scoped,
) -> None:
    """Set up a provider of TYPE, as 'anthropic' or 'ollama', and use it from now on.

    A key is asked for, or read from the environment; it is kept apart from the settings,
    in a file that only you can read. The same command again changes what was set up.
    """
    from amplifier.providers import module_named

    entry: dict[str, Any] = {"module": module_named(type), "config": config_of(pairs)}
    if name:
        entry["id"] = name
    _set_up(entry, model, new_key, no_test)
    keep_first(entry, scope)


@provider.command()
@click.argument("name")
@click.option("-m", "--model", help="Another model; asked for if nothing else is to be changed.")
@SET
@click.option("--unset", multiple=True, metavar="KEY", help="Config to take out.")
@NEW_KEY
@NO_TEST
@scope_options(default="global")
@failing_in_words
def edit(
    name: str,
    model: str | None,
    pairs: tuple[str, ...],
    unset: tuple[str, ...],
    new_key: bool,
    no_test: bool,
    scope: Scoped,
) -> None:
    """Change provider NAME: its model, its config or its key."""
    from amplifier.providers import PLACE
    from amplifier.settings.writing import put_entry
    from amplifier.trust.store import keeping_trust

    entry = entry_in(scope, name)
    for key in unset:
        if entry["config"].pop(key, None) is None:
            raise Failure(f"{name!r} has no config {key!r}. See `amplifier provider list --json`.")
    entry["config"] |= config_of(pairs)
    asks = not (model or pairs or unset or new_key)
    _set_up(entry, model, new_key, no_test, asks=asks)
    with keeping_trust(scope.file):
        put_entry(scope.file, PLACE, entry)
    click.echo(f"Changed in {scope.file}.")


@provider.command()
@click.argument("name")
@scope_options(default="global")
@failing_in_words
def use(name: str, scope: Scoped) -> None:
    """Let provider NAME, which is set up, answer from now on."""
    keep_first(entry_in(scope, name), scope)


@provider.command()
@click.argument("name")
@scope_options(default="global")
@failing_in_words
def remove(name: str, scope: Scoped) -> None:
    """Remove provider NAME from the settings; its key stays."""
    from amplifier.providers import PLACE
    from amplifier.settings.writing import take_entry
    from amplifier.trust.store import keeping_trust

    with keeping_trust(scope.file):
        gone = take_entry(scope.file, PLACE, name) or (
            take_entry(scope.file, PLACE, f"provider-{name}")
        )
    if not gone:
        raise Failure(f"There is no provider {name!r} in {scope.file}. See `provider list`.")
    click.echo(f"Removed from {scope.file}.")


@provider.command()
@click.argument("name", required=False)
@failing_in_words
def test(name: str | None) -> None:
    """Try whether provider NAME, or the one in use, answers."""
    from amplifier.providers import find, name_of

    entry = find(name)
    count = len(try_entry(entry).models)
    click.echo(f"{name_of(entry)} works: it offers {count} model{'' if count == 1 else 's'}.")


@provider.command()
@click.argument("name", required=False)
@format_options
@failing_in_words
def models(name: str | None, as_json: bool) -> None:
    """List the models that provider NAME, or the one in use, offers now."""
    from amplifier.providers import find

    trial = try_entry(find(name))
    if as_json:
        echo_json([each.model_dump(exclude_none=True) for each in trial.models])
        return
    for each in trial.models:
        click.echo(f"{each.id:<40} {each.context_window:>9,}  {each.display_name}")


def _set_up(
    entry: dict[str, Any], model: str | None, new_key: bool, no_test: bool, asks: bool = True
) -> None:
    """See that it has a key and a model and works; only then is the key kept."""
    key = key_for(entry, anew=new_key)
    if model:
        entry["config"]["default_model"] = model
    if not no_test:
        choose_model(entry, try_entry(entry), asks=asks and model is None)
    keep_key(key)


def _without_secrets(entry: dict[str, Any]) -> dict[str, Any]:
    from amplifier_core.utils.truncate import redact_secrets

    shown: dict[str, Any] = redact_secrets(entry)
    return shown
