"""What is known about Gemini models, and what they cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from amplifier_core.models import ModelInfo

from amplifier_modules.providing.prices import Price, PriceList

CAPABILITIES = ["streaming", "tools", "vision", "thinking", "json_mode"]
WINDOW = 1_048_576
OUTPUT = 65_536

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_NEWEST = (99, 0)
_BEFORE_THINKING = (2, 0)


@dataclass(frozen=True)
class Facts:
    """How a model differs from others."""

    has_level: bool = False
    """Whether it is told in words how hard to think."""
    has_minimal: bool = False
    budget: tuple[int, int] | None = None
    """The fewest and most tokens for thinking, if it is told in tokens."""
    can_rest: bool = False
    """Whether its thinking can be switched off."""
    samples: bool = True
    """Whether it takes `temperature` and `top_p`."""
    samples_freely: bool = True
    """Whether it does well with another temperature than its own."""
    mixes: bool = False
    """Whether it takes a format for the answer beside tools, and pictures in tool results."""
    wants_signatures: bool = False
    """Whether it refuses a past call without a signature."""

    @property
    def thinks(self) -> bool:
        return self.has_level or self.budget is not None


def facts_of(model: str) -> Facts:
    name = model.rpartition("/")[2]
    version = _version(name)
    if version >= (3, 0):
        return Facts(
            has_level=True,
            has_minimal=version < (3, 7) and "pro" not in name,
            samples=version < (3, 6) and not name.startswith("gemini-3.5-flash-lite"),
            samples_freely=False,
            mixes=True,
            wants_signatures=True,
        )
    if version == (2, 5):
        return Facts(budget=_budget(name), can_rest="pro" not in name)
    return Facts()


def _version(name: str) -> tuple[int, int]:
    """Names without a number, such as `gemini-flash-latest`, mean the newest model."""
    found = _VERSION.match(name)
    if found:
        return int(found[1]), int(found[2] or 0)
    return _NEWEST if name.startswith("gemini-") else _BEFORE_THINKING


def _budget(name: str) -> tuple[int, int]:
    if "pro" in name:
        return 128, 32_768
    return (512, 24_576) if "lite" in name else (0, 24_576)


# -- prices: ai.google.dev/gemini-api/docs/pricing, standard tier ---------------------------


def _price(into: str, out: str, read: str) -> Price:
    return Price(input=Decimal(into), output=Decimal(out), cache_read=Decimal(read))


def _with_long(short: Price, long: Price) -> Price:
    return short.model_copy(update={"long_from": 200_000, "long": long})


_PRO_2_5 = _with_long(_price("1.25", "10", "0.125"), _price("2.50", "15", "0.25"))
_PRO_3_1 = _with_long(_price("2", "12", "0.20"), _price("4", "18", "0.40"))
_INTRODUCTORY = _price("0.75", "3.75", "0.075")
_REGULAR = _price("1.50", "7.50", "0.15")


def prices_on(day: date) -> PriceList:
    """Some prices are introductory; the day when they end was announced with them."""
    flash = _INTRODUCTORY if day < date(2027, 1, 1) else _REGULAR
    is_new = day < date(2026, 12, 1)
    prices = {
        "gemini-2.5-pro": _PRO_2_5,
        "gemini-2.5-flash": _price("0.30", "2.50", "0.03"),
        "gemini-2.5-flash-lite": _price("0.10", "0.40", "0.01"),
        "gemini-3-flash-preview": _price("0.50", "3", "0.05"),
        "gemini-3.1-flash-lite": _price("0.25", "1.50", "0.025"),
        "gemini-3.1-pro-preview": _PRO_3_1,
        "gemini-3.5-flash": _price("1.50", "9", "0.15"),
        "gemini-3.5-flash-lite": _price("0.30", "2.50", "0.03"),
        "gemini-3.6-flash": flash,
        "gemini-3.7-flash": flash,
        "gemini-3.8-flash": flash,
        "gemini-4-argon": _price("2", "10", "0.10") if is_new else _price("4", "20", "0.20"),
    }
    return PriceList(as_of=date(2026, 11, 18), prices=prices)


def model_info(
    model: str,
    price: Price | None,
    *,
    name: str | None = None,
    window: int | None = None,
    output: int | None = None,
    thinks: bool | None = None,
) -> ModelInfo:
    """A model as the contract describes it; what the vendor told wins."""
    can_think = facts_of(model).thinks if thinks is None else thinks
    return ModelInfo(
        id=model,
        display_name=name or model,
        context_window=window or WINDOW,
        max_output_tokens=output or OUTPUT,
        capabilities=[each for each in CAPABILITIES if can_think or each != "thinking"],
        pricing=price.pricing() if price else None,
    )
