"""Setting up a provider: its key, its model, whether it works, and where that is written."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from amplifier.cli.common import Failure, Scoped, done

if TYPE_CHECKING:
    from amplifier.providers import Trial

MOST_MODELS = 30


class Key(NamedTuple):
    """A key that was typed in, by the name of its variable. It is kept once it has worked."""

    name: str
    value: str


class Offer(NamedTuple):
    """A model that somebody could answer with."""

    module: str
    model: str | None
    is_default: bool

    def __str__(self) -> str:
        provider = self.module.removeprefix("provider-")
        return f"{provider}/{self.model}" if self.model else provider


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


# -- keys -------------------------------------------------------------------------------


def key_for(entry: dict[str, Any], *, anew: bool = False) -> Key | None:
    """See that there is a key: from the environment, the key file, or the person."""
    from amplifier.keys import load_keys
    from amplifier.plans import CREDENTIALS

    load_keys()
    names = CREDENTIALS.get(entry["module"], ())
    secrets = [each for each in names if each.endswith("KEY")]
    is_there = any(os.environ.get(each) for each in names) or "base_url" in entry["config"]
    if not secrets or (is_there and not anew):
        return None
    if not has_terminal():
        raise Failure(f"There is no key for {entry['module']!r}. Set {' or '.join(secrets)}.")
    value = click.prompt(f"Your key ({secrets[0]})", hide_input=True, err=True).strip()
    if not value or not value.isprintable():
        raise Failure("That is no key: it is empty, or has characters that no key has.")
    os.environ[secrets[0]] = value
    return Key(secrets[0], value)


def keep_key(key: Key | None) -> None:
    if key is not None:
        from amplifier.keys import save_key

        save_key(*key)


# -- trying and choosing ----------------------------------------------------------------


def try_entry(entry: dict[str, Any]) -> Trial:
    from amplifier.output import note
    from amplifier.providers import name_of, tried

    if has_terminal():
        note(f"Trying {name_of(entry)} ...", dim=True)
    return done(tried(entry))


def choose_model(entry: dict[str, Any], trial: Trial, *, asks: bool) -> None:
    """Put the model that is to answer into the entry."""
    offers = offers_of(entry, trial)
    if asks and has_terminal() and offers:
        entry["config"]["default_model"] = ask_for(offers).model
    elif "default_model" not in entry["config"] and trial.info.defaults.get("model"):
        entry["config"]["default_model"] = trial.info.defaults["model"]


def offers_of(entry: dict[str, Any], trial: Trial) -> list[Offer]:
    """The models of one provider, its default first."""
    default = entry["config"].get("default_model") or trial.info.defaults.get("model")
    names = list(dict.fromkeys([*([default] if default else []), *(m.id for m in trial.models)]))
    found = [Offer(entry["module"], each, each == default) for each in names[:MOST_MODELS]]
    return found or [Offer(entry["module"], None, True)]


def ask_for(offers: list[Offer]) -> Offer:
    """The one that a person chooses by number, or by name."""
    is_mixed = len({each.module for each in offers}) > 1
    for number, each in enumerate(offers, 1):
        name = str(each) if is_mixed or each.model is None else each.model
        click.echo(f"{number:>3}  {name}{'  (default)' if each.is_default else ''}", err=True)
    while True:
        said = click.prompt("Which model, by number or name", default="1", err=True).strip()
        chosen = matching(offers, said)
        if chosen is not None:
            return chosen
        click.echo(f"{said!r} is none of them, or several. Give its number.", err=True)


def matching(offers: list[Offer], said: str) -> Offer | None:
    """The offer that a number, a name or a part of a name means; None if none or several do."""
    if said.isdigit():
        return offers[int(said) - 1] if 0 < int(said) <= len(offers) else None
    exact = [each for each in offers if said in (each.model, str(each))]
    found = exact or [each for each in offers if said.lower() in str(each).lower()]
    if len(found) == 1:
        return found[0]
    modules = {each.module for each in offers}
    # A vendor lists not every model that it has.
    is_new = not found and len(modules) == 1 and said
    return Offer(modules.pop(), said, False) if is_new else None


# -- keeping ----------------------------------------------------------------------------


def config_of(pairs: tuple[str, ...]) -> dict[str, Any]:
    """The config that `--set KEY=VALUE` gives."""
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


def keep_first(entry: dict[str, Any], scope: Scoped) -> None:
    """Write the entry, in front of all others, and say so."""
    from amplifier.providers import FIRST, OTHERS, PLACE, configured, name_of, priority_of
    from amplifier.settings.writing import put_entry
    from amplifier.trust.store import keeping_trust

    entry["config"] = {**(entry.get("config") or {}), "priority": FIRST}
    with keeping_trust(scope.file):
        for each in configured((scope.scope,)):
            is_other = name_of(each) != name_of(entry)
            if is_other and priority_of(each) <= FIRST:
                config = {**(each.get("config") or {}), "priority": OTHERS}
                put_entry(scope.file, PLACE, {**each, "config": config})
        put_entry(scope.file, PLACE, entry)
    model = entry["config"].get("default_model")
    click.echo(f"{name_of(entry)} answers from now on{f', with {model}' if model else ''}.")


def entry_in(scope: Scoped, name: str) -> dict[str, Any]:
    """The provider of that name in the settings of a scope.

    Raises:
        Failure: there is none.
    """
    from amplifier.providers import configured, name_of

    for each in configured((scope.scope,)):
        if name in (name_of(each), each["module"]):
            return {**each, "config": dict(each.get("config") or {})}
    raise Failure(f"There is no provider {name!r} in {scope.file}. See `amplifier provider list`.")
