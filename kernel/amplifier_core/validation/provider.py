"""Checks modules that give access to models."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ..coordinator import ModuleCoordinator
from ..models import ProviderInfo
from .base import ValidationCheck, bad, good, named_error
from .contract import Contract, async_method, filled_text, missing_members
from .engine import ModuleValidator

__all__ = ["ProviderValidator"]

_METHODS = ("get_info", "list_models", "complete", "parse_tool_calls")


def _mounted(coordinator: ModuleCoordinator) -> dict[str, Any]:
    return coordinator.get_all("providers")


def _missing(candidate: Any) -> list[str]:
    return missing_members(candidate, ("name",), _METHODS)


def _implements_provider_interface(candidate: Any) -> bool:
    return not _missing(candidate)


def _checks(provider: Any) -> Iterator[ValidationCheck]:
    yield filled_text("provider_name", provider, "name")
    yield _info_check(provider)
    yield async_method("provider_list_models", provider, "list_models(self)")
    shape = "complete(self, request, **kwargs)"
    yield async_method("provider_complete", provider, shape, object())
    yield good("provider_parse_tool_calls", "parse_tool_calls() is there.")


def _info_check(provider: Any) -> ValidationCheck:
    name = "provider_get_info"
    try:
        info = provider.get_info()
    except Exception as error:
        text = f"get_info() raised {named_error(error)}."
        return bad(name, f"{text} Let it answer without credentials or a connection.", "warning")
    if inspect.iscoroutine(info):
        info.close()
    if isinstance(info, ProviderInfo):
        return good(name, f"get_info() describes {info.id!r}.")
    text = f"get_info() returned a {type(info).__name__}, not a ProviderInfo."
    return bad(name, f"{text} Write `def get_info(self) -> ProviderInfo`, not async.")


class ProviderValidator(ModuleValidator):
    """Examines a provider module."""

    contract = Contract(
        module_type="provider",
        label="Provider",
        mounted=_mounted,
        missing=_missing,
        checks=_checks,
        nothing=(
            "No provider was mounted. "
            'Call `await coordinator.mount("providers", provider)` in mount(), '
            "and give the config it needs, such as an API key."
        ),
    )
