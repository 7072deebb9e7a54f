"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from amplifier.budget import Budget
    from amplifier.sessions.commands import Recording

Command = TypeVar("Command", bound=Callable[..., Any])

durability_option = click.option(
    "--durability",
    type=click.Choice(["full", "relaxed"]),
    default="full",
    show_default=True,
    envvar="AMPLIFIER_DURABILITY",
    help="What the log survives: a power failure, or only the end of the process.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")


NO_LIMIT = "none"


class _Count(click.ParamType[Any]):
    name = "count"

    def convert(self, value: Any, param: Any, context: Any) -> int | str:
        text = str(value).replace("_", "").replace(",", "")
        if text == NO_LIMIT:
            return NO_LIMIT
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            self.fail(f"{value!r} is no number from 1 on, and not {NO_LIMIT!r}.", param, context)
        return int(text)


class _Dollars(click.ParamType[Any]):
    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Decimal | str:
        if value == NO_LIMIT:
            return NO_LIMIT
        try:
            amount = Decimal(str(value).removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount <= 0:
            self.fail(f"{value!r} is no amount of money. Write it as in 0.50.", param, context)
        return amount


def budget_options(command: Command) -> Command:
    """`--max-cost`, `--max-tokens` and `--max-steps`, to be read with `budget_of`."""
    for option in (
        click.option("--max-steps", type=_Count(), help="Most model calls; or none."),
        click.option("--max-tokens", type=_Count(), help="Most tokens, in and out together."),
        click.option("--max-cost", type=_Dollars(), help="Most dollars to spend, as in 0.50."),
    ):
        command = option(command)
    return command


def session_options(command: Command) -> Command:
    """What every command has that opens a session, to be read by `prepared`."""
    bundle = "Bundle to use: a name, a path or a source that was added."
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Show the whole log, with tracebacks."),
        click.option("--allow-partial", is_flag=True, help="Start although a module is missing."),
        budget_options,
        durability_option,
        click.option("-m", "--model", help="Model of that provider; needs --provider."),
        click.option("-p", "--provider", help="Provider to use, as 'local' or 'provider-local'."),
        click.option("-B", "--bundle", help=bundle),
    ):
        command = option(command)
    return command


def new_session_options(command: Command) -> Command:
    """What a command has besides if it may begin a new session."""
    for option in (
        click.option("--no-session", is_flag=True, help="Keep no log."),
        click.option("--resume", metavar="ID", help="Go on in a session; its id, or its name."),
    ):
        command = option(command)
    return command


output_format_option = click.option(
    "--output-format",
    type=click.Choice(["text", "json", "json-trace"]),
    default="text",
    show_default=True,
    help="With json, stdout is a single JSON document; json-trace adds every tool call.",
)


def budget_of(options: dict[str, Any], plan: dict[str, Any], recording: Recording | None) -> Budget:
    """The budget of a session: of the options, else as it was before, else of the settings."""
    from amplifier.budget import Budget, Limits

    said = {key: options.get(key) for key in ("max_cost", "max_tokens", "max_steps")}
    before = recording.limits if recording else {}
    if recording is not None:
        given = {key: value for key, value in said.items() if value is not None}
        if "max_cost" in given:
            given["max_cost"] = str(given["max_cost"])
        recording.limits = before | given
    return Budget(Limits.of(said, before, plan.get("budget") or {}))
