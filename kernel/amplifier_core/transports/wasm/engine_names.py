"""The functions of older code that loads a component without a session, and without waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from ...coordinator import ModuleCoordinator
from .. import read_manifest
from . import WasmApproval, mount_guest, open_guest
from .adapters import WasmHook

_HOW = {"python": "import it", "rust": "run it as a sidecar", "grpc": "connect to its endpoint"}


def load_and_mount_wasm(coordinator: Any, path: str | Path) -> dict[str, Any]:
    """Mount the component in directory `path`, and tell what it is.

    Raises:
        ValueError: the module there is no component.
        RuntimeError: it cannot be loaded.
    """
    manifest = read_manifest(Path(path))
    if manifest.transport != "wasm":
        how = _HOW.get(manifest.transport, "load it")
        raise ValueError(
            f"{path} is a module of transport {manifest.transport!r}, not a component. "
            f"Let a session {how}."
        )
    try:
        return _at_once(_mount(coordinator, manifest))
    except Exception as error:
        raise RuntimeError(f"Module loading failed: {error}") from error


async def _mount(coordinator: Any, manifest: Any) -> dict[str, Any]:
    kind, guest = await open_guest(manifest.path.name, manifest, {})
    told: dict[str, Any] = {"module_type": kind, "status": "mounted"}
    if kind == "approval":
        return {**told, "status": "loaded", "wrapper": WasmApproval(guest)}
    before = set(coordinator.get(f"{kind}s") or ()) if kind in ("tool", "provider") else set()
    await mount_guest(kind, guest, coordinator)
    if kind in ("tool", "provider"):
        told["name"] = next(iter(set(coordinator.get(f"{kind}s")) - before), guest.module_id)
    if kind == "hook":
        told["subscriptions_count"] = len(await WasmHook(guest).subscriptions())
    return told


def load_wasm_from_path(path: str | Path) -> dict[str, Any]:
    """What the component in directory `path` is, without keeping it."""
    told = load_and_mount_wasm(ModuleCoordinator(), path)
    return {"status": "loaded", "module_type": told["module_type"]}


def _at_once(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """The result of a coroutine, for callers that may be in an event loop and cannot wait."""
    done: list[dict[str, Any] | BaseException] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=run, name="amplifier-wasm-load")
    thread.start()
    thread.join()
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]
