"""A component and the rules it runs by. Each call gets an instance of its own."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
from collections.abc import Callable
from typing import Any

from wasmtime import Store, WasiConfig, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component, ExportIndex, Linker

from . import calling, imports
from .calling import GuestRefusal, Trap
from .engine import engine
from .running import Call, Host, obey_clock
from .settings import MIB, Settings

CONFIG_VARIABLE = "AMPLIFIER_MODULE_CONFIG"
LARGEST_PAYLOAD = 5 * MIB // 2
_LONGEST_LAST_WORDS = 2_000
_TOO_MUCH = "too much data is being copied"

logger = logging.getLogger("amplifier_core.transports.wasm")


class ComponentFailure(RuntimeError):
    """A component refused, or had to be stopped. The session can go on without its answer."""


class Guest:
    """Calls the functions of one component, each in a new instance."""

    def __init__(
        self,
        module_id: str,
        component: Component,
        export: str,
        settings: Settings,
        config: dict[str, Any],
    ) -> None:
        self.module_id = module_id
        self.settings = settings
        self.config = config
        self._component = component
        self._interface = component.get_export_index(export)
        self._functions: dict[str, ExportIndex | None] = {}
        wanted = component.type.imports(engine())
        self._uses_wasi = any(name.startswith("wasi:") for name in wanted)
        self._linker = Linker(engine())
        if self._uses_wasi:
            self._linker.add_wasip2()
        imports.define(self._linker, wanted)

    def offers(self, function: str) -> bool:
        return self._function(function) is not None

    async def call(self, function: str, *payloads: bytes, host: Host | None = None) -> Any:
        """Call a function in a new instance that is gone afterwards.

        Raises:
            ComponentFailure: it refused, trapped, took too long or answered too much.
        """
        return await self.run(lambda: Instance(self), function, payloads, host, keep=False)

    async def run(
        self,
        instance: Callable[[], Instance],
        function: str,
        payloads: tuple[bytes, ...],
        host: Host | None = None,
        *,
        keep: bool,
    ) -> Any:
        """Call a function in the instance given, which is closed unless it is to be kept."""
        self._refuse_long(payloads)
        call = Call(self.settings.timeout, host)
        opened: list[Instance] = []

        def work() -> Any:
            opened.append(instance())
            is_sound = False
            try:
                answer = opened[0].call(self._function(function), *payloads)
                is_sound = keep and call.stopped is None
                return answer
            except GuestRefusal:
                is_sound = keep and call.stopped is None
                raise
            finally:
                # Here, because only this thread knows that the guest has come to an end.
                if not is_sound:
                    opened[0].close()

        try:
            return await call.run(work)
        except GuestRefusal as refusal:
            raise ComponentFailure(str(refusal)) from None
        except (WasmtimeError, Trap) as error:
            raise ComponentFailure(self._story(call, error, opened)) from None
        except asyncio.CancelledError:
            # It may have done what nobody heard of: an instance that is kept must be replaced.
            for each in opened:
                each.is_closed = True
            raise

    def _function(self, name: str) -> ExportIndex | None:
        if name not in self._functions:
            at_root = self._component.get_export_index(name)
            nested = self._component.get_export_index(name, self._interface)
            self._functions[name] = at_root or nested
        return self._functions[name]

    def _refuse_long(self, payloads: tuple[bytes, ...]) -> None:
        for payload in payloads:
            if len(payload) > LARGEST_PAYLOAD:
                raise ComponentFailure(
                    f"{self.module_id!r} would be handed {len(payload):,} bytes, and a component "
                    f"takes {LARGEST_PAYLOAD:,} at most. Pass less, or a path to it."
                )

    def _story(self, call: Call, error: Exception, opened: list[Instance]) -> str:
        """What happened to the guest, in one line."""
        if call.stopped is not None:
            return f"{self.module_id!r} {call.stopped}."
        cause = _cause(str(error))
        if _TOO_MUCH in cause:
            return f"{self.module_id!r} answered with more than {LARGEST_PAYLOAD:,} bytes."
        words = opened[0].last_words() if opened else ""
        return f"{self.module_id!r} failed: {cause}{f' ({words})' if words else ''}."

    def store(self, hear: Callable[[bytes], None]) -> Store:
        """A store with nothing in it but what the settings grant."""
        store = Store(engine())
        store.set_limits(memory_size=self.settings.memory_mb * MIB)
        obey_clock(store)
        if self._uses_wasi:
            store.set_wasi(self._wasi(hear))
        return store

    def _wasi(self, hear: Callable[[bytes], None]) -> WasiConfig:
        wasi = WasiConfig()
        variables = self.settings.environment()
        if self.config:
            variables[CONFIG_VARIABLE] = to_json(self.config).decode()
        wasi.env = list(variables.items())
        wasi.stderr_custom = hear
        for folder in self.settings.read_dirs:
            wasi.preopen_dir(folder, folder, False)
        for folder in self.settings.write_dirs:
            wasi.preopen_dir(folder, folder, True)
        return wasi

    def instantiate(self, store: Store) -> Any:
        return self._linker.instantiate(store, self._component)


class Instance:
    """A component that has been brought to life, with a memory of its own."""

    def __init__(self, guest: Guest) -> None:
        self.is_closed = False
        self._said = bytearray()
        self._store = guest.store(self._hear)
        self._instance = guest.instantiate(self._store)

    def call(self, index: ExportIndex | None, *payloads: bytes) -> Any:
        if index is None:
            raise Trap("it lacks that function")
        function = self._instance.get_func(self._store, index)
        if function is None:
            raise Trap("what it exports there is no function")
        context = self._store._context()
        answer = calling.call(function._func, context, *payloads)
        calling.raise_failure(
            ffi.wasmtime_component_func_post_return(ctypes.byref(function._func), context)
        )
        return answer

    def close(self) -> None:
        self.is_closed = True
        self._store.close()

    def _hear(self, said: bytes) -> None:  # pragma: no cover - on a thread of the engine's own
        self._said = (self._said + said)[-_LONGEST_LAST_WORDS:]

    def last_words(self) -> str:
        """The last line that the guest wrote to its stderr."""
        lines = self._said.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _cause(text: str) -> str:
    """What went wrong; of a backtrace, only what is below the addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it gave no reason"]
    cause = lines[-1] if lines[0].startswith("error while executing") else lines[0]
    return cause.partition(": ")[2] if cause[0].isdigit() else cause


# -- JSON -----------------------------------------------------------------------------


def to_json(value: Any) -> bytes:
    """A payload. What JSON has no word for becomes text; half a character becomes `?`."""
    return json.dumps(value, default=_plain, ensure_ascii=False).encode(errors="replace")


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def from_json(module_id: str, answer: bytes) -> Any:
    """What a guest answered.

    Raises:
        ComponentFailure: it is not JSON.
    """
    try:
        return json.loads(answer.decode())
    except (ValueError, RecursionError) as error:
        raise ComponentFailure(f"{module_id!r} answered with no JSON: {error}.") from None
