"""Which modules there are, and which sources settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier.settings.documents import decoded, parse, read_file
from amplifier.settings.merge import resolved
from amplifier.settings.nodes import plain

LISTED = ("providers", "tools", "hooks")


def sources_in(file: Path) -> dict[str, str]:
    """The sources of modules that one settings file names."""
    data = read_file(file)
    if data is None:
        return {}
    values: dict[str, Any] = plain(resolved(parse(decoded(data, str(file)), str(file))))
    found = {str(id): str(uri) for id, uri in _table(values, "sources", "modules").items()}
    for key, each in _table(values, "overrides").items():
        if isinstance(each, dict) and each.get("source"):
            found[key] = str(each["source"])
    entries = [each for key in LISTED for each in values.get("modules", {}).get(key) or []]
    entries += list(values.get("config", {}).get("providers") or [])
    entries += [each for each in values.get("session", {}).values() if isinstance(each, dict)]
    return found | {each["module"]: str(each["source"]) for each in entries if each.get("source")}


def _table(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        values = values.get(key) or {}
    return values


def known_modules() -> list[dict[str, Any]]:
    """Installed modules and those of the active plan, by id."""
    from amplifier_core.transports import guess_type
    from amplifier_core.transports.entry_points import installed, owner, version_of, winner

    from amplifier.bundles.planning import plan_for

    plan = plan_for(None)
    slots = [each for each in plan.mounts["session"].values() if isinstance(each, dict)]
    active = {each["module"]: each for each in slots if "module" in each}
    active |= {each["module"]: each for key in LISTED for each in plan.mounts.get(key, [])}
    found = {}
    for id, points in installed.table().items():
        point = winner(id, points)
        found[id] = {
            "id": id,
            "type": guess_type(id),
            "version": version_of(point),
            "from": owner(point),
            "active": id in active,
        }
    for id, entry in active.items():
        if entry.get("source") or id not in found:
            found[id] = {
                "id": id,
                "type": guess_type(id),
                "version": "",
                "from": entry.get("source") or "search path",
                "active": True,
            }
    return [found[id] for id in sorted(found)]
