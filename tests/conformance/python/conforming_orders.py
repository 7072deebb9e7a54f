"""Texts that begin with `!` are orders: they let the suite try out what goes wrong."""

import asyncio
import os
from typing import Any


class Failure(Exception):
    """What `!fail` asks for."""


class Orders:
    """Carries them out, and counts the calls that were cancelled while they waited."""

    def __init__(self) -> None:
        self._cancelled = 0

    async def obey(self, text: str) -> str | None:
        """What the order wants to be answered; None if it is the usual."""
        order, _, rest = text.partition(" ")
        match order:
            case "!fail":
                raise Failure(rest)
            case "!crash":
                os._exit(3)
            case "!cancelled":
                return str(self._cancelled)
            case "!large":
                return "x" * int(rest)
            case "!sleep":
                await self._sleep(float(rest))
        return None

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self._cancelled += 1
            raise


def number(config: dict[str, Any], key: str, default: int) -> int:
    """A whole number above 0.

    Raises:
        ValueError: it is something else.
    """
    value = config.get(key, default)
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{key} is {value!r}. Use a whole number above 0.")
    return value
