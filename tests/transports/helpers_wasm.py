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


def saying(interface: str, **functions: str) -> str:
    """A component whose functions answer with constants.

    A name is that of a function with `_` for `-`; a value is what it answers, or in
    brackets the instructions that it runs instead. What begins with `get-` and is not
    about messages answers with bytes alone, the others with a result. All take one
    argument except those that the contract gives none.
    """
    made = [_function(number, name.replace("_", "-"), text)
            for number, (name, text) in enumerate(functions.items())]  # fmt: skip
    cores, lifts = "".join(core for core, _ in made), "".join(lift for _, lift in made)
    names = [name.replace("_", "-") for name in functions]
    exports = " ".join(f'(export "{name}" (func ${name}))' for name in names)
    return f"""
    (component
      (core module $m
        (memory (export "memory") 2)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536)
        {cores})
      (core instance $i (instantiate $m))
      {lifts}
      (instance $it {exports})
      (export "amplifier:modules/{interface}@1.0.0" (instance $it)))
    """


_WITHOUT_ARGUMENT = ("get-spec", "get-info", "list-models", "get-messages", "clear")
_BYTES_ALONE = ("get-spec", "get-info", "get-subscriptions")


def _function(number: int, name: str, text: str) -> tuple[str, str]:
    """The function in the core module, and its way out of it."""
    start, place = 4096 * (number + 1), 16 * (number + 1)
    does = text if text.startswith("(") else ""
    says = "" if does else text
    offset = 0 if name in _BYTES_ALONE else 4
    takes = "" if name in _WITHOUT_ARGUMENT else "(param i32 i32)"
    data = says.replace("\\", "\\\\").replace('"', '\\"')
    core = f"""
        (data (i32.const {start}) "{data}")
        (func (export "{name}") {takes} (result i32) {does}
          (i32.store (i32.const {place + offset}) (i32.const {start}))
          (i32.store (i32.const {place + offset + 4}) (i32.const {len(says.encode())}))
          i32.const {place})"""
    given = "" if name in _WITHOUT_ARGUMENT else '(param "given" (list u8))'
    answer = "(list u8)" if name in _BYTES_ALONE else "(result (list u8) (error string))"
    lift = f"""
      (func ${name} {given} (result {answer})
        (canon lift (core func $i "{name}") (memory (core memory $i "memory"))
          (realloc (core func $i "realloc"))))"""
    return core, lift


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
