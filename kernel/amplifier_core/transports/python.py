"""Modules written in Python: found, imported from exactly that place, and checked."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakSet

from ..loader import ModuleValidationError, RawMount, ReadyFunction, _ModuleDiscoveryError
from . import checked_type

PACKAGE_PREFIX = "amplifier_module_"
TYPE_MARKER = "__amplifier_module_type__"

logger = logging.getLogger("amplifier_core.loader")

_lock = threading.RLock()

# Every session loads the same few functions, and reading a signature is slow.
_sound: WeakSet[Callable[..., Any]] = WeakSet()

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# -- finding --------------------------------------------------------------------------


def package_name(module_id: str) -> str:
    return PACKAGE_PREFIX + module_id.replace("-", "_")


def find_package_dir(module_id: str, path: Path) -> Path | None:
    """The Python package of a module: `path` itself, or the right folder below it."""
    if (path / "__init__.py").is_file():
        return path
    for root in (path, path / "src"):
        expected = root / package_name(module_id)
        for package in (expected, *sorted(root.glob(f"{PACKAGE_PREFIX}*"))):
            if (package / "__init__.py").is_file():
                return package
    return None


def declared_type(package: Path) -> Any:
    """The type marker of a package, read from its source without running it; else None."""
    import ast

    try:
        tree = ast.parse((package / "__init__.py").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    declared: Any = None
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if TYPE_MARKER in [each.id for each in targets if isinstance(each, ast.Name)]:
                with suppress(ValueError):
                    declared = ast.literal_eval(node.value)
    return declared


# -- loading --------------------------------------------------------------------------


class Imported(NamedTuple):
    """A module's code, checked but not run."""

    mount: RawMount
    ready: ReadyFunction | None
    root: str | None = None
    """What has to be on sys.path for it, if it was not importable before."""


# Every session asks for its modules anew; what they are does not change while they are imported.
_from_entry_points: dict[EntryPoint, tuple[ModuleType, Imported]] = {}


def import_directory(module_id: str, path: Path) -> Imported:
    """Import the module in directory `path`.

    Raises:
        ModuleValidationError: there is no package, or it is no valid module.
    """
    package = find_package_dir(module_id, path)
    if package is None:
        raise _no_package(module_id, path)
    try:
        module = import_package(package)
    except Exception as error:
        raise ModuleValidationError(_failed_to_load(module_id, path, error)) from error
    imported = _checked(module_id, getattr(module, "mount", None), module, strict=True)
    return imported._replace(root=str(package.parent.absolute()))


def import_entry_point(module_id: str, point: EntryPoint) -> Imported:
    """Import what an entry point names; `on_session_ready` is looked for beside it."""
    home, imported = _from_entry_points.get(point, (None, None))
    if imported is not None and sys.modules.get(imported.mount.__module__) is home:
        return imported
    try:
        mount = point.load()
    except Exception as error:
        raise _import_failed(module_id, "its entry point", error) from error
    home = sys.modules.get(getattr(mount, "__module__", None) or "")
    imported = _checked(module_id, mount, home)
    if home is not None:
        _from_entry_points[point] = home, imported
    return imported


def import_conventional(module_id: str) -> Imported | None:
    """Import the package that is named after the module, if there is one on sys.path."""
    name = package_name(module_id)
    if not name.isidentifier():
        return None
    try:
        module = importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ImportError) and error.name == name:
            return None
        raise _import_failed(module_id, f"package {name!r}", error) from error
    return _checked(module_id, getattr(module, "mount", None), module)


def _no_package(module_id: str, path: Path) -> ModuleValidationError:
    exists = path.exists()
    advice = f"Put its code into a folder {package_name(module_id)!r} with an `__init__.py`."
    return ModuleValidationError(
        f"Module {module_id!r} has no valid Python package at {path}. "
        f"{advice if exists else 'Check its `source`: there is no such directory.'}",
        reason_code="invalid_package_layout" if exists else "missing_source",
    )


def _import_failed(module_id: str, place: str, error: Exception) -> _ModuleDiscoveryError:
    text = _failed_to_load(module_id, place, error)
    return _ModuleDiscoveryError(text, reason_code="invalid_entry_point")


def _failed_to_load(module_id: str, place: object, error: Exception) -> str:
    return (
        f"Module {module_id!r} was found at {place} but failed to load: "
        f"{type(error).__name__}: {error}. Mend its code, or reinstall the package it is in."
    )


# -- importing ------------------------------------------------------------------------


def import_package(path: Path) -> ModuleType:
    """Import the package directory or file `path` under its own name.

    The import system is asked as usual, so relative imports and later lazy ones work. A
    name that is taken by other code is refused rather than replaced: code from one place
    must never run as if it came from another.

    Raises:
        ImportError: the name belongs to other code, or the import itself failed.
    """
    # Links are not followed yet: a package is named as the link to it is.
    path = Path(os.path.abspath(path))
    name, file = (path.name, path / "__init__.py") if path.is_dir() else (path.stem, path)
    with _lock:
        _refuse_foreign_parts(name, path.resolve())
        loaded = sys.modules.get(name)
        if loaded is None:
            loaded = _import_from(name, path.parent)
        _refuse_other_file(name, loaded, file.resolve())
        return loaded


def _import_from(name: str, parent: Path) -> ModuleType:
    known = set(sys.modules)
    entry = str(parent)
    sys.path.insert(0, entry)
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    except BaseException:
        # Parts of a package that failed to import must not serve a later attempt.
        for left in [each for each in sys.modules if each.startswith(f"{name}.")]:
            if left not in known:
                del sys.modules[left]
        raise
    finally:
        # Only our own entry: other threads, and the package itself, may have added theirs.
        if entry in sys.path:
            sys.path.remove(entry)


def _refuse_other_file(name: str, module: ModuleType, file: Path) -> None:
    origin = _origin(module)
    if origin != file:
        raise ImportError(
            f"Package {name!r} is already imported from {origin}, not from {file}. "
            f"Rename one of the two, or run them in separate processes.",
            name=name,
        )


def _refuse_foreign_parts(name: str, path: Path) -> None:
    """A cached `name.part` from elsewhere would be used by this package's own imports."""
    for key, part in list(sys.modules.items()):
        if key.startswith(f"{name}."):
            origin = _origin(part)
            if origin is not None and not origin.is_relative_to(path):
                raise ImportError(
                    f"Module {key!r} is already imported from {origin}, outside {path}. "
                    f"Rename one of the two, or run them in separate processes.",
                    name=name,
                )


def _origin(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


# -- checking -------------------------------------------------------------------------


def _checked(
    module_id: str, mount: Any, home: ModuleType | None, *, strict: bool = False
) -> Imported:
    """What was imported, if a session can use it; never calls it.

    Raises:
        ModuleValidationError: its type is unknown, or it cannot be mounted. If `strict`,
            also when `on_session_ready` cannot be called; otherwise that one is skipped.
    """
    marker = getattr(home, TYPE_MARKER, None)
    if marker:
        checked_type(module_id, marker)
    problem = _mount_problem(mount)
    if problem is not None:
        shape = "async def mount(coordinator, config)"
        raise _refusal(module_id, problem, shape)
    ready = getattr(home, "on_session_ready", None)
    problem = _ready_problem(ready) if ready is not None else None
    if problem is not None:
        if strict:
            shape = "async def on_session_ready(coordinator)"
            raise _refusal(module_id, f"on_session_ready {problem}", shape)
        logger.warning("on_session_ready of module %r %s; it is skipped", module_id, problem)
        ready = None
    return Imported(mount, ready)


def _refusal(module_id: str, problem: str, shape: str) -> ModuleValidationError:
    return ModuleValidationError(
        f"Module {module_id!r} failed validation: {problem}. Write `{shape}`.",
        reason_code="invalid_entry_point",
    )


def _mount_problem(mount: Any) -> str | None:
    if mount is None:
        return "it has no mount function"
    if not callable(mount):
        return f"mount is {type(mount).__name__}, not a function"
    # A callable object speaks for itself when it is called.
    if not inspect.isfunction(mount) or mount in _sound:
        return None
    if not inspect.iscoroutinefunction(inspect.unwrap(mount)):
        return "mount is not async"
    try:
        inspect.signature(mount).bind(None, None)
    except TypeError as error:
        return f"mount does not take 2 parameters ({error})"
    _sound.add(mount)
    return None


def _ready_problem(ready: Callable[..., Any]) -> str | None:
    if not inspect.iscoroutinefunction(ready):
        return "is not async"
    parameters = inspect.signature(ready).parameters.values()
    takes_coordinator = any(
        each.kind in _POSITIONAL and each.default is each.empty for each in parameters
    )
    return None if takes_coordinator else "takes no coordinator"
