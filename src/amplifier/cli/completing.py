"""What the Tab key offers beside commands and options. Where something fails, nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Found = Iterable[tuple[str, str]]
"""Values, each with a word about it that some shells show."""
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
MOST_SESSIONS = 50


def _offering(find: Callable[[click.Context], Found]) -> Complete:
    @wraps(find)
    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            found = [*find(context)]
        except Exception:
            # A traceback in the middle of a line that is being typed helps nobody.
            return []
        return [
            CompletionItem(value, help=_plain(about))
            for value, about in found
            if value.startswith(incomplete) and _is_a_word(value)
        ]

    return complete


def _is_a_word(value: str) -> bool:
    """Whether a shell would take it as it is, and a terminal show nothing else."""
    return value.isprintable() and not set(value) & set(" '\"\\$`!*?[](){}<>|&;#~,")


def _plain(about: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in " ".join(about.split()))


@_offering
def sessions(_context: click.Context) -> Found:
    """Names of this project's sessions, and what is enough of their ids."""
    from amplifier.sessions.listing import latest
    from amplifier.sessions.places import store_of

    found = latest(store_of(Path.cwd()), MOST_SESSIONS)
    ids = [each.summary.session_id for each in found]
    for each in found:
        full, about = each.summary.session_id, each.summary.title
        short = full[:8]
        if each.summary.name:
            yield each.summary.name, about
        yield (short if sum(other.startswith(short) for other in ids) == 1 else full), about


@_offering
def providers(_context: click.Context) -> Found:
    """Providers that are set up or could be."""
    from amplifier.plans import PREFIX, installed_providers
    from amplifier.providers import configured, name_of

    known = [name_of(each) for each in configured()]
    yield from ((each, "is set up") for each in known)
    kinds = {each.removeprefix(PREFIX) for each in installed_providers()}
    yield from ((each, "is installed") for each in sorted(kinds - {*known}))


@_offering
def provider_kinds(_context: click.Context) -> Found:
    from amplifier.plans import PREFIX, installed_providers

    return [(each.removeprefix(PREFIX), "") for each in sorted(installed_providers())]


@_offering
def configured_providers(_context: click.Context) -> Found:
    from amplifier.providers import configured, name_of

    return [(name_of(each), each["module"]) for each in configured()]


@_offering
def bundles(_context: click.Context) -> Found:
    from amplifier.bundles.library import known_bundles

    names, _, _ = known_bundles()
    return [(name, uri) for name, uri in names.items()]


@_offering
def agents(context: click.Context) -> Found:
    """The agents of the bundle that the line names, or of the active one."""
    from amplifier.bundles.planning import plan_for

    found: dict[str, Any] = plan_for(context.params.get("bundle")).mounts.get("agents") or {}
    return [(name, str(each.get("description", ""))) for name, each in sorted(found.items())]


@_offering
def modules(_context: click.Context) -> Found:
    from importlib.metadata import entry_points

    return [(each.name, "") for each in sorted(entry_points(group="amplifier.modules"))]


# -- where it is offered ----------------------------------------------------------------

OPTIONS: dict[str, Complete] = {
    "bundle": bundles,
    "provider": providers,
    "resume": sessions,
    "tree": sessions,
}
"""By the name of an option, of whichever command."""
ARGUMENTS: dict[str, Complete] = {
    "resume id": sessions,
    "session id": sessions,
    "session a": sessions,
    "session b": sessions,
    "agents name": agents,
    "bundle name": bundles,
    "provider type": provider_kinds,
    "provider name": configured_providers,
    "module id": modules,
    "source id": modules,
}
"""By the first word after `amplifier` and the name of an argument."""


def offer_values(first: str, command: click.Command) -> None:
    """Let the Tab key complete the values of a command of this name, too."""
    for each in _with_subcommands(command):
        for parameter in each.params:
            _offer(first, parameter)


def _with_subcommands(command: click.Command) -> Iterable[click.Command]:
    yield command
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield from _with_subcommands(each)


def _offer(first: str, parameter: click.Parameter) -> None:
    name = str(parameter.name)
    is_argument = isinstance(parameter, click.Argument)
    found = ARGUMENTS.get(f"{first} {name}") if is_argument else OPTIONS.get(name)
    if found is not None and isinstance(parameter.type, click.types.StringParamType):
        # As if it had been given to the decorator, where it would slow down every command.
        parameter._custom_shell_complete = found
