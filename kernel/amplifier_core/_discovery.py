"""Finds modules without running them: entry points, search directories, naming rules."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger("amplifier_core.loader")

ENTRY_POINT_GROUP = "amplifier.modules"
MODULES_VARIABLE = "AMPLIFIER_MODULES"
DIRECTORY_PREFIX = "amplifier-module-"
PACKAGE_PREFIX = "amplifier_module_"
TYPE_MARKER = "__amplifier_module_type__"
BUNDLED_PREFIX = "amplifier_modules."

ModuleKind = Literal["orchestrator", "provider", "tool", "hook", "context", "resolver"]

_NAME_HINTS: tuple[tuple[str, ModuleKind], ...] = (
    ("orchestrat", "orchestrator"),
    ("loop", "orchestrator"),
    ("provider", "provider"),
    ("tool", "tool"),
    ("hook", "hook"),
    ("context", "context"),
)


class AmbiguousModule(LookupError):
    """Two installed distributions offer one module id, and nothing says which is meant."""

    def __init__(self, module_id: str, owners: list[str]) -> None:
        self.module_id = module_id
        self.owners = owners
        super().__init__(
            f"Module {module_id!r} is offered by {' and '.join(map(repr, owners))}. "
            f"Uninstall one of them, or give the entry a `source`."
        )


class _InstalledModules:
    """The entry points of this process, read once and again only when sys.path has grown."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[EntryPoint]] = {}
        self._seen: tuple[object, list[str]] | None = None

    def table(self) -> dict[str, list[EntryPoint]]:
        import importlib.metadata  # slow to import, and not needed before the first module

        # Someone who replaced the reader (a test, an app's own index) gets a fresh scan.
        if self._seen is None or self._seen[0] is not importlib.metadata.entry_points:
            self._scan()
        return self._by_id

    def find(self, module_id: str) -> EntryPoint | None:
        candidates = self.table().get(module_id)
        if candidates is None and self._seen is not None and self._seen[1] != sys.path:
            self._scan()
            candidates = self._by_id.get(module_id)
        return _winner(module_id, candidates) if candidates else None

    def _scan(self) -> None:
        import importlib.metadata

        reader = importlib.metadata.entry_points
        self._seen = (reader, list(sys.path))
        self._by_id = {}
        for point in reader(group=ENTRY_POINT_GROUP):
            self._by_id.setdefault(point.name, []).append(point)


installed = _InstalledModules()


def _winner(module_id: str, candidates: list[EntryPoint]) -> EntryPoint:
    """A third party's module replaces the bundled one of the same id."""
    foreign = [point for point in candidates if not _is_bundled(point)]
    if len(foreign) > 1:
        raise AmbiguousModule(module_id, sorted(owner(point) for point in foreign))
    if foreign and len(candidates) > 1:
        logger.info("Module %r is taken from %r, not the bundled one", module_id, owner(foreign[0]))
    return foreign[0] if foreign else candidates[0]


def _is_bundled(point: EntryPoint) -> bool:
    return str(getattr(point, "value", "")).startswith(BUNDLED_PREFIX)


def owner(point: EntryPoint) -> str:
    """The distribution that an entry point belongs to, for people to read."""
    name = getattr(getattr(point, "dist", None), "name", None)
    return name if isinstance(name, str) else str(getattr(point, "value", point.name))


def version_of(point: EntryPoint) -> str:
    version = getattr(getattr(point, "dist", None), "version", None)
    return version if isinstance(version, str) else "1.0.0"


def module_directories(search_paths: Iterable[Path] | None) -> Iterator[tuple[str, Path]]:
    """Every `amplifier-module-<id>` directory, in order of priority, as (id, path)."""
    for root in _search_roots(search_paths):
        if not root.is_dir():
            logger.warning("Module search path does not exist: %s", root)
            continue
        for path in sorted(root.glob(f"{DIRECTORY_PREFIX}*")):
            if path.is_dir():
                yield path.name.removeprefix(DIRECTORY_PREFIX), path


def find_directory(module_id: str, search_paths: Iterable[Path] | None) -> Path | None:
    """The directory that serves `module_id` in the search paths, else in the environment."""
    for root in _search_roots(search_paths):
        for name in (DIRECTORY_PREFIX + module_id, package_name(module_id)):
            if (root / name).is_dir():
                return root / name
    return None


def _search_roots(search_paths: Iterable[Path] | None) -> list[Path]:
    variable = os.environ.get(MODULES_VARIABLE, "")
    return [*(search_paths or ()), *(Path(part) for part in variable.split(os.pathsep) if part)]


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


def guess_type(module_id: str) -> ModuleKind:
    """The kind of module that an id suggests; a tool if it suggests nothing."""
    lowered = module_id.lower()
    return next((kind for hint, kind in _NAME_HINTS if hint in lowered), "tool")


def declared_type(package: Path) -> Any:
    """The type marker of a package, read from its source without running it; else None."""
    import ast

    try:
        tree = ast.parse((package / "__init__.py").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if TYPE_MARKER in names:
                return node.value.value
    return None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A sentence that offers the nearest known name."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise
