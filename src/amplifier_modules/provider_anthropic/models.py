"""What is known about Claude models, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from amplifier_core.models import ModelInfo

from amplifier_modules.providing.prices import Price, PriceList

from .options import AnthropicSettings

STANDARD_WINDOW = 200_000
USUAL_OUTPUT_LIMIT = 64_000
CAPABILITIES = ["streaming", "tools", "vision", "thinking", "json_mode"]


@dataclass(frozen=True)
class Facts:
    """How a model differs from others; the defaults are careful guesses for a model to come."""

    window: int = 1_000_000
    output: int = 128_000
    adapts: bool = True
    """Whether it decides itself how long to think."""
    has_budget: bool = False
    """Whether it can be told how many tokens to think."""
    always_thinks: bool = True
    samples: bool = False
    """Whether it takes `temperature` and `top_p`."""
    has_effort: bool = True
    can_be_forced: bool = True
    """Whether it can be made to call a tool."""


def _before_adaptive(output: int, *, has_effort: bool = False) -> Facts:
    return Facts(
        window=STANDARD_WINDOW,
        output=output,
        adapts=False,
        has_budget=True,
        always_thinks=False,
        samples=True,
        has_effort=has_effort,
    )


_4_6 = Facts(has_budget=True, always_thinks=False, samples=True)
_MAY_THINK = Facts(always_thinks=False)
_THINKS = Facts()
_THINKS_AND_CHOOSES = Facts(can_be_forced=False)
_UNKNOWN = Facts(window=STANDARD_WINDOW, output=USUAL_OUTPUT_LIMIT)
_OLD = _before_adaptive(32_000)
_OLDER = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet)-4(-0|-1)?$")
_FACTS = {
    "claude-haiku-4-5": _before_adaptive(64_000),
    "claude-sonnet-4-5": _before_adaptive(64_000),
    "claude-opus-4-5": _before_adaptive(64_000, has_effort=True),
    "claude-sonnet-4-6": _4_6,
    "claude-opus-4-6": _4_6,
    "claude-opus-4-7": _MAY_THINK,
    "claude-opus-4-8": _MAY_THINK,
    "claude-sonnet-5": _MAY_THINK,
    "claude-opus-5": _MAY_THINK,
    "claude-haiku-5-5": _THINKS,
    "claude-fable-5": _THINKS,
    "claude-mythos-5": _THINKS,
    "claude-sonnet-5-5": _THINKS_AND_CHOOSES,
    "claude-opus-5-5": _THINKS_AND_CHOOSES,
    "claude-fable-5-1": _THINKS_AND_CHOOSES,
    "claude-mythos-5-1": _THINKS_AND_CHOOSES,
}


def _price(into: str, out: str, read: str, written: str, written_1h: str) -> Price:
    return Price(
        input=Decimal(into),
        output=Decimal(out),
        cache_read=Decimal(read),
        cache_write=Decimal(written),
        cache_write_1h=Decimal(written_1h),
    )


_OPUS_4 = _price("5", "25", "0.50", "6.25", "10")
_SONNET_4 = _price("3", "15", "0.30", "3.75", "6")
_LARGEST = _price("10", "50", "1", "12.50", "20")
_HAIKU_5_5 = _price("0.10", "0.50", "0.01", "0.125", "0.20")
_HAIKU_5_5_LONG = _price("0.50", "2.50", "0.05", "0.625", "1")
_LARGEST_1 = _price("10", "50", "0.25", "12.50", "20")

PRICES = PriceList(
    as_of=date(2026, 11, 18),
    prices={
        "claude-haiku-4-5": _price("1", "5", "0.10", "1.25", "2"),
        "claude-haiku-5-5": _HAIKU_5_5.model_copy(
            update={"long_from": 100_000, "long": _HAIKU_5_5_LONG}
        ),
        "claude-sonnet-4-5": _SONNET_4,
        "claude-sonnet-4-6": _SONNET_4,
        "claude-sonnet-5": _price("2", "10", "0.20", "2.50", "4"),
        "claude-sonnet-5-5": _price("2", "10", "0.10", "2.50", "4"),
        "claude-opus-4-5": _OPUS_4,
        "claude-opus-4-6": _OPUS_4,
        "claude-opus-4-7": _OPUS_4,
        "claude-opus-4-8": _OPUS_4,
        "claude-opus-5": _OPUS_4,
        "claude-opus-5-5": _price("4", "20", "0.20", "5", "8"),
        "claude-fable-5": _LARGEST,
        "claude-fable-5-1": _LARGEST_1,
        "claude-mythos-5": _LARGEST,
        "claude-mythos-5-1": _LARGEST_1,
    },
)
_UNDATED = re.compile(r"[-@]\d{8}$")


def facts_of(model: str) -> Facts:
    name = _UNDATED.sub("", model)
    if name in _FACTS:
        return _FACTS[name]
    return _OLD if _OLDER.match(name) else _UNKNOWN


def output_limit(model: str, settings: AnthropicSettings) -> int:
    return settings.max_tokens or min(facts_of(model).output, USUAL_OUTPUT_LIMIT)


def window(known: int, settings: AnthropicSettings) -> int:
    """The window to tell contexts: more than the standard one only if that is wanted."""
    return known if settings.enable_1m_context else min(known, STANDARD_WINDOW)


def model_info(
    model: str,
    settings: AnthropicSettings,
    price: Price | None,
    *,
    name: str | None = None,
    limits: Mapping[str, int | None] | None = None,
) -> ModelInfo:
    """A model as the contract describes it; `limits` are those that the vendor told."""
    facts, told = facts_of(model), limits or {}
    return ModelInfo(
        id=model,
        display_name=name or model,
        context_window=window(told.get("window") or facts.window, settings),
        max_output_tokens=told.get("output") or facts.output,
        capabilities=list(CAPABILITIES),
        pricing=price.pricing() if price else None,
    )
