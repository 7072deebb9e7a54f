"""The `amplifier` command. Commands import what they need when they run: help stays quick."""

from __future__ import annotations

import click

from amplifier import __version__

from .approve import approve
from .bundle import bundle
from .chat import chat
from .completion import completion
from .config import config
from .doctor import doctor
from .module import module
from .plan import plan
from .policy import policy
from .provider import init, provider
from .run import run
from .session import continue_, resume, session
from .source import source
from .tool import tool
from .trust import trust
from .version import version


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="amplifier")
@click.pass_context
def main(context: click.Context) -> None:
    """An AI agent made of swappable parts. Without a command it begins a chat.

    Try `amplifier run "What is in this folder?"`. Without any key it runs on a small
    embedded model, which is good for a demonstration and for nothing else.
    """
    if context.invoked_subcommand is None:
        context.invoke(chat)


COMMANDS = (
    *(run, chat, continue_, resume, session),
    *(init, provider, approve, policy, trust),
    *(bundle, config, doctor, module, plan, source, tool),
    *(completion, version),
)
for command in COMMANDS:
    main.add_command(command)
