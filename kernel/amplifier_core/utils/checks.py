"""Refuses arguments of the wrong type in one wording."""

from typing import Any, TypeVar

T = TypeVar("T")


def typed(what: str, value: Any, kind: type[T]) -> T:
    """`value`, if it is a `kind`."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        raise TypeError(f"{what} must be {article} {kind.__name__}, not {type(value).__name__}.")
    return value
