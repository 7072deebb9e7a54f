"""Modules that are not Python, made to look like one whose `mount` can be tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ..module_sources import DIRECTORY_PREFIX
from ..transports import Manifest, read_manifest, transport_loader
from ..transports.python import TYPE_MARKER

__all__ = ["foreign_module"]


def foreign_module(path: Path) -> Callable[[], Awaitable[ModuleType]] | None:
    """How to load the module in directory `path`; None if it is a Python module.

    Raises:
        InvalidManifest: its manifest is wrong.
    """
    if not path.is_dir():
        return None
    manifest = read_manifest(path)
    if manifest.transport == "python":
        return None

    async def load() -> ModuleType:
        module_id = path.resolve().name.removeprefix(DIRECTORY_PREFIX)
        loader = transport_loader(manifest.transport)

        async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
            return await (await loader(module_id, manifest, config, coordinator))(coordinator)

        module: Any = ModuleType(f"{manifest.transport} module {module_id}")
        module.mount = mount
        setattr(module, TYPE_MARKER, await _kind(module_id, manifest))
        return module  # type: ignore[no-any-return]

    return load


async def _kind(module_id: str, manifest: Manifest) -> str | None:
    """What the module is, by its own word; a component tells by what it exports."""
    if manifest.transport != "wasm":
        return manifest.module_type
    from ..transports.wasm import open_guest

    kind, _ = await open_guest(module_id, manifest, {})
    return kind
