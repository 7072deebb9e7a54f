"""What a hook answers, and the short way in which the kernel makes the most common answer."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest
from amplifier_core.models import ContextInjection, HookResult, UserMessage, _continue_with
from pydantic import ValidationError

DEFAULTS = {
    "action": "continue",
    "data": None,
    "reason": None,
    "context_injection": None,
    "context_injection_role": "system",
    "ephemeral": False,
    "approval_prompt": None,
    "approval_options": None,
    "approval_timeout": 300.0,
    "approval_default": "deny",
    "suppress_output": False,
    "user_message": None,
    "user_message_level": "info",
    "user_message_source": None,
    "append_to_last_tool_result": False,
    "context_injections": [],
}


def test_a_hook_result_lets_the_event_continue_by_default() -> None:
    assert HookResult().model_dump() == DEFAULTS
    assert list(HookResult().model_dump()) == list(DEFAULTS)


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "approve"},
        {"data": [1]},
        {"context_injection_role": "tool"},
        {"approval_default": "maybe"},
        {"approval_timeout": None},
        {"user_message_level": "debug"},
        {"context_injections": [{"role": "user"}]},
    ],
)
def test_a_malformed_hook_result_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HookResult(**arguments)


def test_unknown_fields_of_a_hook_result_are_dropped() -> None:
    assert HookResult.model_validate({"action": "deny", "extra": 1}) == HookResult(action="deny")


def test_assigning_to_a_hook_result_is_not_validated() -> None:
    result = HookResult()
    result.action = "whatever"  # type: ignore[assignment]

    assert result.action == "whatever"


def test_a_hook_result_survives_json() -> None:
    result = HookResult(
        action="inject_context",
        data={"tool_name": "bash"},
        context_injections=[
            ContextInjection(content="Be brief.", ephemeral=True, event="tool:pre")
        ],
    )

    assert HookResult.model_validate_json(result.model_dump_json()) == result


def test_an_injection_is_a_lasting_system_message_unless_it_says_otherwise() -> None:
    assert ContextInjection(content="x").model_dump() == {
        "content": "x",
        "role": "system",
        "ephemeral": False,
        "append_to_last_tool_result": False,
        "hook_name": "unknown",
        "event": "",
    }
    with pytest.raises(ValidationError):
        ContextInjection(content="x", role="tool")  # type: ignore[arg-type]


def test_messages_of_other_handlers_ride_along_and_are_never_dumped() -> None:
    message = UserMessage(text="disk is nearly full", level="warning", source="disk")
    result = HookResult(action="deny", user_messages=[message])

    assert result.user_messages == [message]
    assert set(result.model_dump()) == set(DEFAULTS)
    assert "nearly full" not in result.model_dump_json() + repr(result)


def test_a_user_message_is_information_without_a_source_by_default() -> None:
    assert UserMessage(text="x").model_dump() == {"text": "x", "level": "info", "source": None}


def test_the_short_way_makes_the_same_result_as_the_constructor() -> None:
    data = {"tool_name": "bash"}
    short, long = _continue_with(data), HookResult(action="continue", data=data)

    assert short == long
    assert long == short
    assert repr(short) == repr(long)
    assert short.model_dump() == long.model_dump()
    assert short.model_dump_json() == long.model_dump_json()
    assert short.model_dump(exclude_unset=True) == {"action": "continue", "data": data}
    assert short.model_fields_set == {"action", "data"}
    assert short.model_extra == long.model_extra
    assert list(short) == list(long)


def test_the_short_way_knows_every_field_and_its_default() -> None:
    short = _continue_with(None)

    assert dict(short) == {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in HookResult.model_fields.items()
    }


def test_the_short_way_holds_the_very_data_it_was_given() -> None:
    data = {"payload": object()}

    assert _continue_with(data).data is data
    assert _continue_with(None).data is None


@pytest.mark.parametrize(
    "name", [name for name, field in HookResult.model_fields.items() if field.default_factory]
)
def test_results_made_the_short_way_share_no_lists(name: str) -> None:
    first, second = _continue_with(None), _continue_with(None)
    getattr(first, name).append("only here")

    assert getattr(second, name) == []
    assert getattr(_continue_with(None), name) == []


def test_changing_a_result_made_the_short_way_leaves_the_next_one_alone() -> None:
    changed = _continue_with(None)
    changed.reason = "changed"
    changed.model_fields_set.add("ephemeral")

    assert changed.model_fields_set == {"action", "data", "reason", "ephemeral"}
    assert _continue_with(None).reason is None
    assert _continue_with(None).model_fields_set == {"action", "data"}


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        HookResult.model_copy,
        lambda result: pickle.loads(pickle.dumps(result)),
        lambda result: HookResult.model_validate(result.model_dump()),
        lambda result: HookResult.model_validate_json(result.model_dump_json()),
    ],
)
def test_results_made_the_short_way_can_be_copied(duplicate: Any) -> None:
    assert duplicate(_continue_with({"a": [1]})) == HookResult(action="continue", data={"a": [1]})


def test_results_made_the_short_way_can_be_updated() -> None:
    updated = _continue_with({"a": 1}).model_copy(update={"reason": "because"})

    assert updated == HookResult(action="continue", data={"a": 1}, reason="because")


def test_the_short_way_works_before_any_hook_result_was_validated() -> None:
    script = (
        "from amplifier_core.models import HookResult, _continue_with\n"
        "first = _continue_with({'a': 1})\n"
        'assert first.model_dump_json().startswith(\'{"action":"continue"\')\n'
        "assert first == HookResult(action='continue', data={'a': 1})\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
