"""Checks modules that listen to events."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..coordinator import ModuleCoordinator
from .base import ValidationCheck, bad, good
from .contract import Contract
from .engine import ModuleValidator
from .signatures import accepts, is_async_callable

__all__ = ["HookValidator"]

_SHAPE = "Write `async def handler(event, data)`."


def _registered(coordinator: ModuleCoordinator) -> dict[str, Any]:
    """Each handler once, however many events it listens to."""
    by_identity = {
        id(each.handler): each.handler for each in coordinator.hooks._registered_since(0)
    }
    return {f"{i}: {_label(handler)}": handler for i, handler in enumerate(by_identity.values(), 1)}


def _label(handler: Any) -> str:
    return str(getattr(handler, "__qualname__", None) or type(handler).__name__)


def _missing(candidate: Any) -> list[str]:
    return [] if callable(candidate) else ["__call__(event, data)"]


def _implements_hook_interface(candidate: Any) -> bool:
    return not _missing(candidate)


def _is_handler_object(returned: Any) -> bool:
    """A handler rather than a cleanup: an object whose call needs arguments."""
    is_function = inspect.isroutine(returned) or isinstance(returned, partial)
    return callable(returned) and not is_function and not accepts(returned)


def _checks(handler: Any) -> Iterator[ValidationCheck]:
    name = "hook_call"
    if not accepts(handler, "event", {}):
        text = f"{_label(handler)} does not take 2 parameters, the event and its data."
        yield bad(name, f"{text} {_SHAPE}")
    elif not is_async_callable(handler):
        # Sessions run it all the same, and what it returns may yet be awaitable.
        text = f"{_label(handler)} is not async, so nothing else runs while it works."
        yield bad(name, f"{text} {_SHAPE}", "warning")
    else:
        yield good(name, f"{_label(handler)} is async and takes 2 parameters.")


class HookValidator(ModuleValidator):
    """Examines a hook module."""

    contract = Contract(
        module_type="hook",
        label="HookHandler",
        mounted=_registered,
        missing=_missing,
        checks=_checks,
        nothing=(
            "No hook was registered. Call `coordinator.hooks.register(event, handler)` in mount()."
        ),
        is_instance=_is_handler_object,
    )
