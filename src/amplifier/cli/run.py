"""`amplifier run`: one prompt, one answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.options import budget_of, budget_options, durability_option
from amplifier.exits import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from amplifier.sessions.store import Durability
    from amplifier.views import OutputFormat


@click.command()
@click.argument("prompt", required=False)
@click.option("-B", "--bundle", help="Bundle to use: a name, a path or a source that was added.")
@click.option("-p", "--provider", help="Provider to use, as 'local' or 'provider-local'.")
@click.option("-m", "--model", help="Model of that provider; needs --provider.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="With json, stdout is a single JSON document.",
)
@click.option("--resume", metavar="ID", help="Go on in an earlier session; its id, or its name.")
@click.option("--no-session", is_flag=True, help="Keep no log of this turn.")
@durability_option
@budget_options
@click.option("--allow-partial", is_flag=True, help="Start although a module is missing.")
@click.option("-v", "--verbose", is_flag=True, help="Show the whole log, with tracebacks.")
def run(
    prompt: str | None,
    bundle: str | None,
    provider: str | None,
    model: str | None,
    output_format: OutputFormat,
    resume: str | None,
    no_session: bool,
    durability: Durability,
    allow_partial: bool,
    verbose: bool,
    **limits: Any,
) -> None:
    """Answer PROMPT, which is read from stdin if it is left out."""
    if model and not provider:
        raise click.UsageError(
            "--model needs --provider, because model names are a provider's own."
        )
    if resume and no_session:
        raise click.UsageError("--resume goes on with a log, and --no-session keeps none.")
    try:
        text = prompt_text(prompt)
        # Late: the kernel and asyncio would slow down every `--help`.
        from amplifier.bundles.planning import Untrusted
        from amplifier.bundles.running import plan_to_run
        from amplifier.logs import log_to_stderr
        from amplifier.plans import PlanError
        from amplifier.sessions.commands import Recording, recording_for
        from amplifier.sessions.store import StoreError
        from amplifier.settings.nodes import ConfigError
        from amplifier.turns import run_turn
        from amplifier.views import view_for

        view = view_for(output_format)
        log_to_stderr(verbose)
        try:
            recording: Recording | None = None
            if not no_session:
                recording = recording_for(resume, provider, model, durability)
                provider, model = recording.provider, recording.model
            plan = plan_to_run(bundle, provider, model)
        except (PlanError, ConfigError, Untrusted, StoreError) as error:
            view.failed(str(error))
            sys.exit(FAILED)
        sys.exit(
            run_turn(
                plan,
                text,
                view,
                allow_partial=allow_partial,
                recording=recording,
                budget=budget_of(limits),
            )
        )
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def prompt_text(given: str | None) -> str:
    text = given if given is not None else _piped()
    if not text.strip():
        raise click.UsageError('There is no prompt. Write one, as in `amplifier run "Hello"`.')
    # A shell may pass any bytes; no provider can send what is no text.
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _piped() -> str:
    """What stdin holds; nothing if it is a terminal, or closed."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")
