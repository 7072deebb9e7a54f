"""How a module is reached, whatever language it is written in, and what kind it is.

A module says so in its `amplifier.toml`. Each transport is one function that turns a
module's directory into a mount function.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..loader import TYPE_TO_MOUNT_POINT, ModuleValidationError, MountFunction
from ..module_sources import ModuleLoadError
from ..utils.spelling import did_you_mean

__all__ = [
    "MANIFEST",
    "MODULE_TYPES",
    "NAME_HINTS",
    "InvalidManifest",
    "Manifest",
    "MountFunction",
    "TransportLoader",
    "checked_type",
    "guess_type",
    "known_transports",
    "module_type",
    "read_manifest",
    "register_transport",
    "transport_loader",
]

MANIFEST = "amplifier.toml"
MODULE_TYPES = (*TYPE_TO_MOUNT_POINT, "approval")
NAME_HINTS = (
    ("orchestrat", "orchestrator"),
    ("loop", "orchestrator"),
    ("provider", "provider"),
    ("tool", "tool"),
    ("hook", "hook"),
    ("context", "context"),
)
"""What in a module's id tells its type, the most telling first."""

_TRANSPORTS = ("python", "rust", "wasm", "grpc")
_BUILT_IN = {
    "grpc": (".grpc", "grpc", ("grpc", "google")),
    "rust": (".sidecar", "grpc", ("grpc", "google")),
    "wasm": (".wasm", "wasm", ("wasmtime",)),
}
"""Where each built-in loader is, the extra that it needs, and what that extra installs."""


class InvalidManifest(ModuleValidationError, ValueError):
    """A manifest that cannot be read, or that names what does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason_code="invalid_module_metadata")


@dataclass(frozen=True)
class Manifest:
    """What a module's directory says about how to load it."""

    path: Path
    transport: str = "python"
    module_type: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """The whole file, for the keys that only one transport knows."""


TransportLoader = Callable[[str, Manifest, dict[str, Any], Any], Awaitable[MountFunction]]

_loaders: dict[str, TransportLoader] = {}


# -- transports -----------------------------------------------------------------------


def register_transport(name: str, loader: TransportLoader) -> None:
    """Make `loader(module_id, manifest, config, coordinator)` serve transport `name`."""
    _loaders[name] = loader


def known_transports() -> tuple[str, ...]:
    return (*_TRANSPORTS, *(name for name in _loaders if name not in _TRANSPORTS))


def transport_loader(name: str) -> TransportLoader:
    """The loader of a transport.

    Raises:
        ModuleLoadError: this installation cannot serve it.
    """
    if name in _loaders:
        return _loaders[name]
    if name in _BUILT_IN:
        return _built_in(name)
    raise ModuleLoadError(
        f"Transport {name!r} is not available in this installation. "
        f"Make it so with register_transport()."
    )


def _built_in(name: str) -> TransportLoader:
    where, extra, needs = _BUILT_IN[name]
    try:
        loader: TransportLoader = importlib.import_module(where, __package__).load
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in needs:
            raise
        raise ModuleLoadError(
            f"Transport {name!r} is not available in this installation: {error.name!r} is not "
            f"installed. Run `pip install 'amplifier-core[{extra}]'`."
        ) from error
    return loader


# -- manifests ------------------------------------------------------------------------


def read_manifest(path: Path) -> Manifest:
    """Read a module directory's manifest; without one it is Python, or a bare component.

    Raises:
        InvalidManifest: the file is not valid, or names an unknown transport or type.
    """
    file = path / MANIFEST
    if not file.is_file():
        is_component = next(path.glob("*.wasm"), None) is not None
        return Manifest(path, transport="wasm" if is_component else "python")
    import tomllib

    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidManifest(f"{file} cannot be read as TOML: {error}.") from error
    section = settings.get("module")
    if not isinstance(section, dict):
        raise InvalidManifest(f"{file} has no [module] table. Add one with `transport = ...`.")
    transport, kind = section.get("transport", "python"), section.get("type")
    _refuse_unknown(file, "transport", transport, known_transports())
    if kind is not None:
        _refuse_unknown(file, "module type", kind, MODULE_TYPES)
    return Manifest(path, transport, kind, settings)


def _refuse_unknown(file: Path, what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = did_you_mean(str(value), known, f"Use one of {', '.join(known)}.")
        raise InvalidManifest(f"{file} names the unknown {what} {value!r}. {hint}")


# -- types ----------------------------------------------------------------------------


def module_type(module_id: str, path: Path) -> str:
    """The type of the module in a directory, by its own word or by its id; runs no code.

    Raises:
        ModuleValidationError: it says what no module can be.
    """
    manifest = read_manifest(path)
    declared: Any = None
    if manifest.transport == "python":
        from .python import declared_type, find_package_dir

        package = find_package_dir(module_id, path)
        declared = declared_type(package) if package is not None else None
    declared = declared or manifest.module_type
    return checked_type(module_id, declared) if declared else guess_type(module_id)


def checked_type(module_id: str, declared: Any) -> str:
    """The type that a module declares, if it is one."""
    if not isinstance(declared, str) or declared not in MODULE_TYPES:
        raise ModuleValidationError(
            f"Module {module_id!r} has unknown type {declared!r}. "
            f"Use one of {', '.join(MODULE_TYPES)}.",
            reason_code="invalid_module_metadata",
        )
    return declared


def guess_type(module_id: str) -> str:
    """The type of module that an id suggests; a tool if it suggests nothing."""
    lowered = module_id.lower()
    return next((kind for hint, kind in NAME_HINTS if hint in lowered), "tool")
