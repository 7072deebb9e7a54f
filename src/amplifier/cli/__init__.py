"""The `amplifier` command. Commands import what they need when they run: help stays quick."""

from __future__ import annotations

import click

from amplifier import __version__

from .bundle import bundle
from .config import config
from .doctor import doctor
from .module import module
from .plan import plan
from .policy import policy
from .run import run
from .source import source
from .tool import tool
from .trust import trust


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="amplifier")
def main() -> None:
    """An AI agent made of swappable parts.

    Try `amplifier run "What is in this folder?"`. Without any key it runs on a small
    embedded model, which is good for a demonstration and for nothing else.
    """


for command in (bundle, config, doctor, module, plan, policy, run, source, tool, trust):
    main.add_command(command)
