"""Tokens and money, in the words of the usage lines."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

# Outside of these, a number is a mistake, and might take a million digits to write.
_LEAST, _MOST = Decimal("1e-9"), Decimal("1e9")


def as_cost(value: Any) -> Decimal | None:
    """An amount, however it was written; None if it is not known or makes no sense."""
    if value is None or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= _MOST else None


def cost_text(amount: Decimal | None) -> str:
    """`?`, `$0.00`, `$1.24`, or two digits that count: `$0.0034`."""
    if amount is None:
        return "?"
    if amount < _LEAST or amount >= Decimal("0.01"):
        return f"${amount:.2f}"
    rounded = Decimal(f"{amount:.1e}")
    return f"${rounded:.{1 - rounded.adjusted()}f}"


@dataclass(slots=True)
class Spent:
    """A sum of costs, some of which may not be known."""

    known: Decimal | None = None
    has_unknown: bool = False

    def add(self, amount: Decimal | None) -> None:
        if amount is None:
            self.has_unknown = True
        else:
            self.known = (self.known or Decimal(0)) + amount

    def __str__(self) -> str:
        unknown = " + ?" if self.has_unknown and self.known is not None else ""
        return f"{cost_text(self.known)}{unknown}"


@dataclass(slots=True)
class ModelCall:
    """What is known about one answer of a model."""

    model: str = ""
    seconds: float | None = None
    usage: dict[str, Any] | None = None

    @property
    def cost(self) -> Decimal | None:
        return as_cost((self.usage or {}).get("cost_usd"))

    def learn(self, usage: Any) -> None:
        """Add what another event tells; what is known already stays."""
        fields = usage if isinstance(usage, dict) else getattr(usage, "__dict__", None)
        if isinstance(fields, dict):
            told = {key: value for key, value in fields.items() if value is not None}
            self.usage = told | (self.usage or {})

    def lines(self) -> tuple[str, str]:
        """Who answered and how long it took; what it read, wrote and cost."""
        written, read = self._count("cache_write_tokens"), self._count("cache_read_tokens")
        tokens_in, tokens_out = self._count("input_tokens") + written, self._count("output_tokens")
        cached = f" ({min(read / tokens_in, 1):.0%} cached)" if read and tokens_in else ""
        if not cached and written:
            cached = " (caching)"
        seconds = "" if self.seconds is None else f", {self.seconds:.1f} s"
        return (
            f"{self.model or 'model'}{seconds}",
            f"in {tokens_in:,}{cached} | out {tokens_out:,} | total {tokens_in + tokens_out:,}"
            f" | {cost_text(self.cost)}",
        )

    def _count(self, key: str) -> int:
        count = (self.usage or {}).get(key)
        return count if isinstance(count, int) and count > 0 else 0
