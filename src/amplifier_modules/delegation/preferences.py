"""Which provider and model a child uses: the first preference that can be met."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

logger = logging.getLogger(__name__)

Preference = Mapping[str, Any]
_GLOB = frozenset("*?[")
_DEFAULT_PRIORITY = 100


def preferences_of(agent: Mapping[str, Any]) -> list[Preference]:
    """What an agent's config asks for."""
    listed = agent.get("provider_preferences")
    found = listed if isinstance(listed, list | tuple) else ()
    return [each for each in found if isinstance(each, Mapping)]


async def prefer(
    plan: dict[str, Any], preferences: Iterable[Preference], mounted: Mapping[str, Any]
) -> dict[str, str] | None:
    """Put the first provider that can be had first in `plan`; which one and what model."""
    entries = {_mount_name(each): each for each in plan.get("providers") or ()}
    for preference in preferences:
        name = _without_kind(str(preference.get("provider") or ""))
        if name not in entries or name not in mounted:
            continue
        wanted = preference.get("model")
        model = await _model(mounted[name], str(wanted)) if wanted else None
        if wanted and model is None:
            continue
        _put_first(entries, name, model)
        return {"provider": name, **({"model": model} if model else {})}
    return None


def _put_first(entries: Mapping[str, dict[str, Any]], chosen: str, model: str | None) -> None:
    for name, entry in entries.items():
        config = dict(entry.get("config") or {})
        if name == chosen:
            config["priority"] = 0
            if model:
                config["default_model"] = model
        else:
            config["priority"] = max(1, _priority(config.get("priority")))
        entry["config"] = config


def _priority(given: Any) -> int:
    try:
        return int(given)
    except (TypeError, ValueError):
        return _DEFAULT_PRIORITY


async def _model(provider: Any, wanted: str) -> str | None:
    """The model that a name or glob stands for; of several, the last by name."""
    if not _GLOB & set(wanted):
        return wanted
    try:
        models = await provider.list_models()
    except Exception:
        logger.warning("A provider cannot list its models for %r", wanted, exc_info=True)
        return None
    names = [str(each.id) for each in models]
    return max((name for name in names if fnmatchcase(name, wanted)), default=None)


def _mount_name(entry: Mapping[str, Any]) -> str:
    named = entry.get("instance_id") or entry.get("name")
    return str(named or _without_kind(str(entry.get("module"))))


def _without_kind(name: str) -> str:
    return name.removeprefix("provider-")
