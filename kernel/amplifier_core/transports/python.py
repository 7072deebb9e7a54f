"""Imports a Python module's package from exactly the place it was found at."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import ModuleType

_lock = threading.RLock()


def import_package(path: Path) -> ModuleType:
    """Import the package directory or file `path` under its own name.

    The import system is asked as usual, so relative imports and later lazy ones work. A
    name that is taken by other code is refused rather than replaced: code from one place
    must never run as if it came from another.

    Raises:
        ImportError: the name belongs to other code, or the import itself failed.
    """
    path = Path(path).resolve()
    name, file = (path.name, path / "__init__.py") if path.is_dir() else (path.stem, path)
    with _lock:
        _refuse_foreign_parts(name, path)
        loaded = sys.modules.get(name)
        if loaded is None:
            loaded = _import_from(name, path.parent)
        _refuse_other_file(name, loaded, file)
        return loaded


def _import_from(name: str, parent: Path) -> ModuleType:
    known = set(sys.modules)
    before = list(sys.path)
    sys.path.insert(0, str(parent))
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
        sys.path[:] = before


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
