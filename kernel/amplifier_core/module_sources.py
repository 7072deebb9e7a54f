"""Where module code comes from: directories to search, and an app's resolver.

The kernel has no resolver of its own. An app mounts one at `module-source-resolver`.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path, PureWindowsPath
from typing import Any, Protocol

logger = logging.getLogger("amplifier_core.loader")

DIRECTORY_PREFIX = "amplifier-module-"
MODULES_VARIABLE = "AMPLIFIER_MODULES"


class ModuleNotFoundError(Exception):
    """No source is known for a module; the loader then looks among installed modules.

    Not related to the builtin of the same name, which is about Python imports.
    """


class ModuleLoadError(Exception):
    """A module was found but cannot be brought to run."""


class ModuleSource(ABC):
    """A place that holds one module."""

    @abstractmethod
    def resolve(self) -> Path:
        """The directory of the module, fetched first if need be."""


class ModuleSourceResolver(Protocol):
    """Decides which source serves a module id.

    A resolver may also offer `async_resolve` with the same parameters; it is preferred.
    """

    def resolve(
        self, module_id: str, source_hint: Any = None, profile_hint: Any = None
    ) -> ModuleSource:
        """The source for `module_id`.

        Args:
            source_hint: the `source` of the mount plan's entry, passed on unread.
            profile_hint: the same value under its older name.

        Raises:
            ModuleNotFoundError: nothing is known; installed modules are tried instead.
        """
        ...


class FileSystemModuleSource:
    """A list of directories that hold modules, with the mention names that point there."""

    def __init__(self, paths: list[str] | None = None) -> None:
        self._paths = list(paths or [])
        self._bundle_mappings: dict[str, str] = {}

    def get_module_paths(self) -> list[str]:
        return list(self._paths)

    def get_mention_mappings(self) -> dict[str, str]:
        return dict(self._bundle_mappings)


# -- without a resolver ---------------------------------------------------------------


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


def _at_home(path: str) -> Path:
    # Not Path.expanduser: that raises for a user who does not exist.
    return Path(os.path.expanduser(path))
