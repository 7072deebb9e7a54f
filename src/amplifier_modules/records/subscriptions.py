"""Which events there are to listen to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplifier_core import hooks as kernel_hooks

DECLARED = "observability.events"

# Kernels of the public contract know no name for all events.
any_event: str | None = getattr(kernel_hooks, "ANY_EVENT", None)


async def declared_events(coordinator: Any) -> list[str]:
    """The events that modules say they emit, beside the canonical ones."""
    given = [
        coordinator.get_capability(DECLARED),
        *await coordinator.collect_contributions(DECLARED),
    ]
    return list(dict.fromkeys(name for each in given for name in _names_in(each)))


def _names_in(given: Any) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, list | tuple | set | frozenset):
        yield from (each for each in given if isinstance(each, str))
