"""The `amplifier` command. Commands import what they need when they run: help stays quick."""

from __future__ import annotations

import click

from amplifier import __version__

from .config import config
from .policy import policy
from .run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="amplifier")
def main() -> None:
    """An AI agent made of swappable parts.

    Try `amplifier run "What is in this folder?"`. Without any key it runs on a small
    embedded model, which is good for a demonstration and for nothing else.
    """


main.add_command(config)
main.add_command(policy)
main.add_command(run)
