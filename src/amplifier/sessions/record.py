"""One line of a session's log: how it is written, and how it is told from a damaged one."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from time import time_ns
from typing import Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json

VERSION = 1
"""Of the format. Readers ignore fields they do not know; a higher version they refuse."""

_SUM = b',"sum":"'
_SUM_LENGTH = len(_SUM) + 8 + len(b'"}\n')


class BadRecord(ValueError):
    """A line that is not what was once written; the text says in which way."""


class NewerVersion(BadRecord):
    """A line that a newer program has written; this one must leave it alone."""


class Record(NamedTuple):
    """One event of a session."""

    seq: int
    ts: str
    event: str
    data: dict[str, Any]
    key: str | None
    """On the last record of an append: what tells this append from any other."""
    line: bytes
    """As it is stored, with the newline; not kept where a log is read as a whole."""
    has_references: bool = False
    """Whether `data` may stand for large values that are kept beside the log."""


def new_record(
    seq: int, event: str, data: dict[str, Any], *, key: str | None = None, ts: str | None = None
) -> Record:
    ts = ts or now()
    return Record(seq, ts, event, data, key, encode(seq, ts, event, to_json(data), key))


def encode(seq: int, ts: str, event: str, data: str, key: str | None) -> bytes:
    """A whole line; `data` is JSON already."""
    keyed = f',"key":{_quoted(key)}' if key else ""
    text = f'{{"v":{VERSION},"seq":{seq},"ts":"{ts}","event":{_quoted(event)},"data":{data}{keyed}'
    body = text.encode()
    return b'%b,"sum":"%08x"}\n' % (body, crc32(body))


def decode(line: bytes, *, keeps_line: bool = True) -> Record:
    """The record in a line that ends with a newline.

    Raises:
        BadRecord: it is torn, was changed, or comes from a newer version.
    """
    body = line[:-_SUM_LENGTH]
    if line[-_SUM_LENGTH:] != b'%b%08x"}\n' % (_SUM, crc32(body)):
        raise BadRecord(_what_is_wrong(line))
    found = _fields(line)
    if found.get("v") != VERSION:
        raise NewerVersion(f"it has version {found.get('v')!r}, and this program reads {VERSION}")
    try:
        seq, event, data = found["seq"], found["event"], found["data"]
        if seq.__class__ is int and event.__class__ is str and data.__class__ is dict:
            has_references = b"$" in line and b'"$' in line  # the first of which is quick
            kept = line if keeps_line else b""
            return Record(
                seq, str(found["ts"]), event, data, found.get("key"), kept, has_references
            )
    except KeyError:
        pass
    raise BadRecord("it lacks a field")


def _what_is_wrong(line: bytes) -> str:
    """About a line whose end is not what its beginning asks for."""
    if not line.endswith(b'"}\n'):
        return "the line is cut off"
    has_sum = line[-_SUM_LENGTH:].startswith(_SUM)
    return "its checksum does not fit" if has_sum else "it has no checksum"


def _fields(line: bytes) -> dict[str, Any]:
    try:
        found = from_json(line, cache_strings="keys")
    except ValueError:
        found = _fields_the_slow_way(line)
    if not isinstance(found, dict):
        raise BadRecord("it is no JSON object")
    return found


def _fields_the_slow_way(line: bytes) -> Any:
    """For half a surrogate pair, which only the standard library reads."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise BadRecord("it is no JSON") from error


# -- values -------------------------------------------------------------------------------


def _new_encoder() -> Callable[[Any], str]:
    """`JSONEncoder.encode`, without what that makes anew for each value."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain
    )
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the accelerator
        return encoder.encode
    quote = json.encoder.encode_basestring
    # Nothing looks for circles: a value in one is too deep.
    pieces = make(None, plain, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(pieces(value, 0))


_escaping = json.JSONEncoder(separators=(",", ":"), default=str)


def to_json(value: Any) -> str:
    """Any value as JSON that can be written as UTF-8; what has no JSON form becomes text."""
    try:
        text = _encode(value)
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair; as an escape it survives the way to the file and back.
        return _escaping.encode(_sound(value))
    except (TypeError, ValueError, RecursionError):
        return _escaping.encode(_sound(value))
    return text


def plain(value: Any) -> Any:
    """An object as what JSON knows."""
    dump = getattr(value, "model_dump", None)
    if dump is not None and not isinstance(value, type):
        return dump(exclude_none=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


_encode = _new_encoder()


def _sound(value: Any, depth: int = 0) -> Any:
    """The same with nothing in it that JSON cannot carry."""
    if depth > 60:
        return "[too deep]"
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _sound(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(each, depth + 1) for each in value]
    return _sound(plain(value), depth + 1)


@lru_cache(maxsize=256)
def _quoted(text: str) -> str:
    return json.dumps(text)


def now() -> str:
    """The time in UTC with microseconds, as ISO 8601."""
    second, rest = divmod(time_ns(), 1_000_000_000)
    return f"{_written(second)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=1)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
