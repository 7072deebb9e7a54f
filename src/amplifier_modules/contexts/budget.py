"""How many tokens a request may have."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from amplifier_modules.contexts.options import SimpleOptions

SAFETY_TOKENS = 4_096
_PLAIN = (BaseModel, dict)

logger = logging.getLogger(__name__)


async def find_budget(options: SimpleOptions, provider: Any, fallback: Callable[[], Any]) -> int:
    """Tokens for messages: what the model's window leaves, or `max_tokens`.

    Asks the provider for the model in use, then for its defaults, then `fallback()`. Each of
    them may know nothing.
    """
    share = options.output_reserve_fraction
    for ask in (
        getattr(provider, "get_model_info", None),
        getattr(provider, "get_info", None),
        fallback,
    ):
        if ask is None:
            continue
        try:
            answer = ask()
            # Looking whether it can be awaited takes longer than all the rest.
            if not isinstance(answer, _PLAIN) and inspect.isawaitable(answer):
                answer = await answer
        except Exception:
            # A provider that cannot tell its window can still answer.
            logger.debug("context.window_unknown", exc_info=True)
            continue
        found = _left_by(answer, share)
        if found is not None:
            return min(found, options.max_tokens) if options.has_own_limit else found
    return options.max_tokens


def _left_by(info: Any, output_share: float) -> int | None:
    """What the window leaves that a model's description names, itself or in its defaults."""
    limits = _reader(info)
    window = limits("context_window")
    if not isinstance(window, int):
        limits = _reader(limits("defaults"))
        window = limits("context_window")
    if not isinstance(window, int) or window <= 0:
        return None
    output = limits("max_output_tokens")
    left = window - SAFETY_TOKENS
    if isinstance(output, int):
        left -= int(output_share * output)
    # The margins are made for large windows; a small one must not be all margin.
    return left if left > window // 4 else window // 4


def _reader(of: Any) -> Callable[[str], Any]:
    """A function that gets a field of `of`, or None."""
    if isinstance(of, dict):
        return of.get
    if isinstance(of, BaseModel):
        # A model looks for absent attributes the slow way.
        return of.__dict__.get
    return lambda name: getattr(of, name, None)
