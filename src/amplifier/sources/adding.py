"""Adding, updating and rolling back sources: the only things that fetch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier.settings.documents import read_file
from amplifier.settings.nodes import ConfigError

from . import cache
from .inspection import describe, differences
from .lock import NAME, Entry, lock_source, read_lock
from .uris import Source, SourceError, parse_source

LONGEST_TRIAL = 60.0
_NEEDED = ("module_importable", "mount_exists", "mount_signature")
_BUNDLE_FILES = ("bundle.md", "bundle.yaml")


@dataclass(frozen=True)
class Offer:
    """A content that is here and could be used from now on."""

    source: Source
    folder: Path
    #: What the lock would say; None for what is used in place.
    entry: Entry | None


def lock_beside(settings_file: Path) -> Path:
    """The lock file that belongs to a settings file."""
    return settings_file.parent / NAME


def get_offer(written: Any, base: Path | None = None) -> Offer:
    """Fetch a source, or find it if it is local.

    Raises:
        SourceError: it cannot be had.
    """
    source = parse_source(written, base)
    if source.kind == "path":
        if not Path(source.location).exists():
            raise SourceError(f"There is no {source.location!r}. Correct the source.")
        return Offer(source, Path(source.location), None)
    if source.kind == "package":
        raise SourceError(
            f"{source.location!r} is no path or address. An installed package needs no source. "
            f"Write 'pypi:{source.location}' for one from an index, or './{source.location}' for "
            f"a folder."
        )
    fetched = cache.bring(source)
    entry: Entry = {"hash": fetched.hash, "kind": source.kind, **description_of(fetched.folder)}
    if fetched.commit:
        entry["commit"] = fetched.commit
    return Offer(source, fetched.folder, entry)


def description_of(folder: Path) -> dict[str, Any]:
    """What is known about a content without running it; of a bundle also its modules."""
    found = describe(folder)
    for name in _BUNDLE_FILES:
        file = folder / name
        if file.is_file():
            front = bundle_front(file)
            modules = [
                each["module"]
                for key in ("providers", "tools", "hooks")
                for each in front.get(key) or []
                if isinstance(each, dict) and "module" in each
            ]
            version = (front.get("bundle") or {}).get("version") or found["version"]
            return {**found, "version": str(version), "modules": sorted(map(str, modules))}
    return found


def bundle_front(file: Path) -> dict[str, Any]:
    """The front matter of a bundle file, as plain values.

    Raises:
        SourceError: it is no bundle.
    """
    from amplifier.bundles.format import read_bundle
    from amplifier.settings.scopes import shown

    try:
        front: dict[str, Any] = shown(read_bundle(file, read_file(file) or b"").front)
    except ConfigError as error:
        raise SourceError(str(error)) from error
    return front


def bundle_file(place: Path) -> Path:
    """The bundle file at a path.

    Raises:
        SourceError: there is none.
    """
    places = [place, *(place / each for each in _BUNDLE_FILES)]
    for each in places:
        if each.is_file():
            return each
    raise SourceError(f"{str(place)!r} is no bundle: it has no bundle.md. Name another.")


def changes(lock: Path, offer: Offer) -> list[str] | None:
    """What would be different with an offer; None if nothing would."""
    known = read_lock(lock).get(offer.source.uri)
    if offer.entry is None or (known and known["hash"] == offer.entry["hash"]):
        return None
    found = differences(known or {}, offer.entry)
    return found or ["content: changed, with the same version, tools and permissions"]


def missing_requirements(folder: Path) -> list[str]:
    """Python packages that a module asks for and that are not installed."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    missing = []
    for each in describe(folder).get("requires", []):
        name = re.match(r"[A-Za-z0-9._-]+", each)
        try:
            version(name[0] if name else each)
        except (PackageNotFoundError, ValueError):
            missing.append(each)
    return missing


def accept(lock: Path, offer: Offer, *, is_module: bool) -> None:
    """Use an offer from now on, if it can be loaded at all; otherwise all stays as it was.

    Raises:
        SourceError: it cannot be loaded.
    """
    if is_module:
        check_health(offer.folder)
    if offer.entry is not None:
        lock_source(lock, offer.source.uri, offer.entry)


def check_health(folder: Path) -> None:
    """Import a Python module in a process of its own, before anybody depends on it."""
    if (folder / "amplifier.toml").is_file() or next(folder.glob("*.wasm"), None):
        from amplifier_core.transports import read_manifest

        if read_manifest(folder).transport != "python":
            return
    program = "import sys; from amplifier_core.cli import main; sys.exit(main(sys.argv[1:]))"
    try:
        done = subprocess.run(
            # -P: what lies in the folder where the user happens to be is not imported.
            [sys.executable, "-P", "-B", "-c", program, "validate", "--json", str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_TRIAL,
            check=False,
        )
        checks = json.loads(done.stdout)["checks"]
    except (subprocess.TimeoutExpired, ValueError, KeyError) as error:
        raise SourceError(f"{str(folder)!r} cannot be examined. It is not used.") from error
    failed = [each for each in checks if each["name"] in _NEEDED and not each["passed"]]
    if failed:
        said = " ".join(each["message"] for each in failed)
        raise SourceError(f"It is no module that can be loaded: {said} It is not used.")
