"""Options that several commands have."""

from __future__ import annotations

import click

durability_option = click.option(
    "--durability",
    type=click.Choice(["full", "relaxed"]),
    default="full",
    show_default=True,
    envvar="AMPLIFIER_DURABILITY",
    help="What the log survives: a power failure, or only the end of the process.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
