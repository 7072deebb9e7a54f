"""`amplifier module`: find, add, update, examine and begin modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    Scoped,
    agree,
    echo_json,
    echo_line,
    failing_in_words,
    list_options,
    scope_options,
)
from amplifier.cli.override import override

KINDS = ("orchestrator", "provider", "tool", "context", "hook")


@click.group()
def module() -> None:
    """Modules are the parts of a session: providers, tools, hooks, loops, contexts.

    Only `add` and `update` fetch anything. What they fetch is locked by its content.
    """


module.add_command(override)


@module.command("list")
@click.option(
    "-t",
    "--type",
    "kind",
    type=click.Choice(["all", *KINDS]),
    default="all",
    help="Only modules of this type.",
)
@list_options
@failing_in_words
def list_(kind: str, listing: Listing) -> None:
    """List installed modules and those of the active bundle."""
    from amplifier.sources.listing import known_modules

    listing.print([each for each in known_modules() if kind in ("all", each["type"])], _line)


def _line(each: dict[str, Any]) -> str:
    mark = "*" if each["active"] else " "
    return f"{mark} {each['id']:<26}{each['type']:<14}{each['version']:<10}{each['from']}"


@module.command()
@click.argument("id")
@list_options
@failing_in_words
def show(id: str, listing: Listing) -> None:
    """Print what is known about one module."""
    from amplifier_core.utils.spelling import did_you_mean

    from amplifier.sources.listing import known_modules

    modules = known_modules()
    found = next((each for each in modules if each["id"] == id), None)
    if found is None:
        names = [each["id"] for each in modules]
        raise Failure(f"There is no module {id!r}. {did_you_mean(id, names, 'See `module list`.')}")
    if listing.as_json:
        echo_json(found)
    elif listing.detail == "compact":
        click.echo(_line(found))
    else:
        for key, value in found.items():
            click.echo(f"{key + ':':<10}{value}")


@module.command()
@failing_in_words
def current() -> None:
    """List the modules of the active bundle."""
    from amplifier.sources.listing import known_modules

    for each in known_modules():
        if each["active"]:
            click.echo(each["id"])


@module.command()
@click.argument("id")
@click.option(
    "-s",
    "--source",
    required=True,
    help="git+https://..., pypi:NAME==VERSION, a folder or a zip archive.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@scope_options(default="global")
@failing_in_words
def add(id: str, source: str, yes: bool, scope: Scoped) -> None:
    """Fetch module ID from its source, lock it, and make it part of sessions."""
    from amplifier_core.transports import module_type

    from amplifier.settings.writing import put_entry, set_key
    from amplifier.sources.adding import accept, changes, get_offer, lock_beside
    from amplifier.trust.store import keeping_trust

    offer = get_offer(source)
    lock = lock_beside(scope.file)
    kind = module_type(id, offer.folder)
    _tell(f"{id} ({kind}) from {offer.source.uri}", changes(lock, offer), offer.folder)
    agree("Use it?", yes)
    entry = {"module": id, "source": offer.source.uri}
    with keeping_trust(lock), keeping_trust(scope.file):
        accept(lock, offer, is_module=True)
        if kind in ("provider", "tool", "hook"):
            put_entry(scope.file, ["modules", f"{kind}s"], entry)
        elif kind in ("orchestrator", "context"):
            set_key(scope.file, ["session", kind], entry)
        else:
            set_key(scope.file, ["sources", "modules", id], offer.source.uri)
    _trust_folder(offer.folder, scope)
    click.echo(f"Added to {scope.file}.")


@module.command()
@click.argument("id")
@scope_options(default="global")
@failing_in_words
def remove(id: str, scope: Scoped) -> None:
    """Take module ID out of the settings of a scope, and out of its lock."""
    from amplifier.settings.writing import take_entry, unset_key
    from amplifier.sources.adding import lock_beside
    from amplifier.sources.listing import sources_in
    from amplifier.sources.lock import unlock_source
    from amplifier.trust.store import keeping_trust

    lock = lock_beside(scope.file)
    uri = sources_in(scope.file).get(id)
    with keeping_trust(lock), keeping_trust(scope.file):
        taken = [take_entry(scope.file, ["modules", f"{kind}s"], id) for kind in KINDS]
        taken += [unset_key(scope.file, ["sources", "modules", id])]
        if uri is not None and uri not in sources_in(scope.file).values() and lock.exists():
            unlock_source(lock, uri)
    if not any(taken):
        raise Failure(f"{scope.file} names no module {id!r}. Try another scope.")
    click.echo(f"Removed from {scope.file}.")


@module.command()
@click.argument("id", required=False)
@click.option("--check-only", is_flag=True, help="Only say what would change.")
@click.option("--rollback", is_flag=True, help="Use the content before the last update again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@scope_options(default="global")
@failing_in_words
def update(id: str | None, check_only: bool, rollback: bool, yes: bool, scope: Scoped) -> None:
    """Fetch the newest content of ID, or of all modules; see what changes before it does."""
    from amplifier.cli.updating import update_sources
    from amplifier.sources.adding import lock_beside
    from amplifier.sources.listing import sources_in

    known = sources_in(scope.file)
    if id is not None and id not in known:
        raise Failure(f"{scope.file} names no source of module {id!r}. Use `module add`.")
    wanted = {name: uri for name, uri in known.items() if id in (None, name)}
    update_sources(wanted, lock_beside(scope.file), check_only=check_only, rollback=rollback,
                   yes=yes, are_modules=True)  # fmt: skip


@module.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("-t", "--type", "kind", type=click.Choice(KINDS), help="If it does not tell.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["human", "json"]),
    default="human",
    help="For people, or one JSON document.",
)
@click.option("-b", "--behavioral", is_flag=True, help="Run the tests in its folder, too.")
@click.option("-v", "--verbose", is_flag=True, help="Print every check.")
def validate(path: Path, kind: str | None, output: str, behavioral: bool, verbose: bool) -> None:
    """Examine the module at PATH: a repository, a package folder or a file.

    A module with a `build.sh` is built first, if its sources have changed, and one that is a
    gRPC server on this machine is started for as long as it is looked at.
    """
    from amplifier_core.cli import validate as examine

    from amplifier.cli.building import made_ready

    is_json = output == "json"
    with made_ready(path):
        code = examine(path, kind, as_json=is_json, quiet=not verbose and not is_json)
    if behavioral and code == 0:
        import subprocess

        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", str(path)], check=False
        ).returncode
    sys.exit(1 if code else 0)


@module.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name")
@click.option("--transport", type=click.Choice(["python", "grpc", "rust", "wasm"]),
              default="python", show_default=True, help="How it is reached.")  # fmt: skip
@click.option("--language", help="Its language: python, go, typescript or rust.")
@failing_in_words
def new(kind: str, name: str, transport: str, language: str | None) -> None:
    """Begin a module: a folder with code, tests and a README, which validates at once.

    \b
    --transport  --language
    python       python                     in the process of the session
    grpc         python, go, typescript     a server that sessions connect to
    rust         rust, go, typescript, python  a program that sessions start
    wasm         rust, python               a component in a sandbox
    """
    from amplifier.cli.building import needed_tools
    from amplifier.cli.templates import write_module

    folder = write_module(Path.cwd(), kind, name, transport, language)
    needed = " and ".join(needed_tools(folder))
    builds = f" It builds it first, with {needed}." if needed else ""
    click.echo(f"Made {folder.name}. Try `amplifier module validate {folder.name}`.{builds}")


def _tell(title: str, changed: list[str] | None, folder: Path) -> None:
    from amplifier.sources.adding import description_of, missing_requirements

    echo_line(title)
    facts = description_of(folder)
    for key in ("version", "tools", "uses", "modules"):
        value: Any = facts.get(key)
        if value:
            text = ", ".join(value) if isinstance(value, list) else value
            echo_line(f"  {key}: {text}")
    for each in changed or []:
        if each.startswith("commit"):
            click.echo(f"  {each}")
    missing = missing_requirements(folder)
    if missing:
        echo_line(f"  not installed: {', '.join(missing)}. Install with pip.")


def _trust_folder(folder: Path, scope: Scoped) -> None:
    """Who adds a local folder to a project has seen it; others are asked."""
    from amplifier.settings.places import home
    from amplifier.sources.trees import tree_hash
    from amplifier.trust.store import trust

    if scope.scope != "global" and not folder.is_relative_to(home()):
        trust([(folder, tree_hash(folder))])
