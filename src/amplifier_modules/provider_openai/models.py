"""What is known about OpenAI's models, and what they cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from amplifier_core.models import ModelInfo

from amplifier_modules.providing.prices import Price, PriceList, Rates

CAPABILITIES = ["streaming", "tools", "vision", "json_mode"]
STANDARD_WINDOW = 272_000
_LONG_WINDOW = 922_000


@dataclass(frozen=True)
class Facts:
    """How a model differs from others; the defaults are careful guesses for any model."""

    window: int = 128_000
    """The longest prompt."""
    output: int = 16_384
    reasons: bool | None = None
    """None if nobody knows: then it is told about reasoning only if somebody asks."""
    efforts: tuple[str, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    samples: bool | None = None
    """Whether it takes `temperature` and `top_p`; None sends them only if somebody asks."""
    researches: bool = False
    """Whether it works for minutes, so that its answer has to be fetched."""


def _reasons(*efforts: str, window: int = STANDARD_WINDOW, output: int = 128_000) -> Facts:
    return Facts(window=window, output=output, reasons=True, efforts=efforts, samples=False)


_PLAIN = Facts(reasons=False, efforts=(), samples=True)
_O = _reasons("low", "medium", "high", window=200_000, output=100_000)
_5 = _reasons("minimal", "low", "medium", "high")
_5_1 = _reasons("none", "low", "medium", "high")
_5_2 = _reasons("none", "low", "medium", "high", "xhigh")
_5_4 = replace(_5_2, window=_LONG_WINDOW)
_PRO = _reasons("medium", "high", "xhigh")
_6 = _reasons("none", "low", "medium", "high", "xhigh", "max", window=_LONG_WINDOW)
_ALWAYS_REASONS = replace(_6, efforts=_6.efforts[1:])

_FAMILIES: list[tuple[str, Facts]] = [
    (r"o\d.*deep-research", replace(_O, researches=True)),
    (r"o\d", _O),
    (r"gpt-6\.1|gpt-6-astra", _ALWAYS_REASONS),
    (r"gpt-[6-9]", _6),
    (r"gpt-5\.[45]-pro", replace(_PRO, window=_LONG_WINDOW)),
    (r"gpt-5\.2-pro", _PRO),
    (r"gpt-5-pro", replace(_5, efforts=("high",))),
    (r"gpt-5.*-chat", replace(_PLAIN, samples=None)),
    (r"gpt-5\.4-(mini|nano)", _5_2),
    (r"gpt-5\.[4-9]", _5_4),
    (r"gpt-5\.[23]", _5_2),
    (r"gpt-5\.1-codex-max", _5_2),
    (r"gpt-5\.1", _5_1),
    (r"gpt-5", _5),
    (r"gpt-4\.1", replace(_PLAIN, window=1_014_808, output=32_768)),
    (r"gpt-4o|chatgpt-4o", _PLAIN),
    (r"gpt-4-turbo", replace(_PLAIN, output=4_096)),
    (r"gpt-4", replace(_PLAIN, window=8_192, output=4_096)),
    (r"gpt-3\.5", replace(_PLAIN, window=16_385, output=4_096)),
]


def facts_of(model: str) -> Facts:
    return next((facts for family, facts in _FAMILIES if re.match(family, model)), Facts())


# -- prices -----------------------------------------------------------------------------------


def _rates(into: Decimal, out: Decimal, read: Decimal | None, written: Decimal) -> Rates:
    return Rates(input=into, output=out, cache_read=read, cache_write=written)


def _price(into: str, out: str, read: str | None = None) -> Price:
    """Writing to the cache costs nothing extra: what is written is paid as input."""
    read_rate = None if read is None else Decimal(read)
    rates = _rates(Decimal(into), Decimal(out), read_rate, Decimal(into))
    return Price(**rates.model_dump())


def _two_prices(into: str, out: str, read: str | None, *, pays_writes: bool = True) -> Price:
    """Longer prompts cost twice as much, their answers half as much again."""
    usual = Decimal(into), Decimal(out), None if read is None else Decimal(read)
    written = usual[0] * Decimal("1.25") if pays_writes else usual[0]
    long_read = None if usual[2] is None else usual[2] * 2
    long = _rates(usual[0] * 2, usual[1] * Decimal("1.5"), long_read, written * 2)
    return Price(**_rates(*usual, written).model_dump(), long_from=STANDARD_WINDOW, long=long)


# OpenAI's list for the standard tier, as genai-prices 0.2.3 and litellm 1.106.2 agree on it.
PRICES = PriceList(
    as_of=date(2026, 11, 18),
    prices={
        "gpt-3.5-turbo": _price("0.5", "1.5"),
        "gpt-4": _price("30", "60"),
        "gpt-4-turbo": _price("10", "30"),
        "gpt-4o": _price("2.5", "10", "1.25"),
        "gpt-4o-2024-05-13": _price("5", "15"),
        "gpt-4o-mini": _price("0.15", "0.6", "0.075"),
        "gpt-4.1": _price("2", "8", "0.5"),
        "gpt-4.1-mini": _price("0.4", "1.6", "0.1"),
        "gpt-4.1-nano": _price("0.1", "0.4", "0.025"),
        "gpt-5": _price("1.25", "10", "0.125"),
        "gpt-5-mini": _price("0.25", "2", "0.025"),
        "gpt-5-nano": _price("0.05", "0.4", "0.005"),
        "gpt-5-pro": _price("15", "120"),
        "gpt-5-codex": _price("1.25", "10", "0.125"),
        "gpt-5.1": _price("1.25", "10", "0.125"),
        "gpt-5.1-codex": _price("1.25", "10", "0.125"),
        "gpt-5.1-codex-max": _price("1.25", "10", "0.125"),
        "gpt-5.1-codex-mini": _price("0.25", "2", "0.025"),
        "gpt-5.2": _price("1.75", "14", "0.175"),
        "gpt-5.2-codex": _price("1.75", "14", "0.175"),
        "gpt-5.2-pro": _price("21", "168"),
        "gpt-5.3-codex": _price("1.75", "14", "0.175"),
        "gpt-5.4": _two_prices("2.5", "15", "0.25", pays_writes=False),
        "gpt-5.4-mini": _price("0.75", "4.5", "0.075"),
        "gpt-5.4-nano": _price("0.2", "1.25", "0.02"),
        "gpt-5.4-pro": _two_prices("30", "180", None, pays_writes=False),
        "gpt-5.5": _two_prices("5", "30", "0.5", pays_writes=False),
        "gpt-5.5-pro": _two_prices("30", "180", None, pays_writes=False),
        "gpt-5.6": _two_prices("4", "20", "0.4"),
        "gpt-5.6-sol": _two_prices("4", "20", "0.4"),
        "gpt-5.6-terra": _two_prices("2", "12", "0.2"),
        "gpt-5.6-luna": _two_prices("0.2", "1.2", "0.02"),
        "gpt-6-astra": _two_prices("10", "50", "1"),
        "gpt-6-sol": _two_prices("2", "10", "0.2"),
        "gpt-6-luna": _two_prices("0.1", "0.5", "0.01"),
        "gpt-6.1-sol": _two_prices("2", "10", "0.1"),
        "gpt-6.1-terra": _two_prices("1", "5", "0.05"),
        "o1": _price("15", "60", "7.5"),
        "o1-pro": _price("150", "600"),
        "o3": _price("2", "8", "0.5"),
        "o3-mini": _price("1.1", "4.4", "0.55"),
        "o3-pro": _price("20", "80"),
        "o3-deep-research": _price("10", "40", "2.5"),
        "o4-mini": _price("1.1", "4.4", "0.275"),
        "o4-mini-deep-research": _price("2", "8", "0.5"),
    },
)
NO_PRICES = PriceList(as_of=PRICES.as_of, prices={})
"""For servers of one's own: what a token costs there, nobody but the user knows."""

FEES = {"web_search_call": Decimal("0.01"), "file_search_call": Decimal("0.0025")}
"""What one use of a tool of the vendor costs besides its tokens, as of the same day."""
UNKNOWN_FEES = {"code_interpreter_call", "image_generation_call", "shell_call", "computer_call"}

# -- descriptions ---------------------------------------------------------------------------

_NOT_FOR_CHAT = (
    "audio", "babbage", "dall-e", "davinci", "embedding", "image", "instruct", "moderation",
    "realtime", "search-api", "search-preview", "sora", "transcribe", "tts", "whisper", "gpt-live",
)  # fmt: skip


def is_for_chat(model: str) -> bool:
    return not any(part in model for part in _NOT_FOR_CHAT)


def window(known: int, *, is_long: bool) -> int:
    """The window to tell contexts: the part that costs more only if that is wanted."""
    return known if is_long else min(known, STANDARD_WINDOW)


def model_info(model: str, price: Price | None, *, context_window: int, output: int) -> ModelInfo:
    """A model as the contract describes it."""
    thinks = ["thinking"] if facts_of(model).reasons else []
    return ModelInfo(
        id=model,
        display_name=model,
        context_window=context_window,
        max_output_tokens=output,
        capabilities=[*CAPABILITIES, *thinks],
        pricing=price.pricing() if price else None,
    )
