"""Where a bundle's name leads: to what the user added, to what is built in, to folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from amplifier_core.utils.spelling import did_you_mean

from amplifier.settings.nodes import ConfigError, Origin
from amplifier.sources.lock import Entry
from amplifier.sources.uris import INDEX, SourceError, parse_source

_NAMESPACE = re.compile(r"[A-Za-z][\w-]+")
BUILT_IN = Path(__file__).parent / "builtin"


class Library:
    """The bundles that can be named."""

    def __init__(
        self,
        added: Mapping[str, tuple[str, Path]],
        locked: Mapping[str, Entry],
        folders: Iterable[Path],
    ) -> None:
        self._added = dict(added)
        self._locked = dict(locked)
        #: The user's and, if it is trusted, the project's.
        self.folders = list(folders)

    def names(self) -> dict[str, str]:
        """Every name, with where it comes from; what hides another comes first."""
        found = {name: uri for name, (uri, _) in self._added.items()}
        for each in sorted(BUILT_IN.iterdir()):
            if (each / "bundle.md").is_file():
                found.setdefault(each.name, "built in")
        for folder in self.folders:
            for each in sorted((folder / "bundles").glob("*")):
                if each.is_dir() or each.suffix in (".md", ".yaml", ".yml"):
                    found.setdefault(each.stem, str(each))
        return found

    def find(self, reference: str, origin: Origin, base: Path) -> Path | None:
        """The folder or file that a reference means, perhaps without its ending."""
        if reference in self._added:
            uri, own_base = self._added[reference]
            return self._place(uri, origin, own_base)
        is_name = not set("/\\:.~") & set(reference)
        if is_name:
            if (BUILT_IN / reference).is_dir():
                return BUILT_IN / reference
            places = [folder / "bundles" / reference for folder in self.folders]
            found = [each for each in places if _has_bundle(each)]
            return found[0] if found else None
        if reference.startswith(INDEX):
            return self._place(reference, origin, base)
        namespace, separator, below = reference.partition(":")
        if separator and _NAMESPACE.fullmatch(namespace) and not below.startswith("//"):
            root = self.find(namespace, origin, base)
            return _inside(root, below, origin) if root is not None else None
        return self._place(reference, origin, base)

    def _place(self, uri: str, origin: Origin, base: Path) -> Path | None:
        from amplifier.sources.cache import verified

        try:
            source = parse_source(uri, base)
            if source.kind == "package":
                return base / uri
            if not source.is_fetched:
                return Path(source.location)
            entry = self._locked.get(source.uri)
            if entry is None:
                raise SourceError(
                    f"{source.uri!r} is not fetched, and only adding fetches. "
                    f"Use `amplifier bundle add {source.uri}`."
                )
            return verified(entry["hash"], source.uri)
        except SourceError as error:
            raise ConfigError(str(error), origin) from error

    def advice(self, reference: str, namespaces: Iterable[str]) -> str:
        known = sorted({*self.names(), *namespaces})
        return did_you_mean(reference, known, f"There are {', '.join(known)}, or name a path.")


def _inside(place: Path, below: str, origin: Origin) -> Path:
    root = place if place.is_dir() else place.parent
    path = Path(os.path.normpath(root / below))
    if not path.is_relative_to(root):
        raise ConfigError(f"{below!r} leads out of its bundle. Name a file inside.", origin)
    return path


def _has_bundle(place: Path) -> bool:
    endings = ("/bundle.md", "/bundle.yaml", ".yaml", ".yml", ".md")
    return any(Path(f"{place}{ending}").is_file() for ending in endings)
