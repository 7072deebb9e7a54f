"""Questions about callables: is it async, and would this call fit?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["accepts", "is_async_callable", "parameter_count", "required_positional"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def is_async_callable(candidate: object) -> bool:
    """Whether calling it gives a coroutine: async functions, methods and `__call__`."""
    if inspect.iscoroutinefunction(candidate):
        return True
    return inspect.iscoroutinefunction(getattr(candidate, "__call__", None))  # noqa: B004


def accepts(candidate: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether `candidate(*args, **kwargs)` fits its signature; True if it has none to read."""
    try:
        signature = inspect.signature(candidate)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def parameter_count(candidate: Callable[..., Any]) -> int:
    """How many parameters it names, `*args` and `**kwargs` counting as one each."""
    return sum(name != "self" for name in inspect.signature(candidate).parameters)


def required_positional(candidate: Callable[..., Any]) -> list[str]:
    """Names of the parameters a caller must pass by position."""
    return [
        each.name
        for each in inspect.signature(candidate).parameters.values()
        if each.kind in _POSITIONAL and each.default is each.empty
    ]
