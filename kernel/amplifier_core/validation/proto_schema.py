"""Checks for results that reach the kernel as plain dicts, such as over the wire."""

from __future__ import annotations

from typing import Any, get_args

from ..models import HookResult

__all__ = [
    "VALID_APPROVAL_DEFAULTS",
    "VALID_CONTEXT_INJECTION_ROLES",
    "VALID_HOOK_ACTIONS",
    "VALID_USER_MESSAGE_LEVELS",
    "validate_hook_result",
    "validate_tool_result",
]


def _choices(field: str) -> frozenset[str]:
    return frozenset(get_args(HookResult.model_fields[field].annotation))


VALID_HOOK_ACTIONS = _choices("action")
VALID_CONTEXT_INJECTION_ROLES = _choices("context_injection_role")
VALID_APPROVAL_DEFAULTS = _choices("approval_default")
VALID_USER_MESSAGE_LEVELS = _choices("user_message_level")

_CHOICES_BY_FIELD = {
    "action": VALID_HOOK_ACTIONS,
    "context_injection_role": VALID_CONTEXT_INJECTION_ROLES,
    "approval_default": VALID_APPROVAL_DEFAULTS,
    "user_message_level": VALID_USER_MESSAGE_LEVELS,
}


def validate_tool_result(data: dict[str, Any]) -> list[str]:
    """What is wrong with a tool result; empty if nothing is."""
    if "success" not in data:
        return ["'success' is missing. Add `\"success\": true` or false."]
    if not isinstance(data["success"], bool):
        found = type(data["success"]).__name__
        return [f"'success' must be a bool, not {found}. Write true or false."]
    return []


def validate_hook_result(data: dict[str, Any]) -> list[str]:
    """What is wrong with a hook result; empty if nothing is. Absent fields are fine."""
    problems = []
    for field, allowed in _CHOICES_BY_FIELD.items():
        value = data.get(field)
        is_absent = field not in data or (value is None and field != "action")
        if not is_absent and not (isinstance(value, str) and value in allowed):
            problems.append(f"{field!r} is {value!r}. Use one of {', '.join(sorted(allowed))}.")
    return problems
