"""The modules that installed distributions offer, by entry points of `amplifier.modules`."""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from importlib.metadata import EntryPoint

from ..loader import _ModuleDiscoveryError

ENTRY_POINT_GROUP = "amplifier.modules"
BUNDLED_PREFIX = "amplifier_modules."

logger = logging.getLogger("amplifier_core.loader")


class AmbiguousModule(_ModuleDiscoveryError):
    """Two installed distributions offer one module id, and nothing says which is meant."""

    def __init__(self, module_id: str, owners: list[str]) -> None:
        super().__init__(
            f"Module {module_id!r} is offered by {' and '.join(map(repr, owners))}. "
            f"Uninstall one of them, or give the entry a `source`.",
            reason_code="invalid_entry_point",
        )


class InstalledModules:
    """The entry points of this process, read once and again only when sys.path has changed."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[EntryPoint]] = {}
        self._winners: dict[str, EntryPoint] = {}
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
        if module_id not in self._winners and module_id in self._by_id:
            self._winners[module_id] = winner(module_id, self._by_id[module_id])
        return self._winners.get(module_id)

    def _is_outdated(self, paths_matter: bool) -> bool:
        # Someone who replaced the reader (a test, an app's own index) gets a fresh scan.
        if self._seen is None or self._seen[0] is not importlib.metadata.entry_points:
            return True
        return paths_matter and self._seen[1] != sys.path

    def _scan(self) -> None:
        reader, paths = importlib.metadata.entry_points, list(sys.path)
        by_id: dict[str, list[EntryPoint]] = {}
        for point in reader(group=ENTRY_POINT_GROUP):
            by_id.setdefault(point.name, []).append(point)
        # Set when complete, and the key last: other threads may be looking.
        self._by_id, self._winners = by_id, {}
        self._seen = (reader, paths)


installed = InstalledModules()


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


# A reader that someone put in place may give points without a distribution, or mocks.


def owner(point: EntryPoint) -> str:
    """The distribution that an entry point belongs to, for people to read."""
    name = getattr(getattr(point, "dist", None), "name", None)
    return name if isinstance(name, str) else str(getattr(point, "value", point.name))


def version_of(point: EntryPoint) -> str:
    version = getattr(getattr(point, "dist", None), "version", None)
    return version if isinstance(version, str) else "1.0.0"
