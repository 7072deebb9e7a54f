"""Modules that are programs: started beside the session, and called over gRPC.

Named `rust` for the language that most of them are written in; any program that prints
`READY:<port>` and serves the contract there will do.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..loader import ModuleValidationError
from . import MANIFEST, InvalidManifest, Manifest, MountFunction
from .grpc.address import Address
from .grpc.connection import TOKEN_KEY, Connection, RemoteModuleError
from .grpc.kernel_host import KernelHost, hold_kernel
from .grpc.mounting import mount_remote
from .process import ModuleProcess, ProcessFailed
from .settings import CallSettings, ProcessSettings, module_table

__all__ = ["load", "mount_process"]

logger = logging.getLogger("amplifier_core.sidecar")

MODULE_CRASHED = "module:crashed"
MODULE_RESTARTED = "module:restarted"
_SECONDS_TO_DIE = 1.0
_SECONDS_TO_NOTICE = 0.2

Command = Callable[[int], Sequence[str]]
"""What to run so that it serves on the given port."""


async def load(
    module_id: str, manifest: Manifest, config: dict[str, Any], coordinator: Any
) -> MountFunction:
    """A function that starts the module's program and mounts what it serves.

    Raises:
        InvalidManifest: the manifest names no program, or one outside the module.
        FileNotFoundError: there is none of that name.
    """
    calls = CallSettings.read(manifest, "grpc")
    settings = ProcessSettings.read(manifest, "sidecar")
    program = find_program(manifest)

    def command(port: int) -> list[str]:
        return [str(program), "--port", str(port), *settings.args]

    async def mount(coordinator: Any) -> Any:
        process = ProcessConnection(module_id, command, settings, calls, config, manifest.path)
        return await mount_process(process, manifest.module_type, coordinator, config)

    return mount


def find_program(manifest: Manifest) -> Path:
    """The module's program: in its folder, or where cargo puts it."""
    table, file = module_table(manifest), manifest.path / MANIFEST
    crate = table.get("crate") or table.get("crate_name")
    if not isinstance(crate, str):
        raise InvalidManifest(f"{file} requires 'crate' field. Add `crate = ...` to [module].")
    if not crate or crate.startswith(".") or ".." in crate or {"/", "\\"} & set(crate):
        raise InvalidManifest(f"{file}: crate {crate!r} must be a simple identifier. Correct it.")
    folder = manifest.path.resolve()
    places = [folder / crate, folder / f"{crate}.exe", folder / "target" / "release" / crate]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        listed = ", ".join(map(str, places))
        build = "./build.sh" if (folder / "build.sh").is_file() else "cargo build --release"
        raise FileNotFoundError(
            f"The program of crate {crate!r} is at none of {listed}. "
            f"Build it with `{build}`, or put it there."
        )
    if not found.resolve().is_relative_to(folder):
        raise ModuleValidationError(
            f"The program {found} escapes module directory {folder}. Copy it there.",
            reason_code="invalid_module_metadata",
        )
    return found.resolve()


class ProcessConnection(Connection):
    """Calls to a process of our own, which is started again if it dies."""

    def __init__(
        self,
        module_id: str,
        command: Command,
        settings: ProcessSettings,
        calls: CallSettings,
        config: Mapping[str, Any],
        folder: Path | None,
    ) -> None:
        super().__init__(module_id, None, calls, config)
        self._command = command
        self._process_settings = settings
        self._directory = folder
        self._process: ModuleProcess | None = None
        self._restarts_left = settings.restarts
        self._coordinator: Any = None
        self._host: KernelHost | None = None
        self.own_environment: dict[str, str] = {}
        self._untold: list[tuple[str, dict[str, Any]]] = []

    async def serve(self, coordinator: Any) -> None:
        """Let the process call the session back from now on."""
        self._coordinator = coordinator
        self._host = await hold_kernel(coordinator)
        self.metadata = ((TOKEN_KEY, self._host.token),)

    # -- coming up --------------------------------------------------------------------

    async def settle(self) -> None:
        try:
            await super().settle()
        finally:
            # Only now: whoever hears of it may want to call this very module.
            while self._untold:
                event, data = self._untold.pop(0)
                logger.warning("%s: %s", event, data)
                await self._coordinator.hooks.emit(event, data)

    async def _connect(self) -> None:
        if self._process is None and not self._is_closed:
            await self._start()
        elif not self._is_closed and await self._has_died():
            await self._restart()
        await super()._connect()

    async def _has_died(self) -> bool:
        assert self._process is not None
        return await self._process.exit_code(_SECONDS_TO_NOTICE) is not None

    async def _start(self) -> None:
        await self._hang_up()
        process = ModuleProcess(
            self.module_id, self._command(_free_port()), self._process_settings, self._directory
        )
        try:
            port = await process.start(self._environment())
        except ProcessFailed as error:
            raise RemoteModuleError(str(error)) from None
        self._process = process
        self.address = Address(f"127.0.0.1:{port}")

    def _environment(self) -> dict[str, str]:
        assert self._host is not None
        known = {**self.own_environment, "AMPLIFIER_AUTH_TOKEN": self._host.token}
        if self.settings.kernel:
            known["AMPLIFIER_KERNEL_ENDPOINT"] = self._host.endpoint
        return known

    async def _restart(self) -> None:
        assert self._process is not None
        code = await self._process.exit_code(0)
        if self._restarts_left == 0:
            raise RemoteModuleError(
                f"Module {self.module_id!r} has exited with code {code} and is not started "
                f"again. Raise `restarts`, or mend it."
            )
        self._restarts_left -= 1
        self._tell(MODULE_CRASHED, exit_code=code, restarts_left=self._restarts_left)
        await self._process.stop()
        await self._start()
        self._tell(MODULE_RESTARTED, restarts_left=self._restarts_left)

    def _tell(self, event: str, **more: Any) -> None:
        self._untold.append((event, {"module_id": self.module_id, **more}))

    # -- going down -------------------------------------------------------------------

    async def _epitaph(self) -> str:
        code = None if self._process is None else await self._process.exit_code(_SECONDS_TO_DIE)
        if code is None:
            return await super()._epitaph()
        again = "The next call starts it again." if self._restarts_left else "It stays down."
        return f"Its process exited with code {code}. {again}"

    async def _hang_up(self) -> None:
        if self._channel is not None:
            channel, self._channel = self._channel, None
            self._stubs.clear()
            await channel.close()

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            try:
                if self._process is not None:
                    await self._process.stop()
            finally:
                if self._host is not None:
                    host, self._host = self._host, None
                    await host.release()


async def mount_process(
    connection: ProcessConnection, kind: str | None, coordinator: Any, config: dict[str, Any]
) -> Any:
    """Start a module's process and mount it; the result ends both."""
    try:
        await connection.serve(coordinator)
        await mount_remote(connection, kind, coordinator, config)
    except BaseException:
        await connection.close()
        raise
    return connection.close


def _free_port() -> int:
    """A port that nobody uses now; the process reports the one that it really got."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
