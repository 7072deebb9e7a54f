"""One Python module, mounted here and offered through the services of the contract."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from pathlib import Path
from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ...hooks import _Registration
from ...loader import ModuleLoader
from ..grpc.hook import GUARD
from ..grpc.mounting import PART_PREFIX
from ..isolation import SERVED_CONFIG
from .session import FarContext, FarCoordinator, FarProvider, FarTool, Kernel

logger = logging.getLogger("amplifier_core.serve")

_TYPES = {
    "tool": pb.MODULE_TYPE_TOOL,
    "provider": pb.MODULE_TYPE_PROVIDER,
    "hook": pb.MODULE_TYPE_HOOK,
    "context": pb.MODULE_TYPE_MEMORY,
    "approval": pb.MODULE_TYPE_APPROVAL,
}
_POINTS = {"tool": "tools", "provider": "providers", "hook": "hooks"}


class ServedModule:
    """Mounts a module when it is first needed, with the config it has been given by then."""

    def __init__(
        self, module_id: str, path: Path | None, config: dict[str, Any], kernel: Kernel | None
    ) -> None:
        self.module_id = module_id
        self._path = path
        self._config = config
        self._kernel = kernel
        self._mounting = asyncio.Lock()
        self._coordinator: FarCoordinator | None = None

    async def mount(self, config: dict[str, Any]) -> None:
        """Mount with `config`; the same config again changes nothing."""
        async with self._mounting:
            if self._coordinator is None or config != self._config:
                await self._unmount()
                self._config = config
                await self._mount()

    async def coordinator(self) -> FarCoordinator:
        """Where the module is mounted; mounts it if nobody has."""
        if self._coordinator is None:
            async with self._mounting:
                if self._coordinator is None:
                    await self._mount()
        assert self._coordinator is not None
        return self._coordinator

    async def _mount(self) -> None:
        coordinator = FarCoordinator()
        coordinator.connect(self._kernel)
        loader = ModuleLoader(coordinator)
        mount = await loader.load(self.module_id, self._config, self._path, coordinator)
        returned = await mount(coordinator)
        is_approval = callable(getattr(returned, "request_approval", None))
        if is_approval and coordinator.approval_system is None:
            coordinator.approval_system = returned
        cleanup = returned if callable(returned) else getattr(returned, "cleanup", None)
        coordinator.register_cleanup(cleanup)
        ready: Any = getattr(mount, "__on_session_ready__", None)
        if ready is not None:
            await ready[1](coordinator)
        self._coordinator = coordinator

    async def cleanup(self) -> None:
        async with self._mounting:
            await self._unmount()

    async def _unmount(self) -> None:
        if self._coordinator is not None:
            coordinator, self._coordinator = self._coordinator, None
            await coordinator.cleanup()

    # -- what it offers ---------------------------------------------------------------

    async def info(self) -> pb.ModuleInfo:
        coordinator = await self.coordinator()
        parts = [f"tool:{name}" for name in coordinator.get_all("tools")]
        parts += [f"provider:{name}" for name in list(coordinator.get_all("providers"))[:1]]
        parts += [kind for kind in ("orchestrator", "context") if coordinator.get(kind)]
        parts += ["approval"] if coordinator.approval_system is not None else []
        registrations = handlers(coordinator)
        parts += ["hook"] if registrations else []
        guards = [GUARD] if any(each.guard for each in registrations) else []
        kind = parts[0].partition(":")[0] if parts else ""
        return pb.ModuleInfo(
            id=self.module_id,
            name=self.module_id,
            module_type=_TYPES.get(kind, pb.MODULE_TYPE_UNSPECIFIED),
            mount_point=_POINTS.get(kind, kind),
            capabilities=[*(PART_PREFIX + part for part in parts), *guards],
        )

    async def execute(self, prompt: str) -> str:
        """Run one turn of a served orchestrator on the session behind the kernel."""
        coordinator = await self.coordinator()
        orchestrator, kernel = coordinator.get("orchestrator"), coordinator.kernel
        if kernel is None:
            raise RuntimeError("There is no kernel to call back. Start this from a session.")
        tools = await asyncio.to_thread(kernel.capability, "amplifier.tools")
        providers = await asyncio.to_thread(kernel.capability, "amplifier.providers")
        context = FarContext(kernel)
        await coordinator.mount("context", context)
        arguments = {
            "prompt": prompt,
            "context": context,
            "providers": {each["name"]: FarProvider(kernel, each) for each in providers or ()},
            "tools": {each["name"]: FarTool(kernel, each) for each in tools or ()},
            "hooks": coordinator.hooks,
            "coordinator": coordinator,
        }
        parameters = inspect.signature(orchestrator.execute).parameters
        takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        if "coordinator" not in parameters and not takes_all:
            del arguments["coordinator"]
        return str(await orchestrator.execute(**arguments))


def handlers(coordinator: FarCoordinator) -> list[_Registration]:
    """Every handler that the module registered."""
    return coordinator.hooks._all()


def config_from(texts: dict[str, str]) -> dict[str, Any]:
    """The config that a host sent: whole, or as texts of which some are JSON."""
    if SERVED_CONFIG in texts:
        whole: dict[str, Any] = json.loads(texts[SERVED_CONFIG])
        return whole
    return {key: _value(text) for key, text in texts.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
