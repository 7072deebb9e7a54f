"""Results that come as plain dicts."""

from typing import Any

import pytest
from amplifier_core.validation.proto_schema import (
    VALID_APPROVAL_DEFAULTS,
    VALID_CONTEXT_INJECTION_ROLES,
    VALID_HOOK_ACTIONS,
    VALID_USER_MESSAGE_LEVELS,
    validate_hook_result,
    validate_tool_result,
)


def test_the_choices_are_those_of_the_hook_result() -> None:
    assert {"continue", "deny", "modify", "inject_context", "ask_user"} == VALID_HOOK_ACTIONS
    assert {"system", "user", "assistant"} == VALID_CONTEXT_INJECTION_ROLES
    assert {"allow", "deny"} == VALID_APPROVAL_DEFAULTS
    assert {"info", "warning", "error"} == VALID_USER_MESSAGE_LEVELS


@pytest.mark.parametrize("data", [{"success": True}, {"success": False, "output": 3}])
def test_a_tool_result_needs_only_success(data: dict[str, Any]) -> None:
    assert validate_tool_result(data) == []


@pytest.mark.parametrize("data", [{}, {"success": None}, {"success": 1}])
def test_a_tool_result_without_a_verdict_is_refused(data: dict[str, Any]) -> None:
    (problem,) = validate_tool_result(data)

    assert "success" in problem


@pytest.mark.parametrize(
    "data", [{}, {"action": "deny"}, {"approval_default": None, "user_message_level": "info"}]
)
def test_absent_fields_of_a_hook_result_are_fine(data: dict[str, Any]) -> None:
    assert validate_hook_result(data) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("action", "stop"),
        ("action", None),
        ("action", []),
        ("context_injection_role", "tool"),
        ("approval_default", "maybe"),
        ("user_message_level", 3),
    ],
)
def test_a_value_out_of_range_is_named(field: str, value: Any) -> None:
    (problem,) = validate_hook_result({field: value})

    assert field in problem
    assert repr(value) in problem


def test_every_wrong_field_is_reported() -> None:
    assert len(validate_hook_result({"action": "x", "user_message_level": "y"})) == 2
