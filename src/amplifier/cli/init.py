"""`amplifier init`: from a key to an answer, in one step."""

from __future__ import annotations

from typing import Any

import click

from amplifier.cli.common import Failure, Scoped, failing_in_words, scope_options
from amplifier.cli.provider_setup import (
    Offer,
    ask_for,
    has_terminal,
    keep_first,
    keep_key,
    key_for,
    offers_of,
    try_entry,
)


@click.command()
@click.option("-p", "--provider", "type", help="Provider to set up; otherwise what has a key.")
@click.option("-m", "--model", help="Model to use; asked for if there is a terminal.")
@scope_options(default="global")
@failing_in_words
def init(type: str | None, model: str | None, scope: Scoped) -> None:
    """Choose the model that answers: find keys, try them, list their models, remember one.

    Without a terminal it takes the first provider whose key works, and its default model.
    """
    from amplifier.providers import detected, module_named

    modules = [module_named(type)] if type else detected() or [_asked_type()]
    entries: list[dict[str, Any]] = [{"module": each, "config": {}} for each in modules]
    if model:
        for entry in entries:
            entry["config"]["default_model"] = model
    key = key_for(entries[0]) if len(entries) == 1 else None
    offers = _offers(entries)
    asks = model is None and has_terminal()
    chosen = ask_for(offers) if asks else offers[0]
    keep_key(key)
    config = {"default_model": chosen.model} if chosen.model else {}
    keep_first({"module": chosen.module, "config": config}, scope)
    click.echo('Try it: amplifier run "What is in this folder?"')


def _offers(entries: list[dict[str, Any]]) -> list[Offer]:
    """The models of all providers that work; a word about each that does not.

    Raises:
        ProviderProblem: none works.
    """
    from amplifier.output import note
    from amplifier.providers import ProviderProblem

    found: list[Offer] = []
    problems: list[ProviderProblem] = []
    for entry in entries:
        try:
            found += offers_of(entry, try_entry(entry))
        except ProviderProblem as error:
            problems.append(error)
    if not found:
        raise problems[0]
    for each in problems:
        note(str(each))
    return found


def _asked_type() -> str:
    from amplifier.plans import CREDENTIALS, installed_providers

    known = [each.removeprefix("provider-") for each in CREDENTIALS]
    if not has_terminal():
        raise Failure(
            f"No key was found. Set one, as ANTHROPIC_API_KEY, or name a provider with "
            f"--provider. Known: {', '.join(known)}."
        )
    offered = [each for each in known if f"provider-{each}" in installed_providers()]
    answer = click.prompt("Which provider", type=click.Choice(offered), err=True)
    return f"provider-{answer}"
