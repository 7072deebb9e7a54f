"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from amplifier.budget import Budget

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


class _Dollars(click.ParamType[Decimal]):
    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Decimal:
        try:
            amount = Decimal(str(value).removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount <= 0:
            self.fail(f"{value!r} is no amount of money. Write it as in 0.50.", param, context)
        return amount


def budget_options(command: Command) -> Command:
    """`--max-cost`, `--max-tokens` and `--max-steps`, to be read with `budget_of`."""
    at_least_one = click.IntRange(min=1)
    for option in (
        click.option("--max-steps", type=at_least_one, help="Most model calls."),
        click.option("--max-tokens", type=at_least_one, help="Most tokens, in and out together."),
        click.option("--max-cost", type=_Dollars(), help="Most dollars to spend, as in 0.50."),
    ):
        command = option(command)
    return command


def budget_of(limits: dict[str, Any]) -> Budget | None:
    """The budget that the options ask for, if they ask for one."""
    if not any(limits.values()):
        return None
    from amplifier.budget import Budget

    return Budget(**limits)
