"""What a call costs. A price that nobody knows makes a cost of None, never of zero."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from amplifier_core.message_models import Usage
from amplifier_core.models import Pricing
from pydantic import BaseModel, ConfigDict, Field

_MILLION = Decimal(1_000_000)
_DATE_AT_END = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class Rates(BaseModel):
    """US dollars for a million tokens of each kind; None is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cache_read: Decimal | None = Field(default=None, ge=0)
    cache_write: Decimal | None = Field(default=None, ge=0)
    cache_write_1h: Decimal | None = Field(default=None, ge=0)

    def pricing(self) -> Pricing:
        """The same in the words of the contract."""
        return Pricing(
            input_per_million=float(self.input),
            output_per_million=float(self.output),
            cache_read_per_million=_float(self.cache_read),
            cache_write_per_million=_float(self.cache_write),
        )


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


class Price(Rates):
    """The rates of a model, and others for prompts of more than `long_from` tokens."""

    long_from: int | None = None
    long: Rates | None = None

    def rates_for(self, prompt_tokens: int) -> Rates | None:
        if self.long_from is None or prompt_tokens <= self.long_from:
            return self
        return self.long


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a vendor counted. The kinds do not overlap: `input` was neither read nor written."""

    input: int = 0
    output: int = 0
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int = 0
    """The part of `cache_write` that is kept for an hour."""
    reasoning: int | None = None
    fees: Decimal = Decimal(0)
    """What costs dollars and no tokens, such as a search."""

    def usage(self, price: Price | None) -> Usage:
        """As the contract wants it: input includes what was read, writes come on top."""
        into = self.input + (self.cache_read or 0)
        return Usage(
            input_tokens=into,
            output_tokens=self.output,
            total_tokens=into + (self.cache_write or 0) + self.output,
            reasoning_tokens=self.reasoning,
            cache_read_tokens=self.cache_read,
            cache_write_tokens=self.cache_write,
            cost_usd=self.cost(price),
        )

    def cost(self, price: Price | None) -> Decimal | None:
        read, written = self.cache_read or 0, self.cache_write or 0
        rates = price.rates_for(self.input + read + written) if price else None
        if rates is None:
            return None
        parts = (
            (self.input, rates.input),
            (self.output, rates.output),
            (read, rates.cache_read),
            (written - self.cache_write_1h, rates.cache_write),
            (self.cache_write_1h, rates.cache_write_1h),
        )
        total = self.fees * _MILLION
        for count, rate in parts:
            if count and rate is None:
                return None
            total += count * (rate or Decimal(0))
        return total / _MILLION


@dataclass(frozen=True)
class PriceList:
    """The prices of a vendor as they were on a day."""

    as_of: date
    prices: Mapping[str, Price]

    def find(self, model: str, overrides: Mapping[str, Price]) -> Price | None:
        """The price of `model`, else of the same model without the date in its name."""
        undated = _DATE_AT_END.sub("", model)
        for known in (overrides, self.prices):
            for name in (model, undated):
                if name in known:
                    return known[name]
        return None


class Tally:
    """The cost of a session so far; unknown from the first call of unknown cost on."""

    def __init__(self) -> None:
        self._total: Decimal | None = Decimal(0)

    def add(self, cost: Decimal | None) -> None:
        known = self._total is not None and cost is not None
        self._total = self._total + cost if known else None  # type: ignore[operator]

    def contribution(self) -> dict[str, Decimal | None]:
        """The answer to whoever collects `session.cost`."""
        return {"cost_usd": self._total}
