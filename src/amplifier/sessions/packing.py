"""Makes records small: large values are put beside the log, and nothing is said twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from amplifier.sessions.masking import Masker
from amplifier.sessions.record import to_json

LARGE = 65_536
"""Characters from which on a text is put beside the log."""
LARGEST_FIELD = 262_144
"""Characters of JSON from which on a whole field is, whatever it is made of."""
REF, LITERAL = "$blob", "$literal"

_MISSING = "[A value of {} bytes is missing.]"
MISSING = re.compile(re.escape(_MISSING).replace(r"\{\}", r"\w+"))
"""What stands in the place of a large value that is gone."""

Blobs = dict[str, bytes]


def packed(data: dict[str, Any], masker: Masker) -> tuple[str, Blobs]:
    """The data of a record as JSON, and the large values that it refers to by SHA-256."""
    text = to_json(data)
    is_small = len(text) <= LARGE and not ("$" in text and (REF in text or LITERAL in text))
    if is_small and not masker.finds(text):
        return text, {}
    blobs: Blobs = {}
    plain = masker.value(json.loads(text))
    small = {name: _field(_small(value, blobs), blobs) for name, value in plain.items()}
    return to_json(small), blobs


def _small(value: Any, blobs: Blobs) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LARGE else _put_aside(value, blobs, "text")
    if isinstance(value, list):
        return [_small(each, blobs) for each in value]
    if isinstance(value, dict):
        inner = {name: _small(each, blobs) for name, each in value.items()}
        return {LITERAL: inner} if REF in value or LITERAL in value else inner
    return value


def _field(value: Any, blobs: Blobs) -> Any:
    if isinstance(value, list | dict):
        text = to_json(value)
        if len(text) > LARGEST_FIELD:
            return _put_aside(text, blobs, "json")
    return value


def _put_aside(text: str, blobs: Blobs, kind: str) -> dict[str, Any]:
    content = text.encode("utf-8", "surrogatepass")
    digest = sha256(content).hexdigest()
    blobs[digest] = content
    return {REF: digest, "bytes": len(content), "as": kind}


def references(value: Any) -> Iterator[dict[str, Any]]:
    """What stands for large values in a packed one."""
    if isinstance(value, list):
        for each in value:
            yield from references(each)
    elif isinstance(value, dict):
        if REF in value:
            yield value
            return
        for each in value.get(LITERAL, value).values():
            yield from references(each)


def unpacked(value: Any, blob: Callable[[str], bytes | None]) -> Any:
    """A packed value as it was; what is gone is replaced by a text that says so."""
    if isinstance(value, list):
        return [unpacked(each, blob) for each in value]
    if not isinstance(value, dict):
        return value
    if REF in value:
        return _fetched(value, blob)
    if LITERAL in value:
        value = value[LITERAL]
    return {name: unpacked(each, blob) for name, each in value.items()}


def _fetched(reference: dict[str, Any], blob: Callable[[str], bytes | None]) -> Any:
    content = blob(reference[REF])
    if content is None:
        return _MISSING.format(reference.get("bytes"))
    text = content.decode("utf-8", "surrogatepass")
    return unpacked(json.loads(text), blob) if reference.get("as") == "json" else text


# -- messages -------------------------------------------------------------------------------


def packed_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the arguments of calls that its content has as well."""
    calls, content = message.get("tool_calls"), message.get("content")
    if not calls or not isinstance(content, list) or not isinstance(calls, list):
        return message
    inputs = _inputs(content)
    slim = [_without_arguments(call, inputs) for call in calls]
    return {**message, "tool_calls": slim}


def _without_arguments(call: Any, inputs: dict[Any, Any]) -> Any:
    if not isinstance(call, dict) or call.get("id") not in inputs or "arguments" not in call:
        return call
    if inputs[call["id"]] != call["arguments"]:
        return call
    return {name: value for name, value in call.items() if name != "arguments"}


def unpacked_message(message: dict[str, Any]) -> dict[str, Any]:
    calls, content = message.get("tool_calls"), message.get("content")
    if not isinstance(calls, list) or not isinstance(content, list):
        return message
    inputs = _inputs(content)
    whole = [
        {**call, "arguments": inputs.get(call.get("id"), {})}
        if isinstance(call, dict) and "arguments" not in call
        else call
        for call in calls
    ]
    return {**message, "tool_calls": whole}


def _inputs(content: list[Any]) -> dict[Any, Any]:
    return {
        block.get("id"): block.get("input")
        for block in content
        if isinstance(block, dict) and block.get("type") == "tool_call"
    }
