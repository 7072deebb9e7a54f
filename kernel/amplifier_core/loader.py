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
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _discovery as discovery
from ._discovery import ModuleKind, did_you_mean
from ._mounting import Mounting
from .coordinator import ModuleCoordinator
from .models import ModuleInfo
from .module_sources import ModuleNotFoundError

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

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

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
        self,
        coordinator: ModuleCoordinator | None = None,
        search_paths: list[Path] | None = None,
    ) -> None:
        self._coordinator = coordinator
        self._search_paths = search_paths
        self._loaded_modules: dict[str, RawMount] = {}
        self._loaded_module_paths: dict[str, Path] = {}
        self._ready_functions: dict[str, ReadyFunction] = {}
        self._module_info: dict[str, ModuleInfo] = {}
        self._added_paths: list[str] = []
        self._on_session_ready_queue: list[tuple[str, ReadyFunction]] = []

    # -- discovering ------------------------------------------------------------------

    async def discover(self) -> list[ModuleInfo]:
        """Every module that `load` would find by its id; no module code is run."""
        found: dict[str, ModuleInfo] = {}
        for module_id, points in discovery.installed.table().items():
            kind = discovery.guess_type(module_id)
            found[module_id] = _info(module_id, kind, discovery.version_of(points[0]))
        for module_id, path in discovery.module_directories(self._search_paths):
            if module_id not in found:
                try:
                    found[module_id] = _info(module_id, self._type_in(module_id, path))
                except ModuleValidationError as error:
                    logger.error("Module %r is left out: %s", module_id, error)
        self._module_info.update(found)
        return list(found.values())

    def _type_in(self, module_id: str, path: Path) -> ModuleKind:
        package = discovery.find_package_dir(module_id, path)
        declared = discovery.declared_type(package) if package else None
        return _checked_type(module_id, declared)

    # -- loading ----------------------------------------------------------------------

    async def load(
        self,
        module_id: str,
        config: dict[str, Any] | None = None,
        source_hint: Any = None,
        coordinator: ModuleCoordinator | None = None,
    ) -> MountFunction:
        """A function that mounts module `module_id` with `config` on a coordinator.

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
        resolver = self._resolver(coordinator)
        if resolver is None and not _is_path(hint):
            if hint is not None:
                logger.warning("Source %r of module %r needs a resolver", hint, module_id)
            return await self._load_direct(module_id, config, hint, coordinator)
        try:
            path = await _resolve(resolver, module_id, hint)
        except ModuleNotFoundError:
            try:
                return await self._load_direct(module_id, config, hint, coordinator)
            except _ModuleDiscoveryError as error:
                if error.reason_code != "missing_source":
                    raise
            raise
        return await self._load_path(module_id, path, config, coordinator)

    def _resolver(self, coordinator: Any) -> Any:
        for owner in (coordinator, self._coordinator):
            if owner is not None:
                try:
                    resolver = owner.get("module-source-resolver")
                except ValueError:
                    continue
                if resolver is not None:
                    return resolver
        return None

    async def _load_direct(
        self, module_id: str, config: dict[str, Any], hint: Any, coordinator: Any
    ) -> MountFunction:
        """Load by id alone, as installed or found in the search directories."""
        raw = self._loaded_modules.get(module_id)
        failure: Exception | None = None
        if raw is None:
            raw, failure = self._installed_mount(module_id)
        if raw is None:
            path = discovery.find_directory(module_id, self._search_paths)
            if path is not None:
                return await self._load_path(module_id, path, config, coordinator)
            raw = self._conventional_mount(module_id)
        if raw is None:
            raise self._not_found(module_id, hint, failure) from failure
        self._loaded_modules[module_id] = raw
        return self._bind(module_id, raw, config)

    def _installed_mount(self, module_id: str) -> tuple[RawMount | None, Exception | None]:
        point = discovery.installed.find(module_id)
        if point is None:
            return None, None
        try:
            raw = point.load()
        except Exception as error:
            logger.error("Entry point of module %r failed to load", module_id, exc_info=error)
            return None, error
        _check_mount(module_id, raw)
        self._note_ready(module_id, _home_of(raw), strict=False)
        return raw, None

    def _not_found(
        self, module_id: str, hint: Any, failure: Exception | None
    ) -> _ModuleDiscoveryError:
        if failure is not None:
            return _ModuleDiscoveryError(
                f"Module {module_id!r} is installed but its entry point fails to load: "
                f"{type(failure).__name__}: {failure}. Reinstall the package that offers it.",
                reason_code="invalid_entry_point",
            )
        if hint is not None:
            advice = f"Its source {hint!r} needs a module source resolver, and none is mounted."
        else:
            known = [*discovery.installed.table(), *self._directory_ids()]
            advice = did_you_mean(module_id, known, "Install it, or give the entry a `source`.")
        return _ModuleDiscoveryError(
            f"Module {module_id!r} is not installed. {advice}", reason_code="missing_source"
        )

    def _directory_ids(self) -> list[str]:
        return [name for name, _ in discovery.module_directories(self._search_paths)]

    async def _load_path(
        self, module_id: str, path: Path, config: dict[str, Any], coordinator: Any
    ) -> MountFunction:
        """Load the module in directory `path`, whatever its transport."""
        self._refuse_second_home(module_id, path)
        known = self._loaded_module_paths.get(module_id)
        if known is not None:
            return self._bind(module_id, self._loaded_modules[module_id], config)
        foreign = await self._load_foreign(module_id, path, config, coordinator)
        if foreign is not None:
            return foreign
        raw = self._import_mount(module_id, path)
        self._loaded_modules[module_id] = raw
        self._loaded_module_paths[module_id] = path.resolve()
        return self._bind(module_id, raw, config)

    def _refuse_second_home(self, module_id: str, path: Path) -> None:
        known = self._loaded_module_paths.get(module_id)
        if known is not None and known != path.resolve():
            raise ImportError(
                f"Module {module_id!r} is already loaded from {known}; refusing to load it "
                f"from {path}. Use one source for one id.",
                name=module_id,
            )

    async def _load_foreign(
        self, module_id: str, path: Path, config: dict[str, Any], coordinator: Any
    ) -> MountFunction | None:
        from .transports import read_manifest, transport_loader

        try:
            manifest = read_manifest(path)
        except ValueError as error:
            raise ModuleValidationError(
                str(error), reason_code="invalid_module_metadata"
            ) from error
        if manifest.transport == "python":
            return None
        return await transport_loader(manifest.transport)(
            module_id, manifest, config, coordinator or self._coordinator
        )

    def _import_mount(self, module_id: str, path: Path) -> RawMount:
        from .transports.python import import_package

        package = discovery.find_package_dir(module_id, path)
        if package is None:
            reason = "invalid_package_layout" if path.exists() else "missing_source"
            raise ModuleValidationError(
                f"Module {module_id!r} has no valid Python package at {path}. Put its code into "
                f"a folder {discovery.package_name(module_id)!r} with an `__init__.py`.",
                reason_code=reason,
            )
        self._add_path(path)
        try:
            module = import_package(package)
        except Exception as error:
            raise _ModuleDiscoveryError(
                f"Module {module_id!r} was found at {path} but failed to load: "
                f"{type(error).__name__}: {error}",
                reason_code="invalid_entry_point",
            ) from error
        _checked_type(module_id, getattr(module, discovery.TYPE_MARKER, None))
        raw = _mount_in(module_id, module)
        self._note_ready(module_id, module, strict=True)
        return raw

    def _conventional_mount(self, module_id: str) -> RawMount | None:
        try:
            module = importlib.import_module(discovery.package_name(module_id))
            raw = _mount_in(module_id, module)
        except (ImportError, ModuleValidationError) as error:
            logger.debug("No conventional package for module %r: %s", module_id, error)
            return None
        self._note_ready(module_id, module, strict=False)
        return raw

    def _note_ready(self, module_id: str, home: ModuleType | None, strict: bool) -> None:
        """Remember the module's `on_session_ready`, if it has a usable one."""
        ready = getattr(home, "on_session_ready", None)
        problem = _ready_problem(module_id, ready)
        if problem and strict:
            raise ModuleValidationError(
                f"{problem}. Write `async def on_session_ready(coordinator)`.",
                reason_code="invalid_entry_point",
            )
        if problem:
            logger.warning("%s; it is skipped", problem)
        elif ready is not None:
            self._ready_functions[module_id] = ready

    def _bind(self, module_id: str, raw: RawMount, config: dict[str, Any]) -> MountFunction:
        """A fresh mount function with this config; the raw one may serve many entries."""

        async def mount(coordinator: Any) -> Any:
            before = Mounting(coordinator)
            returned: Any = raw(coordinator, config)
            if inspect.isawaitable(returned):
                returned = await returned
            _check_installed(module_id, before)
            return returned

        mount.__module_id__ = module_id  # type: ignore[attr-defined]
        ready = self._ready_functions.get(module_id)
        if ready is not None:
            mount.__on_session_ready__ = (module_id, ready)  # type: ignore[attr-defined]
        return mount

    def _add_path(self, path: Path) -> None:
        entry = str(path)
        if entry not in sys.path:
            sys.path.insert(0, entry)
            self._added_paths.append(entry)

    # -- mounting and cleaning up -----------------------------------------------------

    async def initialize(
        self, module: MountFunction, coordinator: ModuleCoordinator
    ) -> Callable[[], Any] | None:
        """Mount what `load` returned; the result is its cleanup, if it has one."""
        try:
            cleanup: Callable[[], Any] | None = await module(coordinator)
        except Exception as error:
            logger.error("Failed to initialize module: %s", error)
            raise
        return cleanup

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


def _is_path(hint: Any) -> bool:
    """Whether a source is a local directory, which needs no resolver."""
    return isinstance(hint, Path) or (
        isinstance(hint, str) and hint.startswith(("/", "./", "../", "file://"))
    )


async def _resolve(resolver: Any, module_id: str, hint: Any) -> Path:
    if resolver is None:
        return Path(str(hint).removeprefix("file://"))
    hints = {"source_hint": hint, "profile_hint": hint}
    if hasattr(resolver, "async_resolve"):
        source = await resolver.async_resolve(module_id, **hints)
    else:
        source = resolver.resolve(module_id, **hints)
    return Path(source.resolve())


def _info(module_id: str, kind: ModuleKind, version: str = "1.0.0") -> ModuleInfo:
    return ModuleInfo(
        id=module_id,
        name=module_id.replace("-", " ").title(),
        version=version,
        type=kind,
        mount_point=TYPE_TO_MOUNT_POINT[kind],
        description=f"Module: {module_id}",
    )


def _checked_type(module_id: str, declared: Any) -> ModuleKind:
    """The declared kind of a module, or the one its id suggests."""
    if not declared:
        return discovery.guess_type(module_id)
    if not isinstance(declared, str) or declared not in TYPE_TO_MOUNT_POINT:
        raise ModuleValidationError(
            f"Module {module_id!r} declares {discovery.TYPE_MARKER} = {declared!r}. "
            f"Use one of {', '.join(TYPE_TO_MOUNT_POINT)}.",
            reason_code="invalid_module_metadata",
        )
    return declared  # type: ignore[return-value]


def _mount_in(module_id: str, module: ModuleType) -> RawMount:
    raw: RawMount | None = getattr(module, "mount", None)
    if raw is None:
        raise ModuleValidationError(
            f"Module {module_id!r} has no mount function. "
            f"Define `async def mount(coordinator, config)` in {module.__name__!r}.",
            reason_code="invalid_entry_point",
        )
    _check_mount(module_id, raw)
    return raw


def _check_mount(module_id: str, raw: Any) -> None:
    """Refuse a mount that cannot be awaited with two arguments; never calls it."""
    if not callable(raw):
        problem = f"mount is {type(raw).__name__}, not a function"
    elif not inspect.isfunction(raw):
        return  # a callable object speaks for itself when it is called
    elif not inspect.iscoroutinefunction(raw):
        problem = "mount is not async"
    elif len(inspect.signature(raw).parameters) < 2:
        problem = "mount takes fewer than 2 parameters"
    else:
        return
    raise ModuleValidationError(
        f"Module {module_id!r} cannot be mounted: {problem}. "
        f"Write `async def mount(coordinator, config)`.",
        reason_code="invalid_entry_point",
    )


def _home_of(raw: Any) -> ModuleType | None:
    return sys.modules.get(getattr(raw, "__module__", None) or "")


def _ready_problem(module_id: str, ready: Any) -> str | None:
    if ready is None:
        return None
    if not inspect.iscoroutinefunction(ready):
        return f"on_session_ready of module {module_id!r} is not async"
    required = [
        parameter
        for parameter in inspect.signature(ready).parameters.values()
        if parameter.default is parameter.empty and parameter.kind in _POSITIONAL
    ]
    return None if required else f"on_session_ready of module {module_id!r} takes no coordinator"


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
