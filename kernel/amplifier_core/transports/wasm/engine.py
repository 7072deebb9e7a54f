"""The one engine of this process: compiles components, and lets its clock tick for their calls."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from weakref import WeakValueDictionary

from wasmtime import Config, Engine
from wasmtime.component import Component

from .compile_cache import CompileCache

TICK = 0.01
_LINGER = 1.0

_compiled: WeakValueDictionary[str, Component] = WeakValueDictionary()
_compiling = threading.Lock()


@cache
def engine() -> Engine:
    config = Config()
    config.epoch_interruption = True
    return Engine(config)


def compiled(code: bytes) -> Component:
    """The component, compiled once in this process, and once at all where there is a cache.

    Takes seconds for a large component: not for the event loop's thread.

    Raises:
        WasmtimeError: the code is no component.
    """
    digest = hashlib.sha256(code).hexdigest()
    with _compiling:
        component = _compiled.get(digest)
        if component is None:
            component = CompileCache().component(engine(), digest, code)
            _compiled[digest] = component
        return component


class _Clock:
    """Advances the engine's epoch while calls run; each tick lets them look at their deadline."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._needed = threading.Event()
        self.calls = 0

    @contextmanager
    def ticking(self) -> Iterator[None]:
        with self._lock:
            self.calls += 1
            # Also none in a process that was forked from one where it ran.
            if self._thread is None or not self._thread.is_alive():
                name = "amplifier-wasm-clock"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            if not self._needed.is_set():
                self._needed.set()
        try:
            yield
        finally:
            with self._lock:
                self.calls -= 1

    def _run(self) -> None:
        ticked, idle_since = engine(), time.monotonic()
        while True:
            self._needed.wait()
            ticked.increment_epoch()
            now = time.monotonic()
            with self._lock:
                # Calls come in bursts: to wake up for every one of them would slow it down.
                if self.calls:
                    idle_since = now
                elif now - idle_since > _LINGER:
                    self._needed.clear()
            time.sleep(TICK)


clock = _Clock()
