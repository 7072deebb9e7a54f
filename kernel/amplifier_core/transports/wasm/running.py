"""One call into a guest: off the event loop, with a deadline, and stopped when nobody waits.

A guest that never returns cannot be asked to stop. The engine's clock interrupts it at every
tick, and its call then says whether it may go on.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from wasmtime import Store, WasmtimeError
from wasmtime import _ffi as ffi

from .calling import Err, Ok
from .engine import TICK, clock

Host = Callable[[str, bytes], Coroutine[Any, Any, Ok | Err]]

_PATIENCE = 100 * TICK

# Calls that wait for others must not take the threads that those others need.
_leaves = ThreadPoolExecutor(32, thread_name_prefix="amplifier-wasm")
_branches = ThreadPoolExecutor(1024, thread_name_prefix="amplifier-wasm-loop")

_here = threading.local()


class Call:
    """A call that runs now, seen from the thread it runs in and from the one that waits."""

    def __init__(self, timeout: float, host: Host | None = None) -> None:
        self.stopped: str | None = None
        self._timeout = timeout
        self._deadline = 0.0
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._asked: Future[Ok | Err] | None = None
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do `work` in a thread. Who stops waiting stops the guest, too."""
        context = contextvars.copy_context()
        done = self._loop.run_in_executor(self._threads(), context.run, self._work, work)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self._cancel()
            await asyncio.wait([done], timeout=_PATIENCE)
            if done.done() and not done.cancelled():
                done.exception()
            raise

    def _threads(self) -> Executor:
        return _leaves if self._host is None else _branches

    def _work(self, work: Callable[[], Any]) -> Any:
        with clock.ticking(), self._in_this_thread():
            return work()

    @contextmanager
    def _in_this_thread(self) -> Iterator[None]:
        self._deadline = time.monotonic() + self._timeout
        _here.call = self
        try:
            yield
        finally:
            _here.call = None

    def _cancel(self) -> None:
        with self._lock:
            self.stopped = "was stopped, because nobody waits for it any more"
            if self._asked is not None:
                self._asked.cancel()

    def why_stop(self) -> str | None:
        """Asked at every tick: why the guest has to end now, if it has to."""
        if self.stopped is None and time.monotonic() > self._deadline:
            self.stopped = f"took longer than {self._timeout:g} s and was stopped"
        return self.stopped

    def ask_host(self, function: str, request: bytes) -> Ok | Err:
        """Let the host serve an import; how long that takes does not count for the guest."""
        began = time.monotonic()
        with self._lock:
            if self.stopped is not None or self._host is None:  # pragma: no cover - a race
                raise WasmtimeError(self.stopped or f"{function} is not for this module")
            serving = self._host(function, request)
            self._asked = asyncio.run_coroutine_threadsafe(serving, self._loop)
        try:
            return self._asked.result()
        except CancelledError as error:
            raise WasmtimeError(self.stopped or "the host stopped") from error
        finally:
            self._asked = None
            self._deadline += time.monotonic() - began


def current_call() -> Call:
    """The call that runs in this thread."""
    call: Call = _here.call
    return call


# -- the clock's question -------------------------------------------------------------

_GO_ON = 0


@ctypes.CFUNCTYPE(  # type: ignore[untyped-decorator]
    ctypes.c_size_t,
    ctypes.POINTER(ffi.wasmtime_context_t),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ffi.wasmtime_update_deadline_kind_t),
)
def _on_tick(context: Any, data: Any, ticks: Any, kind: Any) -> int:
    try:
        reason = current_call().why_stop()
    except BaseException as error:  # pragma: no cover - what is not timed must not go on
        reason = f"could not be timed: {error}"
    if reason is not None:
        return error_pointer(reason)
    ticks[0], kind[0] = 1, _GO_ON
    return 0


NO_FINALIZER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()


def obey_clock(store: Store) -> None:
    """Let every tick ask the current call whether the guest in `store` may go on."""
    ffi.wasmtime_store_epoch_deadline_callback(store.ptr(), _on_tick, None, NO_FINALIZER)
    store.set_epoch_deadline(1)


def error_pointer(text: str) -> int:
    """An error for the engine to own, as callbacks return it."""
    address = ctypes.cast(WasmtimeError(text)._consume(), ctypes.c_void_p).value
    return address or 0
