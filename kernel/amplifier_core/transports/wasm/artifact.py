"""Finds a module's component and makes sure that it is the one that is meant."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from wasmtime import WasmtimeError
from wasmtime.component import Component

from ...loader import ModuleValidationError
from .. import MANIFEST, InvalidManifest, Manifest
from ..settings import module_table
from .engine import compiled, engine
from .imports import KERNEL
from .settings import MIB

PREFIX = "amplifier:modules/"
KINDS = {
    "tool": "tool",
    "hook-handler": "hook",
    "context-manager": "context",
    "approval-provider": "approval",
    "provider": "provider",
    "orchestrator": "orchestrator",
}
"""The interface that a component exports, and the kind of module that it then is."""

_DEFAULT_NAME = "module.wasm"
_LARGEST_FILE = 256 * MIB


def read_code(manifest: Manifest) -> bytes:
    """The bytes of the module's component.

    Raises:
        InvalidManifest: the manifest names no file that may be loaded.
        ModuleValidationError: there is none, or it is not the one that the manifest means.
    """
    file = _find(manifest)
    folder = manifest.path.resolve()
    if not file.is_file():
        raise ModuleValidationError(
            f"{manifest.path} has no component {file.name!r}. Build it, or name another file "
            f"with `artifact`.",
            reason_code="missing_source",
        )
    if file.is_symlink() or not file.resolve().is_relative_to(folder):
        raise InvalidManifest(f"{file} escapes module directory {folder}. Copy the file itself.")
    if file.stat().st_size > _LARGEST_FILE:
        raise ModuleValidationError(f"{file} is larger than {_LARGEST_FILE // MIB} MiB. Shrink it.")
    code = file.read_bytes()
    _check_digest(file, code, module_table(manifest).get("sha256"))
    return code


def _find(manifest: Manifest) -> Path:
    name = module_table(manifest).get("artifact")
    if name is None:
        found = sorted(manifest.path.glob("*.wasm"))
        is_declared = bool(manifest.settings) or not found
        return manifest.path / _DEFAULT_NAME if is_declared else found[0]
    if not isinstance(name, str) or not name or set("/\\") & set(name) or name[0] == ".":
        raise InvalidManifest(
            f"{manifest.path / MANIFEST} has artifact = {name!r}, which must be a simple filename. "
            f"Put the component beside the manifest."
        )
    return manifest.path / name


def _check_digest(file: Path, code: bytes, expected: Any) -> None:
    if expected is None:
        return
    actual = hashlib.sha256(code).hexdigest()
    if not isinstance(expected, str) or expected.strip().lower() != actual:
        raise ModuleValidationError(
            f"{file} failed: integrity check failed, its sha256 is {actual}. "
            f"Get the file that the manifest means, or correct `sha256`."
        )


def load_component(module_id: str, code: bytes) -> Component:
    """Compile the code, for seconds if it is large: not on the event loop's thread.

    Raises:
        ModuleValidationError: it is no component.
    """
    try:
        return compiled(code)
    except WasmtimeError as error:
        reason = next(iter(str(error).splitlines()), "")
        raise ModuleValidationError(
            f"Module {module_id!r} is no WebAssembly component: {reason}. "
            f"A core module becomes one with `wasm-tools component new`."
        ) from error


def kind_and_export(module_id: str, component: Component, declared: str | None) -> tuple[str, str]:
    """The kind of module that a component is, and the export that makes it so.

    Raises:
        ModuleValidationError: it is none, several, or another than its manifest says.
    """
    found = {
        name: KINDS[interface]
        for name in component.type.exports(engine())
        if name.startswith(PREFIX)
        and (interface := name.removeprefix(PREFIX).partition("@")[0]) in KINDS
    }
    if len(found) != 1:
        what = f"multiple interfaces ({', '.join(found)})" if found else "no known interface"
        raise _unfit(module_id, f"exports {what} of {PREFIX[:-1]}. Export exactly one.")
    ((export, kind),) = found.items()
    if declared is not None and declared != kind:
        text = f"exports a {kind}, but its manifest says {declared!r}. Correct `type`."
        raise _unfit(module_id, text)
    wants_kernel = any(name.startswith(KERNEL) for name in component.type.imports(engine()))
    if wants_kernel and kind != "orchestrator":
        text = f"is a {kind} that imports kernel-service. Only an orchestrator may."
        raise _unfit(module_id, text)
    return kind, export


def _unfit(module_id: str, text: str) -> ModuleValidationError:
    return ModuleValidationError(
        f"The component of module {module_id!r} {text}", reason_code="invalid_module_metadata"
    )
