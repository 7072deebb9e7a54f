"""Which model judges a goal: a role's, else the first preference that is there, else the turn's."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from amplifier_modules.loops.turn import Turn

logger = logging.getLogger(__name__)

_DATE = re.compile(r"[-@_.]?(?:19|20)\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$")
_DIGITS = re.compile(r"\d+")


class Choice(NamedTuple):
    """A mounted provider, and one of its models unless its own default will do."""

    provider_name: str
    provider: Any
    model: str | None


async def choose(turn: Turn, role: str, preferences: Sequence[Any]) -> Choice:
    for wanted in [*await _preferences_of(turn, role), *preferences]:
        found = await _served(turn.providers, wanted)
        if found is not None:
            return found
    return Choice(turn.provider_name, turn.provider, None)


async def _preferences_of(turn: Turn, role: str) -> list[Any]:
    resolver = turn.capability("model_role_resolver")
    if resolver is None or not role:
        return []
    try:
        answer = resolver.resolve(role)
        return list((await answer if inspect.isawaitable(answer) else answer) or [])
    except Exception:
        logger.warning("Model role %r cannot be resolved", role, exc_info=True)
        return []


async def _served(providers: dict[str, Any], wanted: Any) -> Choice | None:
    """The best of the mounted models that a preference allows."""
    pattern = str(_field(wanted, "provider") or "").removeprefix("provider-")
    model = _field(wanted, "model")
    for name, provider in providers.items():
        if not fnmatchcase(name.removeprefix("provider-"), pattern):
            continue
        if not model or not _is_glob(model):
            return Choice(name, provider, model or None)
        names = [each for each in await _models_of(name, provider) if fnmatchcase(each, model)]
        if names:
            return Choice(name, provider, newest(names))
    return None


def _field(wanted: Any, name: str) -> Any:
    return wanted.get(name) if isinstance(wanted, Mapping) else getattr(wanted, name, None)


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")


async def _models_of(name: str, provider: Any) -> list[str]:
    try:
        return [str(_field(each, "id")) for each in await provider.list_models()]
    except Exception:
        logger.warning("Provider %r cannot list its models", name, exc_info=True)
        return []


def newest(names: Iterable[str]) -> str:
    """The model with the highest version; among equals an alias before its dated snapshots."""
    return max(names, key=_rank)


def _rank(name: str) -> tuple[list[int], int, str]:
    version = [int(run) for run in _DIGITS.findall(_DATE.sub("", name))]
    return version, -len(name), name
