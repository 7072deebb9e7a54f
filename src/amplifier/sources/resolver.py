"""Tells the kernel where a module's code is. Mounted at `module-source-resolver`.

As a library it fetches what it is asked for. The command makes it with `may_fetch=False`:
a run uses what is locked, verified, and never the network.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amplifier_core.module_sources import ModuleLoadError, ModuleNotFoundError, ModuleSource

from . import cache
from .lock import Entry
from .uris import Source, SourceError, parse_source

VARIABLE = "AMPLIFIER_MODULE_"


class Folder(ModuleSource):
    """A folder that holds the module."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path


class ModuleResolver:
    """Finds modules by the environment, by settings, and by the `source` of an entry."""

    def __init__(
        self,
        sources: Mapping[str, Any] | None = None,
        locked: Mapping[str, Entry] | None = None,
        *,
        base: Path | None = None,
        may_fetch: bool = True,
    ) -> None:
        self._sources = dict(sources or {})
        self._locked = dict(locked or {})
        self._base = base
        self._may_fetch = may_fetch
        self._lock = asyncio.Lock()

    def resolve(
        self, module_id: str, source_hint: Any = None, profile_hint: Any = None
    ) -> ModuleSource:
        """The folder of a module, fetched if need be.

        Raises:
            ModuleNotFoundError: no source is known; installed modules are looked at then.
            ModuleLoadError: it cannot be had, or is not what was locked.
        """
        written = self._written(module_id, source_hint if source_hint else profile_hint)
        if written is None:
            raise ModuleNotFoundError(f"No source is known for module {module_id!r}.")
        try:
            return Folder(self._folder(module_id, parse_source(written, self._base)))
        except SourceError as error:
            raise ModuleLoadError(f"Module {module_id!r}: {error}") from error

    async def async_resolve(
        self, module_id: str, source_hint: Any = None, profile_hint: Any = None
    ) -> ModuleSource:
        """The same without holding up the event loop."""
        async with self._lock:
            return await asyncio.to_thread(self.resolve, module_id, source_hint, profile_hint)

    def get_module_source(self, module_id: str) -> str | None:
        """The source that settings or the environment name for a module."""
        written = self._written(module_id, None)
        return None if written is None else parse_source(written, self._base).uri

    def _written(self, module_id: str, hint: Any) -> Any:
        name = VARIABLE + module_id.upper().replace("-", "_")
        return os.environ.get(name) or self._sources.get(module_id) or hint or None

    def _folder(self, module_id: str, source: Source) -> Path:
        if source.kind == "path":
            path = Path(source.location)
            if not path.is_dir():
                raise SourceError(f"There is no folder {source.location!r}. Correct its source.")
            known = self._locked.get(source.uri)
            return cache.copied(path, known["hash"]) if known is not None else path
        if source.kind == "package":
            return _package_folder(module_id, source.location)
        entry = self._locked.get(source.uri)
        if entry is not None:
            return cache.verified(entry["hash"], source.uri)
        if not self._may_fetch:
            raise SourceError(
                f"{source.uri!r} is not fetched, and a run does not fetch. "
                f"Use `amplifier module add {module_id} --source {source.uri}`."
            )
        fetched = cache.bring(source)
        # From here on this resolver means this content, whatever the branch does.
        self._locked[source.uri] = {"hash": fetched.hash, "commit": fetched.commit}
        return fetched.folder


def _package_folder(module_id: str, name: str) -> Path:
    from importlib.metadata import PackageNotFoundError, distribution

    for each in (name, f"amplifier-module-{name}"):
        try:
            files = distribution(each).files or []
        except PackageNotFoundError:
            continue
        wanted = f"amplifier_module_{module_id.replace('-', '_')}"
        for file in files:
            if len(file.parts) > 1 and file.parts[0] == wanted:
                return Path(str(file.locate())).resolve().parents[len(file.parts) - 1]
        # An installed module without such a package is found by its entry point.
        raise ModuleNotFoundError(f"Package {each!r} has no folder {wanted!r}.")
    raise SourceError(f"No package {name!r} is installed. Install it with pip.")
