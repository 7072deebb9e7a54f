"""What components may import: WASI without a way to sleep, and the kernel for orchestrators."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from wasmtime import StoreContext, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Linker, LinkerInstance

from . import calling
from .calling import Err
from .running import NO_FINALIZER, current_call, error_pointer

KERNEL = "amplifier:modules/kernel-service@"
KERNEL_FUNCTIONS = (
    "execute-tool",
    "complete-with-provider",
    "emit-hook",
    "get-messages",
    "add-message",
    "get-capability",
    "register-capability",
)
_CLOCK = "wasi:clocks/monotonic-clock@"


def define(linker: Linker, wanted: Iterable[str]) -> None:
    """Add to `linker` what WASI as it comes does not offer, or offers too freely."""
    linker.allow_shadowing = True
    for name in wanted:
        if name.startswith(KERNEL):
            with linker.root() as root, root.add_instance(name) as kernel:
                for number, function in enumerate(KERNEL_FUNCTIONS):
                    _add_kernel_function(kernel, number, function)
        elif name.startswith(_CLOCK):
            with linker.root() as root, root.add_instance(name) as clock:
                _add_clock(clock)


# -- the kernel -----------------------------------------------------------------------


def _add_kernel_function(kernel: LinkerInstance, number: int, name: str) -> None:
    encoded = name.encode()
    calling.raise_failure(
        ffi.wasmtime_component_linker_instance_add_func(
            kernel.ptr(), encoded, len(encoded), _on_import, number, NO_FINALIZER
        )
    )


# The linker's own way to add a function converts bytes one at a time, and it keeps an
# exception where other threads find it.
@ffi.wasmtime_component_func_callback_t  # type: ignore[untyped-decorator]
def _on_import(
    number: Any, context: Any, kind: Any, given: Any, count: Any, answers: Any, expected: Any
) -> int:
    try:
        function = KERNEL_FUNCTIONS[number or 0]
        request = calling.read(given[0]) if count else b""
        # An import that was declared with another type is linked all the same.
        is_bytes = isinstance(request, bytes)
        refusal = Err(f"{function}: bad request: it is no list of bytes")
        answer = current_call().ask_host(function, request) if is_bytes else refusal
        calling.write_result(answer, answers[0])
    except BaseException as error:
        return error_pointer(str(error))
    return 0


# -- the clock ------------------------------------------------------------------------


def _add_clock(clock: LinkerInstance) -> None:
    """A clock to read, and not to sleep by: the engine cannot interrupt a guest that sleeps."""
    clock.add_func("now", lambda _: time.monotonic_ns())
    clock.add_func("resolution", lambda _: 1)
    clock.add_func("subscribe-instant", _refuse_to_wait)
    clock.add_func("subscribe-duration", _refuse_to_wait)


def _refuse_to_wait(store: StoreContext, when: int) -> None:
    raise WasmtimeError("it tried to sleep, and a component may not")
