"""`amplifier plan`: what a session would be made of, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.common import failing_in_words, format_options

if TYPE_CHECKING:
    from amplifier.bundles.planning import Plan


@click.command()
@click.option("-B", "--bundle", help="Bundle to look at; otherwise the active one.")
@click.option("--instruction", is_flag=True, help="Print the whole instruction, too.")
@format_options
@failing_in_words
def plan(bundle: str | None, instruction: bool, as_json: bool) -> None:
    """Print the plan of a session: each part, where it is written, and its hash."""
    from amplifier.bundles.planning import plan_for
    from amplifier.output import note

    found = plan_for(bundle)
    for each in found.notes:
        note(each)
    if as_json:
        import json

        click.echo(json.dumps(_document(found), indent=2, ensure_ascii=False))
        return
    click.echo(f"bundle {found.bundle}  {found.hash}")
    for where, origin in found.origins.items():
        click.echo(f"  {where:<34}{origin}{_source(found.mounts, where)}")
    if not found.mounts.get("providers"):
        click.echo(f"  {'providers':<34}chosen at the start, by the keys in the environment")
    if instruction:
        click.echo(f"\n{found.mounts.get('instruction', '')}")


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
