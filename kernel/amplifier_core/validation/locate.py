"""Finds the Python package that a path means, and the type that its name suggests."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..module_sources import DIRECTORY_PREFIX
from ..transports import NAME_HINTS as _NAME_HINTS
from ..transports.entry_points import ENTRY_POINT_GROUP
from ..transports.python import PACKAGE_PREFIX, find_package_dir

__all__ = ["NotAModule", "find_module", "module_ids", "type_from_name"]


class NotAModule(ValueError):
    """There is no Python module at the path; the text says what to point at instead."""


def find_module(path: Path) -> Path:
    """The package folder or Python file of the module at `path`.

    `path` may be the package itself, one of its repository's root, or a single file. In a
    repository the package named after it comes first, then any `amplifier_module_*`, then
    what `pyproject.toml` registers; each also under `src`.
    """
    path = path.resolve()
    if not path.exists():
        raise NotAModule(f"{path} does not exist. Check the spelling.")
    if path.is_file():
        if path.suffix != ".py":
            raise NotAModule(f"{path.name} is not a Python file. Give the package's folder.")
        return path.parent if path.name == "__init__.py" else path
    module_id = path.name.removeprefix(DIRECTORY_PREFIX)
    found = find_package_dir(module_id, path) or _registered_module(path)
    if found is None:
        raise NotAModule(
            f"{path} has no __init__.py, and no folder {PACKAGE_PREFIX}* with one. "
            f"Give the folder of the Python package, or add its __init__.py."
        )
    return found


def _registered_module(root: Path) -> Path | None:
    for value in _entry_points(root).values():
        name = str(value).partition(":")[0]
        for folder in (root, root / "src"):
            if (folder / name / "__init__.py").is_file():
                return folder / name
            if (folder / f"{name}.py").is_file():
                return folder / f"{name}.py"
    return None


def _entry_points(root: Path) -> dict[str, Any]:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return dict(project["entry-points"][ENTRY_POINT_GROUP])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def module_ids(path: Path, package: Path) -> list[str]:
    """The names that may tell a module's type, the most telling first."""
    registered = [
        module_id
        for module_id, value in _entry_points(path).items()
        if str(value).partition(":")[0] == package.stem
    ]
    return [*registered, package.stem.removeprefix(PACKAGE_PREFIX), path.name]


def type_from_name(*names: str) -> str | None:
    """The type that the first telling name suggests."""
    for name in names:
        for hint, module_type in _NAME_HINTS:
            if hint in name.lower():
                return module_type
    return None
