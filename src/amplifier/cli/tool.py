"""`amplifier tool`: the tools of a bundle, listed, explained and run without a model."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    done,
    echo_json,
    failing_in_words,
    list_options,
)
from amplifier.exits import FAILED

BUNDLE = click.option("-b", "-B", "--bundle", help="Bundle to mount; otherwise the active one.")
Use = Callable[[dict[str, Any]], Awaitable[Any]]


@click.group()
def tool() -> None:
    """Look at the tools of a session, and run one without a model."""


@tool.command("list")
@BUNDLE
@list_options
@failing_in_words
def list_(bundle: str | None, listing: Listing) -> None:
    """Mount the bundle and list its tools."""

    async def look(tools: dict[str, Any]) -> list[dict[str, str]]:
        return [{"name": name, "description": each.description} for name, each in tools.items()]

    listing.print(with_tools(bundle, look), _line)


def _line(each: dict[str, Any]) -> str:
    return f"{each['name']:<16}{' '.join(each['description'].split())[:100]}"


@tool.command()
@click.argument("name")
@BUNDLE
@list_options
@failing_in_words
def info(name: str, bundle: str | None, listing: Listing) -> None:
    """Print the description and the input schema of a tool."""

    async def look(tools: dict[str, Any]) -> dict[str, Any]:
        each = _named(tools, name)
        schema = getattr(each, "input_schema", None) or {}
        return {"name": name, "description": each.description, "input_schema": schema}

    found = with_tools(bundle, look)
    if listing.as_json:
        echo_json(found)
        return
    if listing.detail == "compact":
        click.echo(_line(found))
        return
    click.echo(f"{found['name']}\n\n{found['description']}\n")
    echo_json(found["input_schema"])


@tool.command()
@click.argument("name")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@BUNDLE
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The output alone, or the whole result.",
)
@failing_in_words
def invoke(name: str, pairs: tuple[str, ...], bundle: str | None, output: str) -> None:
    """Run one tool with these inputs. You ask for it yourself: nothing is approved again."""
    from amplifier.settings.documents import parse_value

    given = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{pair!r} has no value. Write it as `key=value`.")
        given[key] = parse_value(value)

    async def run(tools: dict[str, Any]) -> Any:
        return await _named(tools, name).execute(given)

    result = with_tools(bundle, run)
    if output == "json":
        echo_json(result.model_dump(mode="json"))
    else:
        click.echo(result.get_serialized_output())
    if not result.success:
        sys.exit(FAILED)


def _named(tools: dict[str, Any], name: str) -> Any:
    from amplifier_core.utils.spelling import did_you_mean

    if name not in tools:
        advice = did_you_mean(name, tools, f"There are {', '.join(sorted(tools))}.")
        raise Failure(f"There is no tool {name!r}. {advice}")
    return tools[name]


def with_tools(bundle: str | None, use: Use) -> Any:
    """Mount what a bundle has, except what asks a model or a person, and use its tools."""
    from amplifier.bundles.planning import plan_for
    from amplifier.bundles.running import equip, filled_in
    from amplifier.logs import log_to_stderr
    from amplifier.output import note

    log_to_stderr(verbose=False)
    plan = plan_for(bundle)
    for each in plan.notes:
        note(each)
    mounts = {**filled_in({**plan.mounts, "providers": []}, plan), "hooks": []}

    async def mounted() -> Any:
        from amplifier_core import AmplifierSession

        session = AmplifierSession(mounts)
        await equip(session)
        async with session:
            failed = session.status.failed_modules or []
            for each in failed:
                note(f"{each['module_id']!r} could not be loaded: {each['error']}")
            return await use(session.coordinator.get("tools") or {})

    return done(mounted())
