"""The contents that the user trusts, by their hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amplifier.files import locked, write_atomically
from amplifier.settings.documents import read_file
from amplifier.settings.nodes import ConfigError, Origin
from amplifier.settings.places import home

VERSION = 1
MOST_BYTES = 20_000_000


def content_hash(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def store_file() -> Path:
    return home() / "trust.json"


def trusted() -> dict[str, dict[str, Any]]:
    """What is trusted: the hash, with the path it had and when that was.

    Raises:
        ConfigError: the file with it cannot be used.
    """
    data = read_file(store_file(), MOST_BYTES)
    if data is None:
        return {}
    try:
        found = json.loads(data)
        if found["version"] != VERSION:
            raise ValueError(f"version {found['version']!r} is not known")
        return {str(key): dict(value) for key, value in found["trusted"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"It is no list of what you trust: {error}. Remove it, and trust again."
        raise ConfigError(message, Origin(str(store_file()))) from error


def trust(items: Iterable[tuple[Path, str]]) -> None:
    """Remember these contents, each given by a path and a hash."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with _changing() as known:
        for path, found in items:
            known[found] = {"path": str(path), "at": now}


def revoke(below: Path | None) -> list[str]:
    """Forget what is at or below a path, or everything; the result is what is forgotten."""
    with _changing() as known:
        gone = [key for key, each in known.items() if _is_below(each.get("path", ""), below)]
        return sorted(str(known.pop(key).get("path")) for key in gone)


@contextmanager
def keeping_trust(file: Path) -> Iterator[None]:
    """A file that the user changes by our commands stays trusted, if it was or is new."""
    before = read_file(file, MOST_BYTES)
    was_trusted = before is None or content_hash(before) in trusted()
    yield
    after = read_file(file, MOST_BYTES)
    if was_trusted and after is not None and after != before and not file.is_relative_to(home()):
        trust([(file, content_hash(after))])


@contextmanager
def _changing() -> Iterator[dict[str, dict[str, Any]]]:
    with locked(store_file()):
        known = trusted()
        yield known
        text = json.dumps({"version": VERSION, "trusted": known}, indent=1)
        write_atomically(store_file(), text, 0o600)


def _is_below(path: str, root: Path | None) -> bool:
    return root is None or Path(path) == root or Path(path).is_relative_to(root)
