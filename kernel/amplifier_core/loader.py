"""From a module id to a mount function: find it, import it, check it, bind its config.

Order of preference: an explicit source, installed entry points, search paths, the
directories in AMPLIFIER_MODULES, and last a package of the conventional name. Loading
never runs `mount()`.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import _discovery as discovery
from ._discovery import AmbiguousModule, ModuleKind, did_you_mean
from ._mounting import Mounting
from .coordinator import ModuleCoordinator
from .models import ModuleInfo
from .module_sources import ModuleNotFoundError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .transports import Manifest

__all__ = [
    "MODULE_FAILURE_REASONS",
    "TYPE_TO_MOUNT_POINT",
    "ModuleLoader",
    "ModuleValidationError",
    "module_failure_reason",
]

logger = logging.getLogger(__name__)

RawMount = Callable[..., Awaitable[Any]]
MountFunction = Callable[[Any], Awaitable[Any]]
ReadyFunction = Callable[[Any], Awaitable[Any]]

TYPE_TO_MOUNT_POINT: dict[str, str] = {
    "orchestrator": "orchestrator",
    "provider": "providers",
    "tool": "tools",
    "hook": "hooks",
    "context": "context",
    "resolver": "module-source-resolver",
}

REQUIRED_MEMBERS: dict[str, tuple[str, ...]] = {
    "orchestrator": ("execute",),
    "context": ("add_message", "get_messages"),
    "providers": ("name", "get_info", "list_models", "complete", "parse_tool_calls"),
    "tools": ("name", "description", "execute"),
}

MODULE_FAILURE_REASONS = frozenset(
    {
        "invalid_package_layout",
        "missing_source",
        "invalid_entry_point",
        "invalid_module_metadata",
        "validation_failed",
        "unknown",
    }
)


class ModuleValidationError(Exception):
    """A module was found but is not what it has to be."""

    def __init__(self, message: str, *, reason_code: str = "validation_failed") -> None:
        super().__init__(message)
        self.reason_code = reason_code


class _ModuleDiscoveryError(ValueError):
    """A module was not found, or was found and could not be imported."""

    def __init__(self, message: str, *, reason_code: str) -> None:
        super().__init__(message)
        self.reason_code = reason_code


def module_failure_reason(error: BaseException) -> str:
    """Why loading failed, as one of MODULE_FAILURE_REASONS; texts are never parsed."""
    if isinstance(error, ModuleNotFoundError):
        return "missing_source"
    if isinstance(error, ModuleValidationError | _ModuleDiscoveryError | AmbiguousModule):
        code = error.reason_code
        if isinstance(code, str) and code in MODULE_FAILURE_REASONS:
            return code
    return "unknown"


class ModuleLoader:
    """Finds and imports modules for one session, or for many that share it."""

    def __init__(
        self, coordinator: ModuleCoordinator | None = None, search_paths: list[Path] | None = None
    ) -> None:
        self._coordinator = coordinator
        self._search_paths = search_paths
        self._loaded_modules: dict[str, RawMount] = {}
        self._loaded_module_paths: dict[str, Path] = {}
        self._ready_functions: dict[str, ReadyFunction | None] = {}
        self._module_info: dict[str, ModuleInfo] = {}
        self._added_paths: list[str] = []
        self._on_session_ready_queue: list[tuple[str, ReadyFunction]] = []

    # -- discovering ------------------------------------------------------------------

    async def discover(self) -> list[ModuleInfo]:
        """Every module that `load` would find by its id; no module code is run."""
        found: dict[str, ModuleInfo | None] = {}
        places: list[tuple[str, list[EntryPoint] | Path]] = [*discovery.installed.table().items()]
        places += discovery.module_directories(self._search_paths)
        for module_id, place in places:
            if module_id in found:
                continue
            found[module_id] = None
            try:
                found[module_id] = _describe(module_id, place)
            except (ValueError, ModuleValidationError) as error:
                logger.error("Module %r is left out: %s", module_id, error)
        infos = [info for info in found.values() if info is not None]
        self._module_info.update({info.id: info for info in infos})
        return infos

    # -- loading ----------------------------------------------------------------------

    async def load(
        self,
        module_id: str,
        config: dict[str, Any] | None = None,
        source_hint: Any = None,
        coordinator: ModuleCoordinator | None = None,
    ) -> MountFunction:
        """A function that mounts module `module_id` with `config` on a coordinator.

        A mounted source resolver decides what `source_hint` means. Without one it may be
        a local directory: a path, or a string that begins like one.

        Raises:
            ValueError: no such module, or its code cannot be imported.
            ModuleValidationError: it is no valid module.
            ImportError: the id is already loaded from another place.
        """
        try:
            return await self._load(module_id, config or {}, source_hint, coordinator)
        except Exception as error:
            logger.error("Failed to load module '%s': %s", module_id, error)
            raise

    async def _load(
        self, module_id: str, config: dict[str, Any], hint: Any, coordinator: Any
    ) -> MountFunction:
        try:
            path = await self._source(module_id, hint, coordinator)
        except ModuleNotFoundError:
            mount = await self._load_direct(module_id, config, coordinator)
            if mount is None:
                raise
            return mount
        if path is not None:
            return await self._load_path(module_id, path, config, coordinator)
        mount = await self._load_direct(module_id, config, coordinator)
        if mount is None:
            raise self._not_found(module_id, hint)
        return mount

    async def _source(self, module_id: str, hint: Any, coordinator: Any) -> Path | None:
        """The directory that an explicit source means; None to look the id up."""
        resolver = self._resolver(coordinator)
        if resolver is not None:
            return await _resolve(resolver, module_id, hint)
        path = discovery.local_path(hint)
        if path is None and hint is not None:
            logger.warning("Source %r of module %r needs a resolver", hint, module_id)
        return path

    def _resolver(self, coordinator: Any) -> Any:
        for owner in (coordinator, self._coordinator):
            with suppress(ValueError):
                resolver = owner.get("module-source-resolver") if owner is not None else None
                if resolver is not None:
                    return resolver
        return None

    async def _load_direct(
        self, module_id: str, config: dict[str, Any], coordinator: Any
    ) -> MountFunction | None:
        """Load by id alone, as installed or found in the search directories."""
        if module_id in self._loaded_modules:
            return self._bind(module_id, config)
        point = discovery.installed.find(module_id)
        failure: Exception | None = None
        if point is not None:
            try:
                raw = point.load()
            except Exception as error:
                failure = error
                logger.error("Entry point of module %r failed to load", module_id, exc_info=error)
            else:
                home = sys.modules.get(getattr(raw, "__module__", None) or "")
                self._adopt(module_id, raw, home)
                return self._bind(module_id, config)
        path = discovery.find_directory(module_id, self._search_paths)
        if path is not None:
            return await self._load_path(module_id, path, config, coordinator)
        module = _conventional_package(module_id)
        if module is not None:
            self._adopt(module_id, getattr(module, "mount", None), module)
            return self._bind(module_id, config)
        if failure is not None:
            raise _import_failed(module_id, "its entry point", failure) from failure
        return None

    def _not_found(self, module_id: str, hint: Any) -> _ModuleDiscoveryError:
        if hint is not None:
            advice = f"Its source {hint!r} needs a module source resolver, and none is mounted."
        else:
            directories = discovery.module_directories(self._search_paths)
            known = [*discovery.installed.table(), *(name for name, _ in directories)]
            advice = did_you_mean(module_id, known, "Install it, or give the entry a `source`.")
        return _ModuleDiscoveryError(
            f"Module {module_id!r} was not found via entry points or filesystem. {advice}",
            reason_code="missing_source",
        )

    async def _load_path(
        self, module_id: str, path: Path, config: dict[str, Any], coordinator: Any
    ) -> MountFunction:
        """Load the module in directory `path`, whatever its transport."""
        known = self._loaded_module_paths.get(module_id)
        if known is None:
            manifest = _manifest(path)
            if manifest.transport != "python":
                from .transports import transport_loader

                load = transport_loader(manifest.transport)
                owner = coordinator or self._coordinator
                return _checked(module_id, await load(module_id, manifest, config, owner))
            self._import(module_id, path)
            self._loaded_module_paths[module_id] = path.resolve()
        elif known != path.resolve():
            raise ImportError(
                f"Module {module_id!r} is already loaded from {known}; refusing to load it "
                f"from {path}. Use one source for one id.",
                name=module_id,
            )
        return self._bind(module_id, config)

    def _import(self, module_id: str, path: Path) -> None:
        from .transports.python import import_package

        package = discovery.find_package_dir(module_id, path)
        if package is None:
            raise _no_package(module_id, path)
        try:
            module = import_package(package)
        except Exception as error:
            raise _import_failed(module_id, path, error) from error
        self._adopt(module_id, getattr(module, "mount", None), module, strict=True)
        self._add_path(package.parent)

    def _adopt(
        self, module_id: str, raw: Any, home: ModuleType | None, *, strict: bool = False
    ) -> None:
        """Check what was imported and keep it: its mount function and `on_session_ready`."""
        from .transports.python import check_mount, ready_function

        _checked_type(module_id, getattr(home, discovery.TYPE_MARKER, None))
        check_mount(module_id, raw)
        self._ready_functions[module_id] = ready_function(module_id, home, strict)
        self._loaded_modules[module_id] = raw

    def _bind(self, module_id: str, config: dict[str, Any]) -> MountFunction:
        """A fresh mount function with this config; the raw one may serve many entries."""
        raw = self._loaded_modules[module_id]
        mount = _checked(module_id, lambda coordinator: raw(coordinator, config))
        ready = self._ready_functions.get(module_id)
        if ready is not None:
            mount.__on_session_ready__ = (module_id, ready)  # type: ignore[attr-defined]
        return mount

    def _add_path(self, path: Path) -> None:
        entry = str(path.absolute())
        if entry not in sys.path:
            sys.path.insert(0, entry)
            self._added_paths.append(entry)

    # -- mounting and cleaning up -----------------------------------------------------

    async def initialize(self, module: MountFunction, coordinator: ModuleCoordinator) -> Any:
        """Mount what `load` returned; the result is its cleanup, if it has one."""
        try:
            return await module(coordinator)
        except Exception as error:
            logger.error("Failed to initialize module: %s", error)
            raise

    def cleanup(self) -> None:
        """Take back what this loader added to `sys.path`; imported code stays imported."""
        for entry in reversed(self._added_paths):
            if entry in sys.path:
                sys.path.remove(entry)
        self._added_paths.clear()

    def enqueue_on_session_ready(self, module_id: str, fn: ReadyFunction) -> None:
        self._on_session_ready_queue.append((module_id, fn))

    def get_on_session_ready_queue(self) -> list[tuple[str, ReadyFunction]]:
        return list(self._on_session_ready_queue)

    def clear_on_session_ready_queue(self) -> None:
        self._on_session_ready_queue.clear()


async def _resolve(resolver: Any, module_id: str, hint: Any) -> Path:
    hints = {"source_hint": hint, "profile_hint": hint}
    if hasattr(resolver, "async_resolve"):
        source = await resolver.async_resolve(module_id, **hints)
    else:
        source = resolver.resolve(module_id, **hints)
    return Path(source if isinstance(source, str) else source.resolve())


def _manifest(path: Path) -> Manifest:
    from .transports import read_manifest

    try:
        return read_manifest(path)
    except ValueError as error:
        raise ModuleValidationError(str(error), reason_code="invalid_module_metadata") from error


def _conventional_package(module_id: str) -> ModuleType | None:
    name = discovery.package_name(module_id)
    if not name.isidentifier():
        return None
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ImportError) and error.name == name:
            return None
        raise _import_failed(module_id, f"package {name!r}", error) from error


def _import_failed(module_id: str, place: object, error: Exception) -> _ModuleDiscoveryError:
    return _ModuleDiscoveryError(
        f"Module {module_id!r} was found at {place} but failed to load: "
        f"{type(error).__name__}: {error}. Mend its code, or reinstall the package it is in.",
        reason_code="invalid_entry_point",
    )


def _no_package(module_id: str, path: Path) -> ModuleValidationError:
    exists = path.exists()
    folder = discovery.package_name(module_id)
    advice = f"Put its code into a folder {folder!r} with an `__init__.py`."
    return ModuleValidationError(
        f"Module {module_id!r} has no valid Python package at {path}. "
        f"{advice if exists else 'Check its `source`: there is no such directory.'}",
        reason_code="invalid_package_layout" if exists else "missing_source",
    )


def _describe(module_id: str, place: list[EntryPoint] | Path) -> ModuleInfo:
    if isinstance(place, Path):
        kind, version = _type_in(module_id, place), "1.0.0"
    else:
        kind = discovery.guess_type(module_id)
        version = discovery.version_of(discovery.winner(module_id, place))
    return ModuleInfo(
        id=module_id,
        name=module_id.replace("-", " ").title(),
        version=version,
        type=kind,
        mount_point=TYPE_TO_MOUNT_POINT[kind],
        description=f"Module: {module_id}",
    )


def _type_in(module_id: str, path: Path) -> ModuleKind:
    """The kind of the module in a directory, by its own word or by its id."""
    manifest = _manifest(path)
    package = discovery.find_package_dir(module_id, path)
    marker = discovery.declared_type(package) if package else None
    return _checked_type(module_id, marker or manifest.module_type)


def _checked_type(module_id: str, declared: Any) -> ModuleKind:
    """The declared kind of a module, or the one its id suggests."""
    if not declared:
        return discovery.guess_type(module_id)
    if not isinstance(declared, str) or declared not in TYPE_TO_MOUNT_POINT:
        raise ModuleValidationError(
            f"Module {module_id!r} has unknown type {declared!r} in {discovery.TYPE_MARKER}. "
            f"Use one of {', '.join(TYPE_TO_MOUNT_POINT)}.",
            reason_code="invalid_module_metadata",
        )
    return declared  # type: ignore[return-value]


# -- what the real mount installed ----------------------------------------------------


def _checked(module_id: str, mount: Callable[[Any], Any]) -> MountFunction:
    """`mount`, held to the contract; when it fails, nothing of it stays mounted."""

    async def checked(coordinator: Any) -> Any:
        before = Mounting(coordinator)
        returned = None
        try:
            returned = mount(coordinator)
            if inspect.isawaitable(returned):
                returned = await returned
            _check_installed(module_id, before)
        except BaseException:
            if inspect.isroutine(returned):
                coordinator.register_cleanup(returned)
            await before.undo()
            raise
        return returned

    checked.__module_id__ = module_id  # type: ignore[attr-defined]
    return checked


def _check_installed(module_id: str, before: Mounting) -> None:
    """Refuse what the module mounted if it does not keep the contract of its place."""
    for point, name, module in before.installed():
        missing = [each for each in REQUIRED_MEMBERS.get(point, ()) if not _has(module, each)]
        if missing:
            what = f"{point}[{name!r}]" if name is not None else point
            raise ModuleValidationError(
                f"Module {module_id!r} mounted {type(module).__name__} at {what}, which lacks "
                f"{', '.join(missing)}. Add what the contract of {point} asks for."
            )


def _has(module: Any, member: str) -> bool:
    try:
        found = getattr(module, member)
    except Exception:
        return False
    return callable(found) if member not in ("name", "description") else True
