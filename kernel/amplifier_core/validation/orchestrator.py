"""Checks modules that run the agent loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..coordinator import ModuleCoordinator
from .base import ValidationCheck, bad
from .contract import Contract, async_method, missing_members
from .engine import ModuleValidator
from .signatures import accepts, parameter_count

__all__ = ["OrchestratorValidator"]

_ARGUMENTS = ("prompt", "context", "providers", "tools", "hooks")
_SHAPE = "execute(self, prompt, context, providers, tools, hooks, **kwargs)"


def _mounted(coordinator: ModuleCoordinator) -> dict[str, Any]:
    return coordinator.get_all("orchestrator")


def _missing(candidate: Any) -> list[str]:
    return missing_members(candidate, (), ("execute",))


def _implements_orchestrator_interface(candidate: Any) -> bool:
    return not _missing(candidate)


def _checks(orchestrator: Any) -> Iterator[ValidationCheck]:
    name = "orchestrator_execute"
    if parameter_count(orchestrator.execute) < len(_ARGUMENTS):
        text = "execute() has fewer than 5 parameters."
        yield bad(name, f"{text} Write `async def {_SHAPE}`.")
        return
    arguments = dict.fromkeys(_ARGUMENTS)
    if not accepts(orchestrator.execute, **arguments):
        arguments["coordinator"] = None
    yield async_method(name, orchestrator, _SHAPE, **arguments)


class OrchestratorValidator(ModuleValidator):
    """Examines an orchestrator module."""

    contract = Contract(
        module_type="orchestrator",
        label="Orchestrator",
        mounted=_mounted,
        missing=_missing,
        checks=_checks,
        nothing=(
            "No orchestrator was mounted. "
            'Call `await coordinator.mount("orchestrator", loop)` in mount().'
        ),
    )
