"""The providers that the user has set up, and whether they work."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.llm_errors import AuthenticationError
from amplifier_core.models import ModelInfo, ProviderInfo

from amplifier.keys import load_keys
from amplifier.plans import CREDENTIALS, PREFIX, installed_providers, what_it_needs
from amplifier.settings.places import Scope
from amplifier.settings.scopes import load_settings

PLACE = ["config", "providers"]
FIRST, OTHERS = 1, 10
SECONDS = 20.0


class ProviderProblem(Exception):
    """A provider that is not there, or does not work."""


@dataclass(frozen=True)
class Trial:
    """What a provider said when it was tried."""

    info: ProviderInfo
    models: list[ModelInfo]


def configured(scopes: tuple[Scope, ...] | None = None) -> list[dict[str, Any]]:
    """The entries of the settings, in the order in which they are used."""
    settings = load_settings(scopes) if scopes else load_settings()
    entries = settings.value(*PLACE) or []
    return sorted(entries, key=priority_of)


def priority_of(entry: dict[str, Any]) -> int:
    priority = (entry.get("config") or {}).get("priority", 100)
    return priority if isinstance(priority, int) else 100


def name_of(entry: dict[str, Any]) -> str:
    return str(entry.get("id") or entry["module"].removeprefix(PREFIX))


def find(name: str | None) -> dict[str, Any]:
    """The entry with this name, or the one that is used.

    Raises:
        ProviderProblem: there is none.
    """
    entries = configured()
    if name is None and entries:
        return entries[0]
    for each in entries:
        if name in (name_of(each), each["module"]):
            return each
    if name is None:
        found = detected()
        if found:
            return {"module": found[0]}
        raise ProviderProblem("No provider is set up. Run `amplifier init`.")
    return {"module": module_named(name)}


def module_named(name: str) -> str:
    """The module id of a kind of provider.

    Raises:
        ProviderProblem: no such module is installed.
    """
    module = name if name.startswith(PREFIX) else f"{PREFIX}{name}"
    if module not in installed_providers():
        known = ", ".join(sorted(each.removeprefix(PREFIX) for each in installed_providers()))
        raise ProviderProblem(f"There is no provider {name!r}. Installed: {known}.")
    return module


def detected() -> list[str]:
    """The providers for which there are credentials, the best first."""
    load_keys()
    offered = installed_providers()
    return [
        module
        for module, names in CREDENTIALS.items()
        if module in offered and any(os.environ.get(name) for name in names)
    ]


async def tried(entry: dict[str, Any]) -> Trial:
    """Mount a provider and ask it for its models.

    Raises:
        ProviderProblem: it cannot be mounted, or does not answer.
    """
    load_keys()
    module = entry["module"]
    plan = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [{"module": module, "config": entry.get("config") or {}}],
    }
    try:
        async with asyncio.timeout(SECONDS), AmplifierSession(plan) as session:
            found = list((session.coordinator.get("providers") or {}).values())
            if not found:
                failed = session.status.failed_modules or []
                reason = failed[0]["error"] if failed else what_it_needs(module)
                raise ProviderProblem(f"{module!r} cannot be used. {reason}")
            provider = found[0]
            trial = Trial(provider.get_info(), list(await provider.list_models()))
            if getattr(provider, "is_unreachable", False):
                raise ProviderProblem(
                    f"{module!r} could not be reached. Check the network, or `base_url` if you set "
                    "one; --no-test keeps it untried."
                )
            return trial
    except ProviderProblem:
        raise
    except TimeoutError as error:
        raise ProviderProblem(f"{module!r} did not answer within {SECONDS:.0f} s.") from error
    except Exception as error:
        raise ProviderProblem(_in_words(module, error)) from error


def _in_words(module: str, error: Exception) -> str:
    text = f"{module!r} does not work: {error}"
    if not isinstance(error, AuthenticationError):
        return text
    name = module.removeprefix(PREFIX)
    return f"{text} Give another key with `amplifier provider add {name} --new-key`."
