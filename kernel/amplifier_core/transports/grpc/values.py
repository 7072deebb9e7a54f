"""JSON text in fields of the contract: written compactly, and read with forbearance."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from typing import Any

logger = logging.getLogger("amplifier_core.loader_grpc")

MOST_INT32 = 2**31 - 1


def to_json(value: Any) -> str:
    """`value` as JSON text; None as nothing, and what JSON does not know as its text."""
    return "" if value is None else json.dumps(value, default=plain, separators=(",", ":"))


def plain(value: Any) -> Any:
    """What JSON does not know, as something it does."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)


def from_json(text: str, what: str, default: Any = None) -> Any:
    """The value of JSON text; `default` for nothing, and with a warning for no JSON."""
    if not text:
        return default
    try:
        return json.loads(text)
    except ValueError:
        logger.warning("A remote module sent %s that is no JSON; it is left out", what)
        return default


def json_object(text: str, what: str) -> dict[str, Any]:
    """The JSON object in `text`; an empty one for anything else."""
    found = from_json(text, what, {})
    if isinstance(found, dict):
        return found
    logger.warning("A remote module sent %s that is no JSON object; it is left out", what)
    return {}


def int32(value: Any) -> int:
    """A count that fits the field it is written to."""
    number = int(value or 0)
    if number > MOST_INT32:
        logger.warning("The count %d is too large for the wire; it is cut", number)
    return min(number, MOST_INT32)


def decimal_text(value: Any) -> str:
    """A number without an exponent, which not every reader of decimals knows."""
    return format(Decimal(str(value)), "f")
