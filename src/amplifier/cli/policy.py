"""`amplifier policy`: what the approval guard would say, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from amplifier.exits import FAILED

GUARD = "hooks-approval"
SHELL = "bash"
SAID = {"allow": "allowed", "ask": "asked about", "deny": "denied"}


@click.group()
def policy() -> None:
    """See what tools may do without asking you."""


@policy.command()
@click.argument("command")
@click.option(
    "--tool", default=SHELL, show_default=True, help="For another tool, COMMAND is its JSON input."
)
@click.option(
    "--config",
    "file",
    type=click.File(encoding="utf-8"),
    help=f"YAML or JSON file with the config of {GUARD}; otherwise its defaults.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a single JSON document.")
def explain(command: str, tool: str, file: Any, as_json: bool) -> None:
    """Say whether COMMAND would be allowed, asked about or denied. Nothing is run."""
    given = {"command": command} if tool == SHELL else _input(command)
    config = _config(file)
    try:
        said = _explainer()(tool, given, config)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        import json

        click.echo(json.dumps(said, indent=2))
    else:
        click.echo("\n".join(_lines(said)))


def _input(text: str) -> dict[str, Any]:
    import json

    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise click.UsageError(
            'The input of a tool is a JSON object. Write it as in \'{"file_path": "a.txt"}\'.'
        )
    return given


def _config(file: Any) -> dict[str, Any]:
    if file is None:
        return {}
    import yaml

    try:
        found = yaml.safe_load(file)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file.name!r} is neither YAML nor JSON. Correct it.") from error
    if not isinstance(found, dict):
        raise click.UsageError(f"{file.name!r} holds no keys. Write the config of {GUARD} there.")
    return found


def _explainer() -> Callable[..., dict[str, Any]]:
    """The `explain` that the installed guard has next to its `mount`."""
    from importlib.metadata import entry_points

    for point in entry_points(group="amplifier.modules", name=GUARD):
        module = sys.modules[point.load().__module__]
        found: Callable[..., dict[str, Any]] | None = getattr(module, "explain", None)
        if found is not None:
            return found
    click.echo(f"No module {GUARD!r} that can explain itself is installed. Install one.", err=True)
    sys.exit(FAILED)


def _lines(said: dict[str, Any]) -> list[str]:
    head = [f"{SAID[said['verdict']]}: {said['reason']}", f"rule: {said['rule']}"]
    commands = [_command_line(each) for each in said["commands"]]
    parts = [
        f"  {each['verdict']:<6}{each['part'] or said['tool']}  ({each['rule']})"
        for each in said["parts"]
    ]
    return [
        *map(_printable, [*head, *(["read as:"] if commands else []), *commands, "parts:", *parts])
    ]


def _command_line(command: dict[str, Any]) -> str:
    words = " ".join("<unknown>" if each is None else repr(each) for each in command["argv"])
    details = [
        f"in {' > '.join(command['inside'])}" if command["inside"] else "",
        f"sets {', '.join(command['sets'])}" if command["sets"] else "",
        f"redirects {' '.join(command['redirects'])}" if command["redirects"] else "",
    ]
    return f"  {words or '(no command)'}" + "".join(f"  [{each}]" for each in details if each)


def _printable(line: str) -> str:
    """A line without characters that would steer the terminal."""
    return "".join(each if each.isprintable() else "?" for each in line)
