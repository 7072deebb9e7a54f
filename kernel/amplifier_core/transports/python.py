"""Imports a Python module's package from exactly the place it was found at, and checks it."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ..loader import ModuleValidationError

logger = logging.getLogger("amplifier_core.loader")

_lock = threading.RLock()

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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


def check_mount(module_id: str, mount: Any) -> None:
    """Refuse a mount that cannot be awaited with two arguments; never calls it."""
    problem = _mount_problem(mount)
    if problem is not None:
        raise ModuleValidationError(
            f"Module {module_id!r} failed validation: {problem}. "
            f"Write `async def mount(coordinator, config)`.",
            reason_code="invalid_entry_point",
        )


def _mount_problem(mount: Any) -> str | None:
    if mount is None:
        return "it has no mount function"
    if not callable(mount):
        return f"mount is {type(mount).__name__}, not a function"
    if not inspect.isfunction(mount):
        return None  # a callable object speaks for itself when it is called
    if not inspect.iscoroutinefunction(inspect.unwrap(mount)):
        return "mount is not async"
    try:
        inspect.signature(mount).bind(None, None)
    except TypeError as error:
        return f"mount does not take 2 parameters ({error})"
    return None


def ready_function(
    module_id: str, home: ModuleType | None, strict: bool
) -> Callable[[Any], Awaitable[Any]] | None:
    """The module's `on_session_ready`; an unusable one is skipped, or refused if `strict`."""
    ready: Callable[[Any], Awaitable[Any]] | None = getattr(home, "on_session_ready", None)
    problem = _ready_problem(ready) if ready is not None else None
    if problem is None:
        return ready
    if strict:
        raise ModuleValidationError(
            f"Module {module_id!r} failed validation: on_session_ready {problem}. "
            f"Write `async def on_session_ready(coordinator)`.",
            reason_code="invalid_entry_point",
        )
    logger.warning("on_session_ready of module %r %s; it is skipped", module_id, problem)
    return None


def _ready_problem(ready: Callable[..., Any]) -> str | None:
    if not inspect.iscoroutinefunction(ready):
        return "is not async"
    parameters = inspect.signature(ready).parameters.values()
    takes_coordinator = any(
        each.kind in _POSITIONAL and each.default is each.empty for each in parameters
    )
    return None if takes_coordinator else "takes no coordinator"
