"""Examines a module whose type nobody has named."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from ..transports import MODULE_TYPES
from ..transports.python import TYPE_MARKER
from .approval import ApprovalValidator
from .base import ValidationResult
from .context import ContextValidator
from .contract import Contract
from .engine import MOUNT_TIMEOUT, ModuleValidator, examine, unknown_marker
from .hook import HookValidator
from .locate import NotAModule, find_module, module_ids, type_from_name
from .orchestrator import OrchestratorValidator
from .provider import ProviderValidator
from .tool import ToolValidator

__all__ = ["VALIDATORS", "UnknownType", "validate_path"]

VALIDATORS: dict[str, type[ModuleValidator]] = {
    "provider": ProviderValidator,
    "tool": ToolValidator,
    "hook": HookValidator,
    "orchestrator": OrchestratorValidator,
    "context": ContextValidator,
    "approval": ApprovalValidator,
}


class UnknownType(ValueError):
    """Neither the module nor its name tells a type that can be examined."""


async def validate_path(
    path: Path,
    module_type: str | None = None,
    config: dict[str, Any] | None = None,
    mount_timeout: float = MOUNT_TIMEOUT,
) -> ValidationResult:
    """Examine the module at `path`: its repository's root, its package or its file.

    The module's own type marker tells the type, or else its name.

    Raises:
        UnknownType: there is no such type, or none was given and none can be told.
    """
    if module_type is not None:
        if module_type not in VALIDATORS:
            known = ", ".join(VALIDATORS)
            raise UnknownType(f"{module_type!r} is no module type. Use one of {known}.")
        return await VALIDATORS[module_type](mount_timeout).validate(path, config=config)
    by_name = _type_by_name(path)
    result = ValidationResult(by_name or "unknown", str(path))

    def choose(module: ModuleType) -> Contract | None:
        marker = getattr(module, TYPE_MARKER, None)
        if not marker and by_name is None:
            raise UnknownType(
                f"Nothing tells the type of {path.name!r}. Set {TYPE_MARKER} in its __init__.py, "
                f"or name the type: {', '.join(VALIDATORS)}."
            )
        if marker in tuple(VALIDATORS):
            result.module_type = str(marker)
        elif marker in MODULE_TYPES:
            raise UnknownType(f"There is no validator for {marker!r}. Try it in a session.")
        elif marker:
            result.add(unknown_marker(marker))
        validator = VALIDATORS.get(result.module_type)
        return validator.contract if validator is not None else None

    await examine(result, choose, config or {}, mount_timeout)
    return result


def _type_by_name(path: Path) -> str | None:
    path = path.resolve()
    try:
        return type_from_name(*module_ids(path, find_module(path)))
    except NotAModule:
        return type_from_name(path.name)
