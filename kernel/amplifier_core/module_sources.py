"""Where module code comes from: the contract between the loader and an app's resolver.

The kernel has no resolver of its own. An app mounts one at `module-source-resolver`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol


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
