"""What is in a module's directory, told as older code asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import Manifest, module_type, read_manifest
from .python import find_package_dir

__all__ = ["resolve_module"]


def resolve_module(path: str) -> dict[str, Any]:
    """The transport, the type and the artifact of the module in directory `path`.

    Raises:
        RuntimeError: there is none, or its manifest is wrong.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise RuntimeError(f"Module path does not exist: {path}. Give a module's directory.")
    try:
        manifest = read_manifest(folder)
        told = {"transport": manifest.transport, "artifact_type": manifest.transport}
        return {**told, "module_type": _type(manifest), **_artifact(manifest)}
    except (ValueError, KeyError) as error:
        raise RuntimeError(f"The module in {path} cannot be told: {error}") from error


def _type(manifest: Manifest) -> str:
    if manifest.module_type is None and manifest.transport == "wasm":
        from .wasm.engine_names import load_wasm_from_path

        return str(load_wasm_from_path(manifest.path)["module_type"])
    return module_type(manifest.path.resolve().name, manifest.path)


def _artifact(manifest: Manifest) -> dict[str, str]:
    folder, table = manifest.path.resolve(), manifest.settings.get("module") or {}
    if manifest.transport == "wasm":
        bare = next(folder.glob("*.wasm"), folder / "module.wasm")
        return {"artifact_path": str(folder / table.get("artifact", bare.name))}
    if manifest.transport == "rust":
        return {"crate_name": str(table.get("crate") or table["crate_name"])}
    if manifest.transport == "grpc":
        return {"endpoint": str(manifest.settings["grpc"]["endpoint"])}
    package = find_package_dir(folder.name, folder)
    if package is None:
        raise ValueError("could not detect module transport. Add an amplifier.toml.")
    return {"package_name": package.name.replace("-", "_")}
