"""Which mount plans are sound, and how the others are reported."""

import re
from typing import Any

import pytest
from amplifier_core.validation import MountPlanValidationResult, MountPlanValidator
from hypothesis import given
from hypothesis import strategies as st

SESSION = {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}}


def validate(plan: Any) -> MountPlanValidationResult:
    return MountPlanValidator().validate(plan)


def test_a_full_plan_passes_without_findings() -> None:
    plan = {
        "session": {**SESSION, "approval": {"module": "approval-cli"}},
        "providers": [{"module": "provider-x", "name": "x", "source": "git+y", "config": {}}],
        "tools": [],
        "hooks": [{"module": "hooks-log"}],
        "agents": "not looked at",
    }

    result = validate(plan)

    assert [check for check in result.checks if not check.passed] == []
    assert result.format_errors() == "No errors"
    assert {check.name for check in result.checks} == {
        "root_type",
        "session_present",
        "session.orchestrator_module_valid",
        "session.context_module_valid",
        "session.approval_module_valid",
        "providers[0]_module_valid",
        "tools_empty",
        "hooks[0]_module_valid",
    }


def test_session_parts_may_be_given_by_their_ids() -> None:
    plan = {
        "session": {"orchestrator": "loop-streaming", "context": "context-simple"},
        "context": {"config": {"max_tokens": 1000}},
    }

    assert validate(plan).passed
    assert validate(plan).warnings == []


WRONG = [
    ([], "root_type", "must be a dict"),
    ({}, "session_present", "'session' section is missing"),
    ({"session": []}, "session_type", "must be a dict"),
    ({"session": {"context": "c"}}, "session_orchestrator_present", "no orchestrator"),
    ({"session": {"orchestrator": "o"}}, "session_context_present", "no context"),
    ({"session": {**SESSION, "context": 3}}, "session.context_type", "must be a dict"),
    ({"session": {**SESSION, "context": ""}}, "session.context_module_empty", "empty"),
    ({"session": {**SESSION, "approval": "a"}}, "session.approval_type", "must be a dict"),
    ({"session": SESSION, "tools": {}}, "tools_type", "must be a list"),
    ({"session": SESSION, "tools": ["tool-x"]}, "tools[0]_type", "must be a dict"),
    ({"session": SESSION, "tools": [{"modul": "x"}]}, "tools[0]_module_required", "missing"),
    ({"session": SESSION, "tools": [{"module": 3}]}, "tools[0]_module_type", "string"),
    ({"session": SESSION, "hooks": [{"module": ""}]}, "hooks[0]_module_empty", "empty"),
    (
        {"session": SESSION, "tools": [{"module": "x"}, {"module": "y", "config": 1}]},
        "tools[1]_config_type",
        "config",
    ),
    (
        {"session": SESSION, "tools": [{"module": "x", "source": {}}]},
        "tools[0]_source_type",
        "source",
    ),
    (
        {"session": SESSION, "providers": [{"module": "p", "name": "a", "instance_id": "b"}]},
        "providers[0]_name_conflict",
        "Keep one",
    ),
]


@pytest.mark.parametrize(("plan", "name", "part"), WRONG, ids=[case[1] for case in WRONG])
def test_each_mistake_is_one_error(plan: Any, name: str, part: str) -> None:
    result = validate(plan)

    assert [check.name for check in result.errors] == [name]
    message = result.errors[0].message
    assert part in message
    assert re.search(r"\.\s+[A-Z]", message), "It does not say what to do."


def test_a_missing_module_id_shows_both_shapes() -> None:
    message = validate({"session": SESSION, "tools": [{"modul": "x"}]}).errors[0].message

    assert "Got: {'modul': 'x'}" in message
    assert "Expected: {'module': 'module-name'" in message


def test_unknown_sections_are_a_warning_with_the_nearest_name() -> None:
    result = validate({"session": SESSION, "toools": [], "zebra": 1})

    assert result.passed
    assert [check.name for check in result.warnings] == ["unknown_sections"]
    assert "unknown" in result.warnings[0].message
    assert "['toools', 'zebra']" in result.warnings[0].message
    assert "Did you mean 'tools'?" in result.warnings[0].message


def test_errors_are_listed_with_numbers() -> None:
    text = validate({"session": SESSION, "tools": 1, "hooks": 2}).format_errors()
    mend = "Write [{'module': 'module-name', 'source': '...', 'config': {...}}, ...]."

    assert text.splitlines() == [
        "Mount Plan Validation Failed:",
        "",
        f"  1. [tools_type] Section 'tools' must be a list, not int. {mend}",
        f"  2. [hooks_type] Section 'hooks' must be a list, not int. {mend}",
        "",
        "Total: 2 error(s)",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
SECTIONS = ["session", "providers", "tools", "hooks", "agents", "orchestrator", "other"]


@given(st.dictionaries(st.sampled_from(SECTIONS), JSON) | JSON)
def test_any_value_gets_a_verdict(plan: Any) -> None:
    result = validate(plan)

    assert result.checks
    assert result.passed is (result.format_errors() == "No errors")
