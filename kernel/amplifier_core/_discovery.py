"""Finds modules without running them: entry points, search directories, naming rules."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PureWindowsPath
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


class AmbiguousModule(ValueError):
    """Two installed distributions offer one module id, and nothing says which is meant."""

    reason_code = "invalid_entry_point"

    def __init__(self, module_id: str, owners: list[str]) -> None:
        super().__init__(
            f"Module {module_id!r} is offered by {' and '.join(map(repr, owners))}. "
            f"Uninstall one of them, or give the entry a `source`."
        )


class _InstalledModules:
    """The entry points of this process, read once and again only when sys.path has changed."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[EntryPoint]] = {}
        self._seen: tuple[object, list[str]] | None = None

    def table(self) -> dict[str, list[EntryPoint]]:
        """Who offers which id, as of now."""
        if self._is_outdated(paths_matter=True):
            self._scan()
        return self._by_id

    def find(self, module_id: str) -> EntryPoint | None:
        """The entry point of a module; only a miss is worth a look at a changed sys.path.

        Raises:
            AmbiguousModule: two third parties offer it.
        """
        if self._is_outdated(paths_matter=module_id not in self._by_id):
            self._scan()
        candidates = self._by_id.get(module_id)
        return winner(module_id, candidates) if candidates else None

    def _is_outdated(self, paths_matter: bool) -> bool:
        import importlib.metadata  # slow to import, and not needed before the first module

        # Someone who replaced the reader (a test, an app's own index) gets a fresh scan.
        if self._seen is None or self._seen[0] is not importlib.metadata.entry_points:
            return True
        return paths_matter and self._seen[1] != sys.path

    def _scan(self) -> None:
        import importlib.metadata

        reader, paths = importlib.metadata.entry_points, list(sys.path)
        by_id: dict[str, list[EntryPoint]] = {}
        for point in reader(group=ENTRY_POINT_GROUP):
            by_id.setdefault(point.name, []).append(point)
        # Set when complete, and the key last: other threads may be looking.
        self._by_id = by_id
        self._seen = (reader, paths)


installed = _InstalledModules()


def winner(module_id: str, candidates: list[EntryPoint]) -> EntryPoint:
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
        for path in sorted(root.glob(f"{DIRECTORY_PREFIX}?*")):
            if path.is_dir():
                yield path.name.removeprefix(DIRECTORY_PREFIX), path


def find_directory(module_id: str, search_paths: Iterable[Path] | None) -> Path | None:
    """The directory that serves `module_id` in the search paths, else in the environment."""
    places = (root / f"{DIRECTORY_PREFIX}{module_id}" for root in _search_roots(search_paths))
    return next((path for path in places if path.is_dir()), None)


def _search_roots(search_paths: Iterable[Path] | None) -> list[Path]:
    listed = os.environ.get(MODULES_VARIABLE, "").split(os.pathsep)
    return [*map(Path, search_paths or ()), *(_at_home(part) for part in listed if part)]


def local_path(hint: Any) -> Path | None:
    """The directory that a source names by itself; None if it takes a resolver to find.

    Relative ones start at the working directory. A path of Windows is a path everywhere,
    so that elsewhere it is reported as missing rather than looked up as something else.
    """
    if isinstance(hint, os.PathLike):
        return _at_home(os.fspath(hint))
    if not isinstance(hint, str):
        return None
    if hint.startswith("file://"):
        from urllib.parse import unquote

        path = unquote(hint.removeprefix("file://").removeprefix("localhost"))
        # file:///C:/modules: the slash before the drive belongs to the URL.
        return _at_home(path[1:] if PureWindowsPath(path[1:]).drive else path)
    is_path = hint.startswith(("/", ".", "~")) or PureWindowsPath(hint).is_absolute()
    return _at_home(hint) if is_path else None


def _at_home(path: str) -> Path:
    # Not Path.expanduser: that raises for a user who does not exist.
    return Path(os.path.expanduser(path))


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
    declared: Any = None
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if TYPE_MARKER in [each.id for each in targets if isinstance(each, ast.Name)]:
                with suppress(ValueError):
                    declared = ast.literal_eval(node.value)
    return declared


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A sentence that offers the nearest known name."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise
