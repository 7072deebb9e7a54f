"""Checks modules that offer tools to the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..coordinator import ModuleCoordinator
from .base import ValidationCheck, bad, good, named_error
from .contract import Contract, async_method, filled_text, missing_members
from .engine import ModuleValidator

__all__ = ["ToolValidator"]


def _mounted(coordinator: ModuleCoordinator) -> dict[str, Any]:
    return coordinator.get_all("tools")


def _missing(candidate: Any) -> list[str]:
    return missing_members(candidate, ("name", "description"), ("execute",))


def _implements_tool_interface(candidate: Any) -> bool:
    return not _missing(candidate)


def _checks(tool: Any) -> Iterator[ValidationCheck]:
    yield filled_text("tool_name", tool, "name")
    yield filled_text("tool_description", tool, "description", "warning")
    yield _schema_check(tool)
    yield async_method("tool_execute", tool, "execute(self, input)", {})


def _schema_check(tool: Any) -> ValidationCheck:
    name = "tool_input_schema"
    mend = 'Set it to a JSON Schema such as {"type": "object", "properties": {}}.'
    try:
        schema = tool.input_schema
    except AttributeError:
        text = "There is no 'input_schema', so the model is not told what to pass."
        return bad(name, f"{text} {mend}", "warning")
    except Exception as error:
        text = f"Reading 'input_schema' raised {named_error(error)}."
        return bad(name, f"{text} {mend}")
    if not isinstance(schema, dict):
        text = f"'input_schema' is of type {type(schema).__name__}, not a dict."
        return bad(name, f"{text} {mend}", "warning")
    return good(name, "input_schema is a dict.")


class ToolValidator(ModuleValidator):
    """Examines a tool module."""

    contract = Contract(
        module_type="tool",
        label="Tool",
        mounted=_mounted,
        missing=_missing,
        checks=_checks,
        nothing='No tool was mounted. Call `await coordinator.mount("tools", tool)` in mount().',
    )
