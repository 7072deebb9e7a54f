"""Module directories with components: the built ones, and small ones written as text."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.loader import ModuleLoader

GUESTS = Path(__file__).parent / "wasm_guests"

SPEC = '{"name": "written", "parameters": {}}'


def guest_dir(folder: Path, guest: str, manifest: str = "") -> Path:
    """A module directory with one of the built guests."""
    shutil.copy(GUESTS / f"{guest}.wasm", folder / "module.wasm")
    if manifest:
        (folder / "amplifier.toml").write_text(manifest)
    return folder


def text_dir(folder: Path, component: str) -> Path:
    """A module directory with a component in the text format."""
    (folder / "module.wasm").write_text(component)
    return folder


def tool_text(*, spec: str = "", execute: str = "", core: str = "", more: str = "") -> str:
    """A tool whose two functions run the given instructions first.

    Its spec is a constant at address 1024; its answer is the same bytes.
    """
    data = SPEC.replace('"', '\\"')
    return f"""
    (component {more}
      (core module $m
        (memory (export "memory") 2) {core}
        (data (i32.const 1024) "{data}")
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536)
        (func (export "get-spec") (result i32) {spec}
          (i32.store (i32.const 8) (i32.const 1024))
          (i32.store (i32.const 12) (i32.const {len(SPEC)}))
          i32.const 8)
        (func (export "execute") (param i32 i32) (result i32) {execute}
          (i32.store8 (i32.const 16) (i32.const 0))
          (i32.store (i32.const 20) (i32.const 1024))
          (i32.store (i32.const 24) (i32.const {len(SPEC)}))
          i32.const 16))
      (core instance $i (instantiate $m))
      (func $get-spec (result (list u8))
        (canon lift (core func $i "get-spec") (memory (core memory $i "memory"))))
      (func $execute (param "input" (list u8)) (result (result (list u8) (error string)))
        (canon lift (core func $i "execute") (memory (core memory $i "memory"))
          (realloc (core func $i "realloc"))))
      (instance $tool (export "get-spec" (func $get-spec)) (export "execute" (func $execute)))
      (export "amplifier:modules/tool@1.0.0" (instance $tool)))
    """


async def mounted(
    path: Path, config: dict[str, Any] | None = None, module_id: str = "guest"
) -> ModuleCoordinator:
    """A coordinator on which the module in `path` is mounted as a session would do it."""
    coordinator = ModuleCoordinator()
    mount = await ModuleLoader(coordinator).load(module_id, config, path, coordinator)
    cleanup = await mount(coordinator)
    if cleanup is not None:
        coordinator.register_cleanup(cleanup)
    return coordinator


@asynccontextmanager
async def mounted_tool(path: Path, config: dict[str, Any] | None = None) -> AsyncIterator[Any]:
    coordinator = await mounted(path, config)
    (tool,) = coordinator.get("tools").values()
    yield tool
    await coordinator.cleanup()
