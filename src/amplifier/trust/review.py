"""What a project brings, what of it is trusted, and what it would run. Nothing is run here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier.settings.documents import decoded, parse, read_file
from amplifier.settings.places import FOLDER, project_root
from amplifier.settings.scopes import shown
from amplifier.sources.lock import NAME as LOCK

from .store import content_hash, trusted

_MOST_COMMANDS = 50


@dataclass(frozen=True)
class Review:
    """Contents with their hashes, and in words what they would do."""

    items: list[tuple[Path, str]]
    untrusted: list[tuple[Path, str]]
    would_run: list[str]

    def lines(self) -> Iterator[str]:
        unknown = {found for _, found in self.untrusted}
        for path, found in self.items:
            state = "not trusted" if found in unknown else "trusted"
            yield f"{state:<12}{found[:19]}  {path}"
        yield from (f"would {each}" for each in self.would_run)


def review(bundle: str | None) -> Review:
    """Look at the project as if it were trusted.

    Raises:
        ConfigError: what it brings cannot be used anyway.
    """
    from amplifier.bundles.planning import foreign_inputs, plan_for

    plan = plan_for(bundle, as_if_trusted=True)
    folder = project_root() / FOLDER
    items = []
    for name in ("settings.yaml", "settings.local.yaml", LOCK):
        data = read_file(folder / name, 5_000_000)
        if data is not None:
            items.append((folder / name, content_hash(data)))
    items += foreign_inputs(plan)
    known = trusted()
    files = {str(path) for path, _ in items}
    would_run = [*_settings(folder), *_modules(plan.mounts, plan.origins, files), *_commands(items)]
    return Review(items, [each for each in items if each[1] not in known], would_run)


def _settings(folder: Path) -> Iterator[str]:
    for name in ("settings.yaml", "settings.local.yaml"):
        data = read_file(folder / name)
        if data is not None:
            root = parse(decoded(data, name), str(folder / name))
            for keys, value in _leaves(shown(root), ()):
                yield f"set {'.'.join(keys)} to {json.dumps(value)[:300]}"


def _leaves(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, (*keys, key))
    else:
        yield keys, value


def _modules(mounts: dict[str, Any], origins: dict[str, str], files: set[str]) -> Iterator[str]:
    for where, origin in origins.items():
        if origin.rpartition(":")[0] not in files:
            continue
        key, _, name = where.partition(".")
        part = mounts.get(key)
        listed = part if isinstance(part, list) else []
        entry = next((each for each in listed if name in each.values()), None)
        entry = part.get(name) if isinstance(part, dict) else entry
        source = entry.get("source") if isinstance(entry, dict) else None
        config = entry.get("config") if isinstance(entry, dict) else None
        told = f" from {source}" if source else ""
        told += f" with {json.dumps(config, sort_keys=True)[:300]}" if config else ""
        yield f"use {where}{told}"


def _commands(items: list[tuple[Path, str]]) -> Iterator[str]:
    for path, _ in items:
        if path.suffix == ".json" and "hooks" in path.parts:
            data = read_file(path, 5_000_000) or b""
            try:
                found = json.loads(data)
            except (ValueError, RecursionError):
                continue
            for each in list(_texts(found, "command"))[:_MOST_COMMANDS]:
                yield f"run the command {each[:300]!r}"


def _texts(value: Any, wanted: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == wanted and isinstance(each, str):
                yield each
            yield from _texts(each, wanted)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, wanted)
