"""Turns what a script found into JSON, and takes out what differs from run to run by nature.

Both kernels' facts pass through here before they are compared.
"""

import enum
import inspect
import math
import re
import tempfile
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

_PATTERNS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?"), "<time>"),
    (re.compile(re.escape(str(Path(tempfile.gettempdir()).resolve())) + r"/[^\s'\":,]*"), "<path>"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[^\s'\":,]*"), "<path>"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
)


def plain(value: Any) -> Any:
    """`value` as JSON that tells apart what users can tell apart, such as `()` and `[]`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        return _steady(value)
    if isinstance(value, int):
        # JSON readers may turn large integers into floats.
        return value if abs(value) < 2**53 else f"int {value}"
    if isinstance(value, float):
        return value if math.isfinite(value) else f"float {value}"
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return _tagged(value)


def _tagged(value: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {type(value).__name__: sorted(map(str, value))}
    if isinstance(value, datetime | date):
        return f"{type(value).__name__} <time>"
    if isinstance(value, Decimal | bytes | Path):
        return _steady(f"{type(value).__name__} {value!s}")
    if inspect.isclass(value):
        return f"class {value.__name__}"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {_steady(str(value))}"
    if hasattr(value, "model_dump"):
        return {type(value).__name__: plain(value.model_dump())}
    return f"a {type(value).__name__}"


def _key(key: Any) -> str:
    return _steady(key) if isinstance(key, str) else f"{type(key).__name__} {key!r}"


def _steady(text: str) -> str:
    for pattern, stand_in in _PATTERNS:
        text = pattern.sub(stand_in, text)
    # Lone surrogates cannot be written to a file.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
