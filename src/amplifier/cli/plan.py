"""`amplifier plan`: what a session would be made of, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.common import echo_json, failing_in_words, format_options

if TYPE_CHECKING:
    from amplifier.bundles.planning import Plan

CHARACTERS = 4


@click.command()
@click.option("-B", "--bundle", help="Bundle to look at; otherwise the active one.")
@click.option("--instruction", is_flag=True, help="Print the whole instruction, too.")
@click.option("--tokens", is_flag=True, help="Say what each part adds to every request.")
@format_options
@failing_in_words
def plan(bundle: str | None, instruction: bool, tokens: bool, as_json: bool) -> None:
    """Print the plan of a session: each part, where it is written, and its hash."""
    from amplifier.bundles.planning import plan_for
    from amplifier.output import note

    found = plan_for(bundle)
    for each in found.notes:
        note(each)
    costs = _costs(bundle, found) if tokens else {}
    if as_json:
        document = {**_document(found), **({"tokens": costs} if tokens else {})}
        echo_json(document)
        return
    if tokens:
        for name, count in sorted(costs.items(), key=lambda pair: -pair[1]):
            click.echo(f"{count:>7}  {name}")
        click.echo(f"{sum(costs.values()):>7}  in every request, at about four characters a token")
        return
    click.echo(f"bundle {found.bundle}  {found.hash}")
    for where, origin in found.origins.items():
        click.echo(f"  {where:<34}{origin}{_source(found.mounts, where)}")
    if not found.mounts.get("providers"):
        click.echo(f"  {'providers':<34}chosen at the start, by the keys in the environment")
    if instruction:
        click.echo(f"\n{found.mounts.get('instruction', '')}")


def _costs(bundle: str | None, found: Plan) -> dict[str, int]:
    """About how many tokens each part puts into every request."""
    import json

    from amplifier.bundles.format import split_context
    from amplifier.cli.tool import with_tools

    async def look(tools: dict[str, Any]) -> dict[str, str]:
        return {
            f"tool {name}": json.dumps([name, each.description, getattr(each, "input_schema", {})])
            for name, each in tools.items()
        }

    texts = {**split_context(found.mounts.get("instruction", "")), **with_tools(bundle, look)}
    return {name: -(-len(text) // CHARACTERS) for name, text in texts.items() if text}


def _document(found: Plan) -> dict[str, Any]:
    from amplifier_core.utils import redact_secrets

    return {
        "bundle": found.bundle,
        "hash": found.hash,
        "plan": redact_secrets(found.mounts),
        "origins": found.origins,
        "inputs": {path: each[1] for path, each in found.inputs.items()},
        "notes": found.notes,
    }


def _source(mounts: dict[str, Any], where: str) -> str:
    key, _, name = where.partition(".")
    entries = mounts.get(key, [])
    if key == "session":
        entry = entries.get(name)
    else:
        named = [each for each in entries if isinstance(each, dict)]
        entry = next((each for each in named if name in each.values()), None)
    source = entry.get("source") if isinstance(entry, dict) else None
    if source is None:
        return ""
    hash = mounts.get("locked", {}).get(source, {}).get("hash", "")
    return f"  from {source}{f' {hash[:19]}' if hash else ''}"
