"""From a module id to a mount function: find it, import it, check it, bind its config.

Order of preference: an explicit source, installed entry points, search paths, the
directories in AMPLIFIER_MODULES, and last a package of the conventional name. Loading
never runs `mount()`. How code of each language is reached is in `transports`.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._mounting import Mounting
from .coordinator import ModuleCoordinator
from .models import ModuleInfo
from .module_sources import ModuleNotFoundError, find_directory, local_path, module_directories
from .utils.spelling import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .transports.python import Imported

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
    if isinstance(error, ModuleValidationError | _ModuleDiscoveryError):
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
        self._imported: dict[str, Imported] = {}
        self._module_info: dict[str, ModuleInfo] = {}
        self._added_paths: list[str] = []
        self._on_session_ready_queue: list[tuple[str, ReadyFunction]] = []

    # -- discovering ------------------------------------------------------------------

    async def discover(self) -> list[ModuleInfo]:
        """Every module with a mount point that `load` would find by its id.

        No module code is run. What cannot be described is logged and left out.
        """
        found: dict[str, ModuleInfo | None] = {}
        for module_id, place in self._places():
            if module_id not in found:
                found[module_id] = _describe(module_id, place)
        infos = [info for info in found.values() if info is not None]
        self._module_info.update({info.id: info for info in infos})
        return infos

    def _places(self) -> list[tuple[str, Any]]:
        """Who offers which id: entry points or a directory, the preferred first."""
        from .transports import entry_points

        return [*entry_points.installed.table().items(), *module_directories(self._search_paths)]

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
        unresolved: ModuleNotFoundError | None = None
        try:
            path = await self._source(module_id, hint, coordinator)
        except ModuleNotFoundError as error:
            path, unresolved = None, error
        if path is not None:
            return await self._load_path(module_id, path, config, coordinator)
        mount = await self._load_direct(module_id, config, coordinator)
        if mount is None:
            raise unresolved or self._not_found(module_id, hint)
        return mount

    async def _source(self, module_id: str, hint: Any, coordinator: Any) -> Path | None:
        """The directory that an explicit source means; None to look the id up."""
        resolver = self._resolver(coordinator)
        if resolver is None:
            path = local_path(hint)
            if path is None and hint is not None:
                logger.warning("Source %r of module %r needs a resolver", hint, module_id)
            return path
        hints = {"source_hint": hint, "profile_hint": hint}
        if hasattr(resolver, "async_resolve"):
            source = await resolver.async_resolve(module_id, **hints)
        else:
            source = resolver.resolve(module_id, **hints)
        return Path(source if isinstance(source, str) else source.resolve())

    def _resolver(self, coordinator: Any) -> Any:
        for owner in {id(each): each for each in (coordinator, self._coordinator)}.values():
            try:
                resolver = owner.get("module-source-resolver") if owner is not None else None
            except ValueError:
                continue
            if resolver is not None:
                return resolver
        return None

    async def _load_direct(
        self, module_id: str, config: dict[str, Any], coordinator: Any
    ) -> MountFunction | None:
        """Load by id alone, as installed or found in the search directories."""
        if module_id in self._loaded_modules:
            return self._bind(module_id, config)
        entry_points, python = _transports()
        failure: Exception | None = None
        point = entry_points.installed.find(module_id)
        if point is not None:
            try:
                return self._adopt(module_id, config, python.import_entry_point(module_id, point))
            except _ModuleDiscoveryError as error:
                failure = error
                logger.error("Entry point of module %r failed to load", module_id, exc_info=error)
        path = find_directory(module_id, self._search_paths)
        if path is not None:
            return await self._load_path(module_id, path, config, coordinator)
        imported = python.import_conventional(module_id)
        if imported is not None:
            return self._adopt(module_id, config, imported)
        if failure is not None:
            raise failure
        return None

    def _not_found(self, module_id: str, hint: Any) -> _ModuleDiscoveryError:
        if hint is not None:
            advice = f"Its source {hint!r} needs a module source resolver, and none is mounted."
        else:
            known = [known_id for known_id, _ in self._places()]
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
        if known is not None:
            if known != path.resolve():
                raise ImportError(
                    f"Module {module_id!r} is already loaded from {known}; refusing to load it "
                    f"from {path}. Use one source for one id.",
                    name=module_id,
                )
            return self._bind(module_id, config)
        from .transports import python, read_manifest, transport_loader

        manifest = read_manifest(path)
        if manifest.transport != "python":
            load, owner = transport_loader(manifest.transport), coordinator or self._coordinator
            return _checked(module_id, await load(module_id, manifest, config, owner))
        mount = self._adopt(module_id, config, python.import_directory(module_id, path))
        self._loaded_module_paths[module_id] = path.resolve()
        return mount

    def _adopt(self, module_id: str, config: dict[str, Any], imported: Imported) -> MountFunction:
        """Keep what was imported, for this and later loads."""
        self._loaded_modules[module_id] = imported.mount
        self._imported[module_id] = imported
        return self._bind(module_id, config)

    def _bind(self, module_id: str, config: dict[str, Any]) -> MountFunction:
        """A fresh mount function with this config; the raw one may serve many entries."""
        raw = self._loaded_modules[module_id]
        mount = _checked(module_id, lambda coordinator: raw(coordinator, config))
        imported = self._imported.get(module_id)
        if imported is not None and imported.root is not None and imported.root not in sys.path:
            sys.path.insert(0, imported.root)
            self._added_paths.append(imported.root)
        if imported is not None and imported.ready is not None:
            mount.__on_session_ready__ = (module_id, imported.ready)  # type: ignore[attr-defined]
        return mount

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


@cache
def _transports() -> tuple[Any, Any]:
    """Where Python modules come from, imported when the first one is asked for."""
    from .transports import entry_points, python

    return entry_points, python


def _describe(module_id: str, place: list[EntryPoint] | Path) -> ModuleInfo | None:
    from .transports import entry_points, guess_type, module_type

    try:
        if isinstance(place, Path):
            kind, version = module_type(module_id, place), "1.0.0"
        else:
            point = entry_points.winner(module_id, place)
            kind, version = guess_type(module_id), entry_points.version_of(point)
    except (ValueError, ModuleValidationError) as error:
        logger.error("Module %r is left out: %s", module_id, error)
        return None
    if kind not in TYPE_TO_MOUNT_POINT:
        return None
    return ModuleInfo(
        id=module_id,
        name=module_id.replace("-", " ").title(),
        version=version,
        type=kind,
        mount_point=TYPE_TO_MOUNT_POINT[kind],
        description=f"Module: {module_id}",
    )


# -- what the real mount installed ----------------------------------------------------


def _checked(module_id: str, mount: Callable[[Any], Any]) -> MountFunction:
    """`mount`, held to the contract; when it fails, nothing of it stays mounted."""

    async def mount_watched(before: Mounting) -> Any:
        returned = mount(before.coordinator)
        if inspect.isawaitable(returned):
            returned = await returned
        try:
            _check_installed(module_id, before)
        except ModuleValidationError:
            if inspect.isroutine(returned):
                before.coordinator.register_cleanup(returned)
            raise
        return returned

    async def checked(coordinator: Any) -> Any:
        before = Mounting(coordinator)
        try:
            return await mount_watched(before)
        except BaseException:
            await before.undo()
            raise

    checked.__module_id__ = module_id  # type: ignore[attr-defined]
    checked.__mount_watched__ = mount_watched  # type: ignore[attr-defined]
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
    return member in ("name", "description") or callable(found)
