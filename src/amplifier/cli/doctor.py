"""`amplifier doctor`: what is wrong with this installation, and how to mend it."""

from __future__ import annotations

import sys

import click

from amplifier.cli.common import echo_json, format_options
from amplifier.exits import FAILED

SIGNS = {"ok": "ok     ", "warning": "warning", "error": "error  "}


@click.command()
@format_options
def doctor(as_json: bool) -> None:
    """Check install, settings, keys, cache, lock and trust; say how to mend each."""
    from amplifier.health import examine

    found = examine()
    if as_json:
        echo_json([{"what": each.what, "state": each.state, "text": each.text} for each in found])
    else:
        for each in found:
            click.echo(f"{SIGNS[each.state]} {each.what:<10}{each.text}")
    if any(each.state == "error" for each in found):
        sys.exit(FAILED)
