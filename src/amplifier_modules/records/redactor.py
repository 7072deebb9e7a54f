"""Masks secrets and personal data in text and in whatever an event carries.

Most events carry none. So everything is searched in one go first, and only if that search
finds a reason is the data walked through and copied where something has to be masked.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from amplifier_modules.records.detectors import Detector, Rule
from amplifier_modules.records.known import KnownSecrets
from amplifier_modules.records.naming import holds_secret, is_ordinary, sensitivity
from amplifier_modules.records.scanner import Scanner, is_blob, lowered, spans

MASKS: dict[Rule, str] = {"secrets": "[REDACTED:SECRET]", "pii-basic": "[REDACTED:PII]"}
TOO_DEEP = "[REDACTED:DEPTH]"
DEEPEST = 60
SHORTEST_TEXT = 6
# Made by the kernel, and what files and readers go by.
UNTOUCHED = frozenset({"session_id", "parent_id", "timestamp", "parallel_group_id"})

_PLAIN = (int, float, bool, type(None))
_Marked = tuple[int, int, Rule]


class Suspicion(NamedTuple):
    """What a text, or all texts of an event, may contain."""

    detectors: Sequence[Detector] = ()
    needles: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.detectors or self.needles)


class Redactor:
    """Masks what its rules cover, except at the paths of its allow list.

    Known secrets are masked at those paths as well: they cannot be there by mistake.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = ("secrets",),
        allowlist: Iterable[str] = (),
        known: KnownSecrets | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.allowlist = frozenset(allowlist)
        self.known = KnownSecrets() if known is None else known
        self.hides_named = "secrets" in self.rules
        self._scanner = Scanner(self.rules)

    def redact(self, data: dict[str, Any]) -> tuple[dict[str, Any], list[Rule]]:
        """The data with all of it masked, and the rules that made it necessary.

        Without a reason, the data itself. Otherwise a copy of what had to change; the
        rest is shared.
        """
        found = _Gathered(self.hides_named)
        found.look_at_fields(data)
        suspicion = self._suspicion("\n".join(found.texts), found.blobs)
        if not suspicion and not found.has_reason:
            return data, []
        walk = _Walk(self, suspicion)
        cleaned = walk.fields(data)
        return (cleaned, sorted(walk.rules)) if walk.rules else (data, [])

    def redact_text(self, text: str, keep: int | None = None) -> str:
        """The first `keep` characters of a text, masked.

        What begins among them and ends behind them is masked as a whole.
        """
        end = len(text) if keep is None else keep
        suspicion = self._suspicion(text, [])
        return _masked(text, _marked(text, suspicion), end) if suspicion else text[:end]

    def _suspicion(self, text: str, blobs: list[str]) -> Suspicion:
        needles = [
            needle
            for needle in self.known.needles
            if needle in text or any(needle in blob for blob in blobs)
        ]
        return Suspicion(self._scanner.suspects(text), needles)


class _Gathered:
    """All texts in a payload, and whether one of its names holds a secret."""

    def __init__(self, hides_named: bool) -> None:
        self.texts: list[str] = []
        self.blobs: list[str] = []
        self.has_reason = False
        self._hides_named = hides_named
        self._seen: set[int] = set()

    def look_at_fields(self, data: dict[str, Any]) -> None:
        for key, value in data.items():
            if key not in UNTOUCHED:
                self._field(key, value, 1)

    def _field(self, key: Any, value: Any, depth: int) -> None:
        if key.__class__ is str:
            if self._hides_named and sensitivity(key) != "no":
                self.has_reason = True
            elif not is_ordinary(key):
                self.texts.append(key)
        self._look(value, depth)

    def _look(self, value: Any, depth: int) -> None:
        kind = value.__class__
        if kind is str:
            if len(value) >= SHORTEST_TEXT:
                (self.blobs if is_blob(value) else self.texts).append(value)
        elif kind not in _PLAIN and id(value) not in self._seen:
            self._seen.add(id(value))
            if depth > DEEPEST:
                self.has_reason = True
            else:
                self._look_into(value, depth + 1)

    def _look_into(self, value: Any, depth: int) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                self._field(key, each, depth)
        elif isinstance(value, list | tuple | set | frozenset):
            for each in value:
                self._look(each, depth)
        elif isinstance(value, str | bytes | bytearray | BaseException):
            self.texts.append(_as_text(value))
        elif (fields := _fields_of(value)) is not None:
            for key, each in fields.items():
                self._field(key, each, depth)


class _Walk:
    """One pass through a payload that has something to mask."""

    def __init__(self, redactor: Redactor, suspicion: Suspicion) -> None:
        self.rules: set[Rule] = set()
        self._suspicion = suspicion
        self._at_allowed = Suspicion((), suspicion.needles)
        self._allowlist = redactor.allowlist
        self._hides_named = redactor.hides_named
        # Copies by the identity of the original, so that what contains itself ends.
        self._copies: dict[int, Any] = {}

    def fields(self, data: dict[str, Any]) -> dict[str, Any]:
        made = {}
        for key, value in data.items():
            if key in UNTOUCHED:
                made[key] = value
            else:
                made[self._key(key, False)] = self._field(key, value, str(key), False, 1)
        return made

    def _key(self, key: Any, allowed: bool) -> Any:
        return self._text(key, allowed) if key.__class__ is str else key

    def _field(self, key: Any, value: Any, path: str, allowed: bool, depth: int) -> Any:
        allowed = allowed or path in self._allowlist
        if self._hides_named and not allowed and key.__class__ is str:
            extent = sensitivity(key)
            if extent == "all" or (extent == "text" and isinstance(value, list | tuple)):
                return self._all_hidden(key, value, path, depth)
            if extent == "text" and self._is_hidden(key, value):
                return self._hide()
        return self._value(value, path, allowed, depth)

    def _is_hidden(self, key: str, value: Any) -> bool:
        is_plain = isinstance(value, str | bytes | int | float)
        return is_plain and value not in MASKS.values() and holds_secret(key, value)

    def _hide(self) -> str:
        self.rules.add("secrets")
        return MASKS["secrets"]

    def _all_hidden(self, key: str, value: Any, path: str, depth: int) -> Any:
        """What is below the name of a collection of secrets: its shape, and nothing in it."""
        if isinstance(value, dict) and depth <= DEEPEST:
            return {
                inner: each
                if f"{path}.{inner}" in self._allowlist
                else self._all_hidden(key, each, f"{path}.{inner}", depth + 1)
                for inner, each in value.items()
            }
        if isinstance(value, list | tuple) and depth <= DEEPEST:
            return [
                self._all_hidden(key, each, f"{path}[{index}]", depth + 1)
                for index, each in enumerate(value)
            ]
        if value is None or isinstance(value, bool) or value == "" or value in MASKS.values():
            return value
        return self._hide()

    def _value(self, value: Any, path: str, allowed: bool, depth: int) -> Any:
        kind = value.__class__
        if kind is str:
            return self._text(value, allowed)
        if kind in _PLAIN:
            return value
        if id(value) in self._copies:
            return self._copies[id(value)]
        if depth > DEEPEST:
            self.rules.add("secrets")
            return TOO_DEEP
        if isinstance(value, dict):
            return self._dict(value, path, allowed, depth + 1)
        if isinstance(value, list):
            return self._list(value, path, allowed, depth + 1)
        return self._other(value, path, allowed, depth + 1)

    def _dict(self, value: dict[Any, Any], path: str, allowed: bool, depth: int) -> Any:
        made = self._copies[id(value)] = {}
        for key, each in value.items():
            place = f"{path}.{key}"
            made[self._key(key, allowed)] = self._field(key, each, place, allowed, depth)
        return made

    def _list(self, value: list[Any], path: str, allowed: bool, depth: int) -> Any:
        made: list[Any] = []
        self._copies[id(value)] = made
        made += self._items(value, path, allowed, depth)
        return made

    def _items(self, value: Iterable[Any], path: str, allowed: bool, depth: int) -> list[Any]:
        made = []
        for index, each in enumerate(value):
            place = f"{path}[{index}]"
            made.append(self._value(each, place, allowed or place in self._allowlist, depth))
        return made

    def _other(self, value: Any, path: str, allowed: bool, depth: int) -> Any:
        if isinstance(value, tuple | set | frozenset):
            items = self._items(value, path, allowed, depth)
            named = hasattr(value, "_fields")
            return type(value)(*items) if named else type(value)(items)
        if isinstance(value, str | bytes | bytearray | BaseException):
            text = _as_text(value)
            masked = self._text(text, allowed)
            if masked == text:
                return value
            return masked.encode() if isinstance(value, bytes | bytearray) else masked
        fields = _fields_of(value)
        return value if fields is None else self._object(value, fields, path, allowed, depth)

    def _object(
        self, value: Any, fields: dict[str, Any], path: str, allowed: bool, depth: int
    ) -> Any:
        """A copy of a model or dataclass with the fields that had to change."""
        self._copies[id(value)] = value
        changed = {}
        for key, each in fields.items():
            new = self._field(key, each, f"{path}.{key}", allowed, depth)
            if new is not each and new != each:
                changed[key] = new
        if not changed:
            return value
        if isinstance(value, BaseModel):
            return value.model_copy(update=changed)
        made = copy.copy(value)
        for key, each in changed.items():
            object.__setattr__(made, key, each)
        return made

    def _text(self, text: str, allowed: bool) -> str:
        suspicion = self._at_allowed if allowed else self._suspicion
        if len(text) < SHORTEST_TEXT or not suspicion:
            return text
        marked = _marked(text, suspicion)
        self.rules.update(rule for _, _, rule in marked)
        return _masked(text, marked, len(text)) if marked else text


def _as_text(value: str | bytes | bytearray | BaseException) -> str:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return str.__str__(value)
    try:
        return f"{type(value).__name__}: {value}"
    except Exception:
        return type(value).__name__


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a model or dataclass; other objects are nobody's to look into."""
    if isinstance(value, BaseModel):
        return {**value.__dict__, **(value.__pydantic_extra__ or {})}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    return None


def _marked(text: str, suspicion: Suspicion) -> list[_Marked]:
    """What to mask, in order."""
    found: list[_Marked] = []
    for needle in suspicion.needles:
        at = text.find(needle)
        while at >= 0:
            found.append((at, at + len(needle), "secrets"))
            at = text.find(needle, at + len(needle))
    if suspicion.detectors and not is_blob(text):
        low = lowered(text)
        for detector in suspicion.detectors:
            found += [(start, end, detector.rule) for start, end in spans(text, low, detector)]
    return sorted(found)


def _masked(text: str, marked: list[_Marked], end: int) -> str:
    """`text` up to `end` with the marked places masked; of two that overlap, as one."""
    pieces, done = [], 0
    for start, stop, rule in marked:
        if start >= end:
            break
        if start >= done:
            pieces += [text[done:start], MASKS[rule]]
        done = max(done, stop)
    pieces.append(text[done:end])
    return "".join(pieces)
