"""What an Ollama server says about its models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from amplifier_core.models import ModelInfo

from amplifier_modules.providing.prices import PriceList

CAPABILITIES = ["streaming", "tools", "vision", "thinking", "json_mode", "local"]
USUAL_WINDOW = 8192

# What runs on a machine of one's own has no price; `pricing` may give it one.
PRICES = PriceList(as_of=date(2026, 11, 18), prices={})

_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Facts:
    """A model as its server describes it; None is unknown."""

    window: int | None = None
    abilities: frozenset[str] | None = None

    def lacks(self, ability: str) -> bool:
        return self.abilities is not None and ability not in self.abilities

    def has(self, ability: str) -> bool:
        return self.abilities is not None and ability in self.abilities


UNKNOWN = Facts()


def read_facts(shown: Mapping[str, Any]) -> Facts:
    """From the answer to `/api/show`: the window that the model was given, else the one it has."""
    given = _NUM_CTX.search(str(shown.get("parameters") or ""))
    info = shown.get("model_info")
    lengths = [
        value
        for key, value in (info.items() if isinstance(info, dict) else ())
        if key.endswith(".context_length") and isinstance(value, int) and value > 0
    ]
    window = int(given[1]) if given else next(iter(lengths), None)
    abilities = shown.get("capabilities")
    known = frozenset(map(str, abilities)) if isinstance(abilities, list) else None
    return Facts(window, known)


def has_levels(model: str) -> bool:
    """Whether it is told in words how hard to think, and not only whether to."""
    return model.rpartition("/")[2].startswith("gpt-oss")


def can_chat(families: Iterable[str] | None) -> bool:
    return not any("bert" in family for family in families or ())


def model_info(model: str, facts: Facts, window: int, longest: int) -> ModelInfo:
    missing = {each for each in ("tools", "vision", "thinking") if facts.lacks(each)}
    return ModelInfo(
        id=model,
        display_name=model,
        context_window=window,
        max_output_tokens=longest,
        capabilities=[each for each in CAPABILITIES if each not in missing],
    )
