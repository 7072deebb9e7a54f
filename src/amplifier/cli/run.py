"""`amplifier run`: one prompt, one answer."""

from __future__ import annotations

import sys
from typing import Literal

import click

OutputFormat = Literal["text", "json"]


@click.command()
@click.argument("prompt", required=False)
@click.option("-p", "--provider", help="Provider to use, as 'local' or 'provider-local'.")
@click.option("-m", "--model", help="Model of that provider; needs --provider.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="With json, stdout is a single JSON document.",
)
@click.option("--allow-partial", is_flag=True, help="Start although a module is missing.")
def run(
    prompt: str | None,
    provider: str | None,
    model: str | None,
    output_format: OutputFormat,
    allow_partial: bool,
) -> None:
    """Answer PROMPT, which is read from stdin if it is left out."""
    text = _prompt(prompt)
    if model and not provider:
        raise click.UsageError(
            "--model needs --provider, because model names are a provider's own."
        )
    # Late: the kernel and asyncio would slow down every `--help`.
    from amplifier.plans import PlanError, default_plan
    from amplifier.turns import run_turn
    from amplifier.views import view_for

    view = view_for(output_format)
    try:
        plan = default_plan(provider, model)
    except PlanError as error:
        sys.exit(view.failed(str(error)))
    sys.exit(run_turn(plan, text, view, allow_partial=allow_partial))


def _prompt(given: str | None) -> str:
    text = given if given is not None else "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise click.UsageError('There is no prompt. Write one, as in `amplifier run "Hello"`.')
    return text
