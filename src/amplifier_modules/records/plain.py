"""Turns whatever an event carries into JSON of a limited size."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time
from enum import Enum
from typing import Any

DEEPEST = 40
LONGEST_KEY = 200
LONGEST_NUMBER = 4096
# What a detector sees beyond the place where a text is cut.
MARGIN = 4096
PRICE_OF_A_VALUE = 8

_OPAQUE = (type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType)

RedactText = Callable[[str, int], str]


class Plainer:
    """Makes one payload plain. Texts that have to be cut are masked first.

    A text keeps `longest_text` characters, and all together have `room` for.
    """

    def __init__(self, longest_text: int, room: int, redact_text: RedactText, margin: int) -> None:
        self._longest = longest_text
        self._room = room
        self._redact_text = redact_text
        self._margin = max(MARGIN, margin)
        self._inside: set[int] = set()

    def fields(self, data: Mapping[Any, Any]) -> dict[str, Any]:
        return self._mapping(data, 0)

    def _value(self, value: Any, depth: int) -> Any:
        kind = value.__class__
        if kind is str:
            return self._text(value)
        self._room -= PRICE_OF_A_VALUE
        if value is None or kind is bool:
            return value
        if kind is int or kind is float:
            return _number(value)
        return self._inner(value, depth)

    def _inner(self, value: Any, depth: int) -> Any:
        if id(value) in self._inside:
            return "[contains itself]"
        if depth > DEEPEST:
            return f"[deeper than {DEEPEST} levels]"
        self._inside.add(id(value))
        try:
            if isinstance(value, dict):
                return self._mapping(value, depth)
            if isinstance(value, list | tuple):
                return self._items(value, len(value), depth)
            return self._object(value, depth)
        except Exception:  # whatever a foreign object does when it is looked at
            return f"[{type(value).__name__} that cannot be shown]"
        finally:
            self._inside.discard(id(value))

    def _text(self, text: str) -> str:
        length, most = len(text), min(self._longest, max(self._room, 0))
        if length <= most:
            self._room -= length
            return text
        self._room -= most
        kept = self._redact_text(text[: most + self._margin], most)
        return f"{kept}... [cut, {length} characters in all]"

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, each in list(value.items()):
            if self._room <= 0:
                made["..."] = f"[cut, {len(value)} keys in all]"
                break
            made[self._key(key)] = self._value(each, depth + 1)
        return made

    def _key(self, key: Any) -> str:
        text = key if key.__class__ is str else _text_of(key)
        self._room -= len(text)
        if len(text) <= LONGEST_KEY:
            return text
        return f"{self._redact_text(text[: LONGEST_KEY + self._margin], LONGEST_KEY)}..."

    def _items(self, items: Iterable[Any], length: int, depth: int) -> list[Any]:
        made: list[Any] = []
        for each in items:
            if self._room <= 0:
                made.append(f"[cut, {length} items in all]")
                break
            made.append(self._value(each, depth + 1))
        return made

    def _object(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            return self._value(value.value, depth + 1)
        simple = _simple(value)
        if simple is not None:
            return self._value(simple, depth)
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, Set | Sequence):
            return self._items(value, len(value), depth)
        fields = _fields_of(value)
        return self._text(_text_of(value)) if fields is None else self._value(fields, depth)


def _number(value: int | float) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    # Python refuses to write out integers that are too long.
    bits = value.bit_length()
    return value if bits <= LONGEST_NUMBER else f"[integer of {bits} bits]"


def _simple(value: Any) -> str | int | float | None:
    """What a single value that JSON does not have is written as."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_as_text(bytes(value))
    return _text_of(value) if isinstance(value, BaseException) else None


def _bytes_as_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{len(value)} bytes]"


def _text_of(value: Any) -> str:
    try:
        text = str(value)
        return f"{type(value).__name__}: {text}" if isinstance(value, BaseException) else text
    except Exception:
        return f"[{type(value).__name__} that cannot be shown]"


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of an object: of its dump, else its public attributes, if it has any."""
    if isinstance(value, _OPAQUE):
        return None
    try:
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            dumped = dump()
            if isinstance(dumped, dict):
                return dumped
        if dataclasses.is_dataclass(value):
            return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    except Exception:
        return _attributes(value)
    return _attributes(value)


def _attributes(value: Any) -> dict[str, Any] | None:
    try:
        named = vars(value)
    except TypeError:
        return None
    return {name: each for name, each in named.items() if not name.startswith("_")} or None
