"""`amplifier config`: see, explain and change settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.common import (
    Failure,
    Scoped,
    failing_in_words,
    scope_options,
    session_option,
)

if TYPE_CHECKING:
    from amplifier.settings.scopes import Said


@click.group()
def config() -> None:
    """See and change settings, and where each comes from.

    Scopes, the most specific first: session, local (.amplifier/settings.local.yaml),
    project (.amplifier/settings.yaml), global (~/.amplifier/settings.yaml).
    """


@config.command()
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print a single JSON document.")
@session_option
@failing_in_words
def show(key: str | None, as_json: bool, session_dir: Path | None) -> None:
    """Print the settings in effect, or those below KEY."""
    from amplifier.settings.scopes import load_settings, split_key

    keys = split_key(key) if key else []
    value = load_settings(session_dir=session_dir).value(*keys)
    if value is None:
        raise Failure(f"Nothing is set at {key!r}. See `amplifier config show`.")
    _print(_harmless(value, keys), as_json)


@config.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print a single JSON document.")
@session_option
@failing_in_words
def explain(key: str, as_json: bool, session_dir: Path | None) -> None:
    """Say which file and line decides KEY, and which ones lose."""
    from amplifier.settings.scopes import load_settings, split_key

    keys = split_key(key)
    said = load_settings(session_dir=session_dir).explain(*keys)
    if not said:
        raise Failure(f"No file says anything about {key!r}. The default applies.")
    if as_json:
        _print([_as_dict(each, keys) for each in said], as_json=True)
        return
    for each in said:
        verdict = "in effect" if each.is_in_effect else "overridden"
        value = _one_line(_harmless(each.value, keys))
        click.echo(f"{verdict:<11}{each.scope:<9}{each.origin}  {value}")


@config.command("set")
@click.argument("key")
@click.argument("value")
@scope_options(default="global")
@session_option
@failing_in_words
def set_(key: str, value: str, scope: Scoped, session_dir: Path | None) -> None:
    """Give KEY a VALUE, written as YAML: `5`, `true`, `[a, b]`, `{$append: [c]}` or text."""
    from amplifier.settings.documents import parse_value
    from amplifier.settings.scopes import split_key
    from amplifier.settings.writing import set_key
    from amplifier.trust.store import keeping_trust

    file = _file(scope, session_dir)
    with keeping_trust(file):
        set_key(file, split_key(key), parse_value(value))
    click.echo(f"Set in {file}.")


@config.command()
@click.argument("key")
@scope_options(default="global")
@session_option
@failing_in_words
def unset(key: str, scope: Scoped, session_dir: Path | None) -> None:
    """Remove KEY from one scope; what a less specific one says is then in effect."""
    from amplifier.settings.scopes import split_key
    from amplifier.settings.writing import unset_key
    from amplifier.trust.store import keeping_trust

    file = _file(scope, session_dir)
    with keeping_trust(file):
        was_there = unset_key(file, split_key(key))
    if not was_there:
        raise Failure(f"{key!r} is not set in {file}. See `config explain`.")
    click.echo(f"Removed from {file}.")


@config.command()
@scope_options(default="global")
@failing_in_words
def edit(scope: Scoped) -> None:
    """Open the file of a scope in your editor; it is kept only if it can be used."""
    from amplifier.files import write_atomically
    from amplifier.settings.documents import decoded, parse, read_file
    from amplifier.settings.schema import check_settings
    from amplifier.trust.store import keeping_trust

    old = decoded(read_file(scope.file) or b"", str(scope.file))
    new = click.edit(old, extension=".yaml", require_save=False)
    if new is None or new == old:
        click.echo("Nothing was changed.")
        return
    check_settings(parse(new, str(scope.file)))
    with keeping_trust(scope.file):
        write_atomically(scope.file, new, 0o600)
    click.echo(f"Saved {scope.file}.")


def _file(scope: Scoped, session_dir: Path | None) -> Path:
    return scope.file if session_dir is None else session_dir / "settings.yaml"


def _as_dict(said: Said, keys: list[str]) -> dict[str, Any]:
    return {
        "scope": said.scope,
        "file": said.origin.file,
        "line": said.origin.line,
        "value": _harmless(said.value, keys),
        "in_effect": said.is_in_effect,
    }


def _harmless(value: Any, keys: list[str]) -> Any:
    """A value without secrets, also if it is itself one."""
    from amplifier_core.utils import redact_secrets

    if not keys:
        return redact_secrets(value)
    return redact_secrets({keys[-1]: value})[keys[-1]]


def _print(value: Any, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    sys.stdout.write(text.removesuffix("...\n"))


def _one_line(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
