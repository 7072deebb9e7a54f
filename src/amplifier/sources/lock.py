"""`amplifier.lock`: for each source the exact content that is used, and those before it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amplifier.files import locked, write_atomically
from amplifier.settings.documents import read_file
from amplifier.settings.nodes import ConfigError, Origin

NAME = "amplifier.lock"
VERSION = 1
MOST_BYTES = 5_000_000
MOST_PREVIOUS = 5

Entry = dict[str, Any]
Locked = dict[str, Entry]


def read_lock(file: Path) -> Locked:
    """What a lock file says, by source.

    Raises:
        ConfigError: it is no lock file.
    """
    data = read_file(file, MOST_BYTES)
    if data is None:
        return {}
    try:
        found = json.loads(data)
        if found["version"] != VERSION:
            raise ValueError(f"version {found['version']!r} is not known")
        return {str(uri): _entry(each) for uri, each in found["sources"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"It is no lock file: {error}. Restore it, or remove it and add sources again."
        raise ConfigError(message, Origin(str(file))) from error


def _entry(given: Any) -> Entry:
    hash = given["hash"]
    digits = hash.removeprefix("sha256:")
    if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise ValueError(f"{hash!r} is no hash")
    return dict(given)


def change_lock(file: Path, change: Callable[[Locked], None]) -> None:
    """Read, change and write a lock file while nobody else does."""
    with locked(file):
        known = read_lock(file)
        change(known)
        text = json.dumps({"version": VERSION, "sources": known}, indent=2, sort_keys=True)
        write_atomically(file, f"{text}\n")


def lock_source(file: Path, uri: str, entry: Entry) -> None:
    """Use this content for a source from now on, and remember the one before."""

    def change(known: Locked) -> None:
        before = known.get(uri)
        previous = list(before.get("previous", [])) if before else []
        if before and before["hash"] != entry["hash"]:
            old = {key: each for key, each in before.items() if key != "previous"}
            previous = [old, *previous][:MOST_PREVIOUS]
        known[uri] = {**entry, **({"previous": previous} if previous else {})}

    change_lock(file, change)


def roll_back(file: Path, uri: str) -> Entry | None:
    """Use the content before this one again; None if there is none."""
    taken: list[Entry] = []

    def change(known: Locked) -> None:
        previous = known.get(uri, {}).get("previous", [])
        if previous:
            taken.append(previous[0])
            rest = previous[1:]
            known[uri] = {**previous[0], **({"previous": rest} if rest else {})}

    change_lock(file, change)
    return taken[0] if taken else None


def unlock_source(file: Path, uri: str) -> None:
    change_lock(file, lambda known: (known.pop(uri, None), None)[1])
