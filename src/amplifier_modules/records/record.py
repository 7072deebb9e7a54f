"""The log record: what each line of a log consists of.

This file is the schema. `docs/reference/log.md` describes it and is tested against it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from time import gmtime, strftime, time
from typing import Any

SCHEMA: dict[str, str] = {"name": "amplifier.log", "ver": "1.0.0"}

FIELDS: dict[str, str] = {
    "ts": "when it was written: UTC, ISO 8601, with milliseconds",
    "lvl": "`DEBUG`, `INFO`, `WARNING`, `ERROR`, or what the event gave as its `lvl`",
    "schema": "name and version of this schema",
    "event": "name of the event",
}
"""The fields that every record begins with."""

LIFTED: dict[str, str] = {
    "session_id": "the session",
    "status": "how it went",
    "duration_ms": "how long it took",
    "module": "the module concerned",
    "component": "the part of the module",
    "error": "what went wrong; usually with `type` and `msg`",
    "request_id": "the model call that it belongs to",
    "span_id": "the span of a trace",
    "parent_span_id": "the span around it",
    "redaction": "`applied` is true if something was masked, `rules` tells by which",
}
"""The fields of an event that stand beside `data`, where the event has them."""

_STREAMS = re.compile(r"provider:stream|.*[:_](?:delta|chunk)")
_PIECES = frozenset({"text", "delta", "thinking", "content", "arguments", "partial_json", "token"})
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode
_encode_ascii = json.JSONEncoder(allow_nan=False).encode
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def record(event: str, level: str, data: dict[str, Any]) -> dict[str, Any]:
    """One record. `data` is the plain payload of the event; it is used up."""
    made: dict[str, Any] = {"ts": now(), "lvl": level, "schema": SCHEMA, "event": event}
    data.pop("lvl", None)
    for name in LIFTED:
        if name in data:
            value = data.pop(name)
            if value is not None:
                made[name] = value
    made["data"] = data
    return made


def level_of(event: str, data: dict[str, Any]) -> str:
    given = data.get("lvl")
    level = given.upper() if isinstance(given, str) and given else "INFO"
    if level == "DEBUG":
        return level
    failed = data.get("status") == "error" or data.get("error") is not None or "error" in event
    return "ERROR" if failed else level


def line(made: dict[str, Any]) -> bytes:
    """A record as a line of its own, for readers that split at any line end of Unicode too."""
    text = _encode(made)
    if text.isascii():
        return f"{text}\n".encode("ascii")
    for character, escaped in _LINE_ENDS.items():
        text = text.replace(character, escaped)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair; as an escape it survives the way to the file and back.
        return f"{_encode_ascii(made)}\n".encode("ascii")


def now() -> str:
    moment = time()
    return f"{_to_the_second(int(moment))}.{int(moment % 1 * 1e3):03d}+00:00"


@lru_cache(maxsize=1)
def _to_the_second(second: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))


@lru_cache(maxsize=1024)
def is_stream(event: str) -> bool:
    """Whether an event carries a piece of a text that comes whole in a later one."""
    return _STREAMS.fullmatch(event) is not None


def without_pieces(value: Any) -> Any:
    """A streamed payload with the lengths of its pieces of text for the pieces.

    A secret that the stream has cut in two could not be recognised in them.
    """
    if not isinstance(value, dict):
        return value
    return {
        name: f"[{len(each)} characters]"
        if name in _PIECES and isinstance(each, str)
        else without_pieces(each)
        for name, each in value.items()
    }
