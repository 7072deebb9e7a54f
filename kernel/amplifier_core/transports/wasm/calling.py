"""Values across the border of a component, as the C interface of wasmtime holds them.

The payloads of modules are lists of bytes. There every byte is a tagged value of its own,
and wasmtime's Python package would convert them one at a time, at a microsecond each. Here
they are copied in one stride instead.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

from wasmtime import WasmtimeError
from wasmtime import _ffi as ffi

_Val: Any = ffi.wasmtime_component_val_t
_U8 = ffi.WASMTIME_COMPONENT_U8.value
_STRING = ffi.WASMTIME_COMPONENT_STRING.value
_LIST = ffi.WASMTIME_COMPONENT_LIST.value
_RECORD = ffi.WASMTIME_COMPONENT_RECORD.value
_RESULT = ffi.WASMTIME_COMPONENT_RESULT.value
_NUMBERS = {
    ffi.WASMTIME_COMPONENT_S32.value: "s32",
    ffi.WASMTIME_COMPONENT_U32.value: "u32",
    ffi.WASMTIME_COMPONENT_S64.value: "s64",
    ffi.WASMTIME_COMPONENT_U64.value: "u64",
}

_STRIDE = ctypes.sizeof(_Val)
_KIND = _Val.kind.offset
_BYTE = _Val.of.offset


class GuestRefusal(Exception):
    """The `err` of a result: the guest ran, and said no in its own words."""


class Trap(Exception):
    """The guest did not come to an end; its instance is lost."""


class Ok(NamedTuple):
    """What a host function answers: bytes, or None where there is nothing to say."""

    value: bytes | None


class Err(NamedTuple):
    """What a host function answers when it cannot do as asked."""

    text: str


# -- bytes ----------------------------------------------------------------------------


def write_bytes(payload: bytes, out: Any) -> None:
    """Make the value `out` a list of bytes."""
    out.kind = _LIST
    items = out.of.list
    ffi.wasmtime_component_vallist_new_uninit(ctypes.byref(items), len(payload))
    if _is_strided():
        if payload:
            image = _strided(payload)
            source = (ctypes.c_ubyte * len(image)).from_buffer(image)
            ctypes.memmove(items.data, source, len(image))
        return
    for index, byte in enumerate(payload):
        items.data[index].kind = _U8
        items.data[index].of.u8 = byte


def _strided(payload: bytes) -> bytearray:
    image = bytearray(len(payload) * _STRIDE)
    image[_KIND::_STRIDE] = bytes((_U8,)) * len(payload)
    image[_BYTE::_STRIDE] = payload
    return image


def _read_bytes(items: Any) -> bytes:
    if _is_strided():
        return ctypes.string_at(items.data, items.size * _STRIDE)[_BYTE::_STRIDE]
    return bytes(items.data[index].of.u8 for index in range(items.size))


@cache
def _is_strided() -> bool:
    """Whether values lie in memory as computed above; another layout is handled one by one."""
    probe = bytes((0, 1, 127, 255))
    image = (_Val * len(probe)).from_buffer_copy(_strided(probe))
    return all(
        each.kind == _U8 and each.of.u8 == byte for each, byte in zip(image, probe, strict=True)
    )


# -- values ---------------------------------------------------------------------------


def read(value: Any) -> Any:
    """A value in Python: bytes, str, int, a list, or a dict for a record.

    Raises:
        GuestRefusal: it is the `err` of a result.
        Trap: it is nothing that a module's contract knows.
    """
    kind = value.kind
    if kind == _LIST:
        items = value.of.list
        if items.size and items.data[0].kind != _U8:
            return [read(items.data[index]) for index in range(items.size)]
        return _read_bytes(items) if items.size else b""
    if kind == _RESULT:
        held = value.of.result
        inner = read(held.val.contents) if held.val else None
        if not held.is_ok:
            raise GuestRefusal(str(inner))
        return inner
    if kind == _STRING:
        return _text(value.of.string)
    if kind == _RECORD:
        record = value.of.record
        fields = (record.data[index] for index in range(record.size))
        return {_text(each.name): read(each.val) for each in fields}
    if kind in _NUMBERS:
        return getattr(value.of, _NUMBERS[kind])
    raise Trap(f"it answered with a value of the unknown kind {kind}")


def write_result(answer: Ok | Err, out: Any) -> None:
    """Make the value `out` a result, for the guest to own."""
    held = _Val()
    out.kind = _RESULT
    out.of.result.is_ok = isinstance(answer, Ok)
    if isinstance(answer, Err):
        held.kind = _STRING
        held.of.string = ffi.str_to_capi(answer.text)
    elif answer.value is not None:
        write_bytes(answer.value, held)
    else:
        out.of.result.val = None
        return
    out.of.result.val = ffi.wasmtime_component_val_new(ctypes.byref(held))


def _text(name: Any) -> str:
    return ctypes.string_at(name.data, name.size).decode(errors="replace")


# -- calls ----------------------------------------------------------------------------


def raise_failure(error: Any) -> None:
    """Raise what a function of the C interface returned, if it is an error."""
    if error:
        raise WasmtimeError._from_ptr(error)


def call(function: Any, context: Any, *payloads: bytes) -> Any:
    """Call a guest's function with lists of bytes, and read what it returns.

    Raises:
        WasmtimeError: it did not come to an end.
    """
    given, answer = (_Val * len(payloads))(), _Val()
    written = 0
    try:
        for payload in payloads:
            write_bytes(payload, given[written])
            written += 1
        error = ffi.wasmtime_component_func_call(
            ctypes.byref(function), context, given, written, ctypes.byref(answer), 1
        )
        raise_failure(error)
    finally:
        for index in range(written):
            ffi.wasmtime_component_val_delete(ctypes.byref(given[index]))
    try:
        return read(answer)
    finally:
        ffi.wasmtime_component_val_delete(ctypes.byref(answer))
