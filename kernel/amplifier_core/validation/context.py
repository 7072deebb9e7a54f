"""Checks modules that keep the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..coordinator import ModuleCoordinator
from .base import ValidationCheck, bad
from .contract import Contract, async_method, missing_members
from .engine import ModuleValidator

__all__ = ["ContextValidator"]

_REQUIRED = ("add_message", "get_messages")
_WAYS_TO_COMPACT = ("get_messages_for_request", "compact")
_CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "add_message": ("add_message(self, message)", ({},)),
    "get_messages_for_request": (
        "get_messages_for_request(self, token_budget=None, provider=None)",
        (),
    ),
    "get_messages": ("get_messages(self)", ()),
    "set_messages": ("set_messages(self, messages)", ([],)),
    "clear": ("clear(self)", ()),
}


def _mounted(coordinator: ModuleCoordinator) -> dict[str, Any]:
    return coordinator.get_all("context")


def _missing(candidate: Any) -> list[str]:
    lacking = missing_members(candidate, (), _REQUIRED)
    ways = missing_members(candidate, (), _WAYS_TO_COMPACT)
    if len(ways) == len(_WAYS_TO_COMPACT):
        lacking.append(" or ".join(ways))
    return lacking


def _implements_context_interface(candidate: Any) -> bool:
    return not _missing(candidate)


def _checks(context: Any) -> Iterator[ValidationCheck]:
    for method, (shape, arguments) in _CALLS.items():
        name = f"context_{method}"
        if not missing_members(context, (), (method,)):
            yield async_method(name, context, shape, *arguments)
        else:
            text = f"There is no {method}(), so callers fall back to the older contract."
            yield bad(name, f"{text} Add `async def {shape}`.", "warning")
    if missing_members(context, (), ("get_messages_for_request",)):
        yield async_method("context_compact", context, "compact(self)")


class ContextValidator(ModuleValidator):
    """Examines a context module, of the newer contract or of the one with compact()."""

    contract = Contract(
        module_type="context",
        label="ContextManager",
        mounted=_mounted,
        missing=_missing,
        checks=_checks,
        nothing=(
            'No context was mounted. Call `await coordinator.mount("context", context)` in mount().'
        ),
    )
