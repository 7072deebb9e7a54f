"""`amplifier chat`: a conversation at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.options import budget_of, budget_options, durability_option
from amplifier.exits import FAILED

if TYPE_CHECKING:
    from amplifier.sessions.store import Durability


@click.command()
@click.option("-B", "--bundle", help="Bundle to use: a name, a path or a source that was added.")
@click.option("-p", "--provider", help="Provider to use, as 'local' or 'provider-local'.")
@click.option("-m", "--model", help="Model of that provider; needs --provider.")
@click.option("--resume", metavar="ID", help="Go on in an earlier session; its id, or its name.")
@click.option("--no-session", is_flag=True, help="Keep no log of the conversation.")
@durability_option
@budget_options
@click.option("--allow-partial", is_flag=True, help="Start although a module is missing.")
@click.option("-v", "--verbose", is_flag=True, help="Show the whole log, with tracebacks.")
def chat(
    bundle: str | None,
    provider: str | None,
    model: str | None,
    resume: str | None,
    no_session: bool,
    durability: Durability,
    allow_partial: bool,
    verbose: bool,
    **limits: Any,
) -> None:
    """Talk with the agent. Without a command, `amplifier` does the same.

    Enter sends, Ctrl-J begins a new line. What you send while the agent works steers it.
    Ctrl-C stops it after the running step, twice at once. Ctrl-D ends the chat; /help lists
    what else you can say.
    """
    if model and not provider:
        raise click.UsageError(
            "--model needs --provider, because model names are a provider's own."
        )
    if resume and no_session:
        raise click.UsageError("--resume goes on with a log, and --no-session keeps none.")
    # Late: the kernel and asyncio would slow down every `--help`.
    from amplifier.bundles.planning import Untrusted
    from amplifier.bundles.running import plan_to_run
    from amplifier.chat.opening import run_chat
    from amplifier.logs import log_to_stderr
    from amplifier.plans import PlanError
    from amplifier.sessions.commands import Recording, recording_for
    from amplifier.sessions.store import StoreError
    from amplifier.settings.nodes import ConfigError

    log_to_stderr(verbose)
    try:
        recording: Recording | None = None
        if not no_session:
            recording = recording_for(resume, provider, model, durability)
            provider, model = recording.provider, recording.model
        plan = plan_to_run(bundle, provider, model)
    except (PlanError, ConfigError, Untrusted, StoreError) as error:
        click.echo(f"amplifier: {error}", err=True)
        sys.exit(FAILED)
    sys.exit(
        run_chat(plan, allow_partial=allow_partial, recording=recording, budget=budget_of(limits))
    )
