"""Modules that are WebAssembly components: run in this process, and kept apart from it.

A component sees nothing of the machine but what the mount plan grants it. It cannot run for
ever, nor take more memory than it is allowed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .. import Manifest, MountFunction
from .adapters import (
    WasmApproval,
    WasmHook,
    WasmOrchestrator,
    WasmProvider,
    WasmTool,
)
from .artifact import kind_and_export, load_component, read_code
from .context import WasmContext
from .guest import ComponentFailure, Guest
from .settings import read_settings

__all__ = [
    "ComponentFailure",
    "WasmApproval",
    "WasmContext",
    "WasmHook",
    "WasmOrchestrator",
    "WasmProvider",
    "WasmTool",
    "load",
    "mount_guest",
    "open_guest",
]


async def load(
    module_id: str, manifest: Manifest, config: dict[str, Any], coordinator: Any
) -> MountFunction:
    """A function that mounts the component in a module's directory as what it exports.

    Raises:
        ModuleValidationError: there is no component, or it is not what it should be.
    """
    kind, guest = await open_guest(module_id, manifest, config)

    async def mount(coordinator: Any) -> Any:
        return await mount_guest(kind, guest, coordinator)

    return mount


async def open_guest(
    module_id: str, manifest: Manifest, config: dict[str, Any]
) -> tuple[str, Guest]:
    """The kind of module in a directory, and its component, compiled but not yet run."""
    settings, rest = read_settings(module_id, manifest, config)

    def prepare() -> tuple[str, Guest]:
        component = load_component(module_id, read_code(manifest))
        kind, export = kind_and_export(module_id, component, manifest.module_type)
        return kind, Guest(module_id, component, export, settings, rest)

    return await asyncio.to_thread(prepare)


async def mount_guest(kind: str, guest: Guest, coordinator: Any) -> Any:
    """Put a component into its place; the result is what ends it, if that takes anything."""
    if kind == "tool":
        tool = await WasmTool.of(guest)
        await coordinator.mount("tools", tool, name=tool.name)
    elif kind == "provider":
        provider = await WasmProvider.of(guest)
        await coordinator.mount("providers", provider, name=provider.name)
    elif kind == "orchestrator":
        await coordinator.mount("orchestrator", WasmOrchestrator(guest, coordinator))
    elif kind == "context":
        context = WasmContext(guest)
        await coordinator.mount("context", context)
        return context.close
    elif kind == "approval":
        coordinator.approval_system = WasmApproval(guest)
    else:
        hook, guard = WasmHook(guest), guest.settings.guard
        for event, priority, name in await hook.subscriptions():
            coordinator.hooks.register(event, hook, priority=priority, name=name, guard=guard)
    return None
