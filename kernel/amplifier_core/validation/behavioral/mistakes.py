"""Tells a refusal that was meant from a mistake in the code."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from ..harness import fail

__all__ = ["answer_or_refusal"]

_MISTAKES = (AttributeError, TypeError, KeyError)


async def answer_or_refusal(
    call: Awaitable[Any], mistakes: tuple[type[Exception], ...] = _MISTAKES
) -> Any:
    """What the call answered; None if it refused. An error that looks like a bug fails the test."""
    try:
        return await call
    except mistakes as error:
        fail(f"It broke with {type(error).__name__}: {error}. Check the input first.")
    except Exception:
        return None
