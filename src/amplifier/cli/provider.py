"""`amplifier provider` and `amplifier init`: who answers, and with which key."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from amplifier.cli.common import (
    Failure,
    Scoped,
    done,
    echo_json,
    failing_in_words,
    format_options,
    scope_options,
)

MOST_MODELS = 30


@click.group()
def provider() -> None:
    """Set up who answers: add, try, list and remove providers."""


@provider.command("list")
@format_options
@failing_in_words
def list_(as_json: bool) -> None:
    """List the providers that are set up, the one in use first, then those with a key."""
    from amplifier.providers import configured, detected, name_of

    entries = configured()
    others = [each for each in detected() if each not in [entry["module"] for entry in entries]]
    if as_json:
        shown = [{"name": name_of(entry), **_without_secrets(entry)} for entry in entries]
        echo_json({"configured": shown, "with_credentials": others})
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
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Further config.")
@click.option("--no-test", is_flag=True, help="Do not try whether it works.")
@scope_options(default="global")
@failing_in_words
def add(
    type: str,
    name: str | None,
    model: str | None,
    pairs: tuple[str, ...],
    no_test: bool,
    scope: Scoped,
) -> None:
    """Set up a provider of TYPE, as 'anthropic' or 'ollama', and use it from now on.

    A key is asked for, or read from the environment; it is kept apart from the settings,
    in a file that only you can read. The same command again changes what was set up.
    """
    from amplifier.providers import module_named

    entry: dict[str, Any] = {"module": module_named(type), "config": _config(pairs)}
    if name:
        entry["id"] = name
    _ask_for_key(entry)
    if model:
        entry["config"]["default_model"] = model
    if not no_test:
        _try_and_choose(entry, asks=model is None)
    _keep(entry, scope)


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
    trial = _tried(entry)
    click.echo(f"{name_of(entry)} works: it offers {len(trial.models)} models.")


@provider.command()
@click.argument("name", required=False)
@format_options
@failing_in_words
def models(name: str | None, as_json: bool) -> None:
    """List the models that provider NAME, or the one in use, offers now."""
    from amplifier.providers import find

    trial = _tried(find(name))
    if as_json:
        echo_json([each.model_dump(exclude_none=True) for each in trial.models])
        return
    for each in trial.models:
        click.echo(f"{each.id:<40} {each.context_window:>9,}  {each.display_name}")


@click.command()
@click.option("-p", "--provider", "type", help="Provider to set up; otherwise what has a key.")
@click.option("-m", "--model", help="Model to use; asked for if there is a terminal.")
@scope_options(default="global")
@failing_in_words
def init(type: str | None, model: str | None, scope: Scoped) -> None:
    """Set up the first provider: find keys, choose a model, try it.

    Without a terminal it takes the first provider that has a key, and its default model.
    """
    from amplifier.providers import detected, module_named

    found = [module_named(type)] if type else detected()
    if not found:
        found = [_asked_type()]
    entry: dict[str, Any] = {"module": _chosen(found), "config": {}}
    _ask_for_key(entry)
    if model:
        entry["config"]["default_model"] = model
    _try_and_choose(entry, asks=model is None)
    _keep(entry, scope)
    click.echo('Try it: amplifier run "What is in this folder?"')


# -- asking -----------------------------------------------------------------------------


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked_type() -> str:
    from amplifier.plans import CREDENTIALS, installed_providers

    known = [each.removeprefix("provider-") for each in CREDENTIALS]
    if not _has_terminal():
        raise Failure(
            f"No key was found. Set one, as ANTHROPIC_API_KEY, or name a provider with "
            f"--provider. Known: {', '.join(known)}."
        )
    offered = [each for each in known if f"provider-{each}" in installed_providers()]
    answer = click.prompt("Which provider", type=click.Choice(offered), err=True)
    return f"provider-{answer}"


def _chosen(modules: list[str]) -> str:
    if len(modules) == 1 or not _has_terminal():
        return modules[0]
    for number, each in enumerate(modules, 1):
        click.echo(f"{number:>3}  {each.removeprefix('provider-')}", err=True)
    count = click.IntRange(1, len(modules))
    chosen: int = click.prompt("Which one answers", type=count, default=1, err=True)
    return modules[chosen - 1]


def _ask_for_key(entry: dict[str, Any]) -> None:
    """See that there is a key: from the environment, the key file, or the person."""
    from amplifier.keys import load_keys, save_key
    from amplifier.plans import CREDENTIALS

    load_keys()
    names = CREDENTIALS.get(entry["module"], ())
    secrets = [each for each in names if each.endswith("KEY")]
    if not secrets or any(os.environ.get(each) for each in names) or "base_url" in entry["config"]:
        return
    if not _has_terminal():
        raise Failure(f"There is no key for {entry['module']!r}. Set {' or '.join(secrets)}.")
    value = click.prompt(f"Your key ({secrets[0]})", hide_input=True, err=True)
    save_key(secrets[0], value)
    os.environ[secrets[0]] = value.strip()


def _try_and_choose(entry: dict[str, Any], *, asks: bool) -> None:
    trial = _tried(entry)
    default = entry["config"].get("default_model") or trial.info.defaults.get("model")
    ids = [each.id for each in trial.models]
    if asks and _has_terminal() and ids:
        for number, each in enumerate(ids[:MOST_MODELS], 1):
            click.echo(f"{number:>3}  {each}{'  (default)' if each == default else ''}", err=True)
        said = click.prompt("Which model, by number or name", default=default or ids[0], err=True)
        default = ids[int(said) - 1] if said.isdigit() and 0 < int(said) <= len(ids) else said
    if default:
        entry["config"]["default_model"] = default


def _tried(entry: dict[str, Any]) -> Any:
    from amplifier.providers import tried

    return done(tried(entry))


# -- keeping ----------------------------------------------------------------------------


def _config(pairs: tuple[str, ...]) -> dict[str, Any]:
    from amplifier.settings.documents import parse_value

    config: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{pair!r} is no config. Write it as in --set timeout=60.")
        if "key" in key.lower() or "token" in key.lower() or "secret" in key.lower():
            raise click.UsageError(f"{key!r} looks like a secret. Set a variable for it instead.")
        config[key] = parse_value(value)
    return config


def _keep(entry: dict[str, Any], scope: Scoped) -> None:
    """Write the entry, in front of all others."""
    from amplifier.providers import FIRST, OTHERS, PLACE, configured, name_of, priority_of
    from amplifier.settings.writing import put_entry
    from amplifier.trust.store import keeping_trust

    entry["config"]["priority"] = FIRST
    with keeping_trust(scope.file):
        for each in configured((scope.scope,)):
            is_other = name_of(each) != name_of(entry)
            if is_other and priority_of(each) <= FIRST:
                config = {**(each.get("config") or {}), "priority": OTHERS}
                put_entry(scope.file, PLACE, {**each, "config": config})
        put_entry(scope.file, PLACE, entry)
    model = entry["config"].get("default_model")
    click.echo(f"{name_of(entry)} answers from now on{f', with {model}' if model else ''}.")


def _without_secrets(entry: dict[str, Any]) -> dict[str, Any]:
    from amplifier_core.utils.truncate import redact_secrets

    shown: dict[str, Any] = redact_secrets(entry)
    return shown
