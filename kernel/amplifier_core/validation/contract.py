"""What a validator knows about its type of module, and the parts such knowledge is made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..coordinator import ModuleCoordinator
from .base import Severity, ValidationCheck, bad, good, named_error
from .signatures import accepts, is_async_callable

__all__ = ["Contract", "async_method", "filled_text", "missing_members"]

_ABSENT = object()


@dataclass(frozen=True)
class Contract:
    """What the instances of one module type must be like."""

    module_type: str
    label: str
    """The type as the contract is called, such as "Tool"."""
    mounted: Callable[[ModuleCoordinator], dict[str, Any]]
    """What a mount has left behind, by name."""
    missing: Callable[[Any], list[str]]
    """The members an object lacks to count as an instance at all."""
    checks: Callable[[Any], Iterable[ValidationCheck]]
    """The checks on an instance that lacks nothing."""
    nothing: str
    """What to say when nothing was mounted: what is wrong, and the call that mends it."""
    is_instance: Callable[[Any], bool] | None = None
    """Tells an instance from a cleanup among what mount() returned, if `missing` cannot."""

    may_be_returned: bool = False
    """Whether an instance that mount() returns is in its place by that."""

    def recognises(self, returned: Any) -> bool:
        """Whether what mount() returned is an instance rather than a cleanup."""
        if returned is None or inspect.isclass(returned):
            return False
        if self.is_instance is not None:
            return self.is_instance(returned)
        return not self.missing(returned)


def missing_members(instance: Any, attributes: Iterable[str], methods: Iterable[str]) -> list[str]:
    """The attributes and methods that `instance` lacks, as one writes them."""
    lacking = [each for each in attributes if _peek(instance, each) is _ABSENT]
    return lacking + [f"{each}()" for each in methods if not callable(_peek(instance, each))]


def _peek(instance: Any, attribute: str) -> Any:
    try:
        return getattr(instance, attribute, _ABSENT)
    except Exception:
        return None  # A property that raises is there; the check that reads it says so.


def filled_text(
    check: str, instance: Any, attribute: str, severity: Severity = "error"
) -> ValidationCheck:
    """Whether an attribute holds a text that is not empty."""
    try:
        value = getattr(instance, attribute)
    except Exception as error:
        text = f"Reading {attribute!r} raised {named_error(error)}."
        return bad(check, f"{text} Make it a plain attribute.")
    if isinstance(value, str) and value:
        return good(check, f"{attribute} is {value!r}.")
    found = "empty" if value == "" else f"of type {type(value).__name__}"
    return bad(check, f"{attribute!r} is {found}. Set it to a non-empty str.", severity)


def async_method(
    check: str, instance: Any, shape: str, *args: Any, **kwargs: Any
) -> ValidationCheck:
    """Whether the method in `shape`, such as "clear()", is async and takes these arguments."""
    name = shape.partition("(")[0]
    method = getattr(instance, name)
    mend = f"Write `async def {shape}`."
    if not is_async_callable(method):
        return bad(check, f"{name}() is not async. {mend}")
    if not accepts(method, *args, **kwargs):
        return bad(check, f"{name}() does not take the parameters it is called with. {mend}")
    return good(check, f"{name}() is async and takes what it is called with.")
