"""How a module is reached, whatever language it is written in.

A module says so in its `amplifier.toml`. Each transport is one function that turns a
module's directory into a mount function; its file is imported when first asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from .._discovery import ModuleKind, did_you_mean
from ..module_sources import ModuleLoadError

__all__ = [
    "MANIFEST",
    "Manifest",
    "MountFunction",
    "TransportLoader",
    "known_transports",
    "read_manifest",
    "register_transport",
    "transport_loader",
]

MANIFEST = "amplifier.toml"
_TRANSPORTS = ("python", "rust", "wasm", "grpc")
_TYPES = (*get_args(ModuleKind), "approval")

MountFunction = Callable[[Any], Awaitable[Any]]


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
    if name not in _loaders:
        raise ModuleLoadError(
            f"Transport {name!r} is not available in this installation. "
            f"Make it so with register_transport()."
        )
    return _loaders[name]


def read_manifest(path: Path) -> Manifest:
    """Read a module directory's manifest; without one it is Python, or a bare component.

    Raises:
        ValueError: the file is not valid, or names a transport or type that does not exist.
    """
    file = path / MANIFEST
    if not file.is_file():
        is_component = next(path.glob("*.wasm"), None) is not None
        return Manifest(path, transport="wasm" if is_component else "python")
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not valid TOML: {error}.") from error
    section = settings.get("module")
    if not isinstance(section, dict):
        raise ValueError(f"{file} has no [module] table. Add one with `transport = ...`.")
    transport, kind = section.get("transport", "python"), section.get("type")
    _refuse_unknown(file, "transport", transport, known_transports())
    if kind is not None:
        _refuse_unknown(file, "module type", kind, _TYPES)
    return Manifest(path, transport, kind, settings)


def _refuse_unknown(file: Path, what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = did_you_mean(str(value), known, f"Use one of {', '.join(known)}.")
        raise ValueError(f"{file} names the unknown {what} {value!r}. {hint}")
