"""Checks modules that decide what tools may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..coordinator import ModuleCoordinator
from ..testing import MockCoordinator
from ..transports.approvals import takes_text
from .base import ValidationCheck
from .contract import Contract, async_method, missing_members
from .engine import ModuleValidator

__all__ = ["ApprovalValidator"]

_SHAPE = "request_approval(self, request)"


def _mounted(coordinator: ModuleCoordinator) -> dict[str, Any]:
    """What decides now, unless that is the stand-in of a mock."""
    system = coordinator.approval_system
    is_stand_in = isinstance(coordinator, MockCoordinator) and system is coordinator.stand_in
    return {} if system is None or is_stand_in else {"approval": system}


def _missing(candidate: Any) -> list[str]:
    return missing_members(candidate, (), ("request_approval",))


def _checks(system: Any) -> Iterator[ValidationCheck]:
    asked: tuple[Any, ...] = ("", [], 0.0, "deny") if takes_text(system) else (None,)
    yield async_method("approval_request_approval", system, _SHAPE, *asked)


class ApprovalValidator(ModuleValidator):
    """Examines an approval module: one that is the approval system, or returns it."""

    contract = Contract(
        module_type="approval",
        label="ApprovalProvider",
        mounted=_mounted,
        missing=_missing,
        checks=_checks,
        nothing=(
            "Nothing decides. Return an object with request_approval() from mount(), or set "
            "`coordinator.approval_system`."
        ),
        may_be_returned=True,
    )
