"""The canonical events: names, order, what is known about each, and the file for others."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from amplifier_core import events
from amplifier_core.events import ALL_EVENTS, EventInfo, catalog

CANONICAL = {
    "SESSION_START": "session:start",
    "SESSION_END": "session:end",
    "SESSION_FORK": "session:fork",
    "SESSION_RESUME": "session:resume",
    "PROMPT_SUBMIT": "prompt:submit",
    "PROMPT_COMPLETE": "prompt:complete",
    "PLAN_START": "plan:start",
    "PLAN_END": "plan:end",
    "PROVIDER_REQUEST": "provider:request",
    "PROVIDER_RESPONSE": "provider:response",
    "PROVIDER_RETRY": "provider:retry",
    "PROVIDER_ERROR": "provider:error",
    "PROVIDER_THROTTLE": "provider:throttle",
    "PROVIDER_TOOL_SEQUENCE_REPAIRED": "provider:tool_sequence_repaired",
    "PROVIDER_RESOLVE": "provider:resolve",
    "LLM_REQUEST": "llm:request",
    "LLM_RESPONSE": "llm:response",
    "CONTENT_BLOCK_START": "content_block:start",
    "CONTENT_BLOCK_DELTA": "content_block:delta",
    "CONTENT_BLOCK_END": "content_block:end",
    "THINKING_DELTA": "thinking:delta",
    "THINKING_FINAL": "thinking:final",
    "TOOL_PRE": "tool:pre",
    "TOOL_POST": "tool:post",
    "TOOL_ERROR": "tool:error",
    "CONTEXT_PRE_COMPACT": "context:pre_compact",
    "CONTEXT_POST_COMPACT": "context:post_compact",
    "CONTEXT_COMPACTION": "context:compaction",
    "CONTEXT_INCLUDE": "context:include",
    "ORCHESTRATOR_COMPLETE": "orchestrator:complete",
    "EXECUTION_START": "execution:start",
    "EXECUTION_END": "execution:end",
    "USER_NOTIFICATION": "user:notification",
    "ARTIFACT_WRITE": "artifact:write",
    "ARTIFACT_READ": "artifact:read",
    "POLICY_VIOLATION": "policy:violation",
    "APPROVAL_REQUIRED": "approval:required",
    "APPROVAL_GRANTED": "approval:granted",
    "APPROVAL_DENIED": "approval:denied",
    "CANCEL_REQUESTED": "cancel:requested",
    "CANCEL_COMPLETED": "cancel:completed",
    "MODULE_ON_SESSION_READY_FAILED": "module:on_session_ready_failed",
    "MODULE_LOAD_FAILED": "module:load_failed",
}
SPEC_FILE = Path(__file__).parents[2] / "spec" / "events.json"


@pytest.fixture(scope="module")
def published() -> dict[str, EventInfo]:
    rows = json.loads(SPEC_FILE.read_text(encoding="utf-8"))["events"]
    return {row["name"]: EventInfo(**row | {"fields": tuple(row["fields"])}) for row in rows}


def test_there_are_43_constants_and_no_other_upper_case_name() -> None:
    constants = {name: value for name, value in vars(events).items() if name.isupper()}

    assert constants.pop("ALL_EVENTS") is ALL_EVENTS
    assert constants == CANONICAL
    assert len(CANONICAL) == 43


def test_all_events_is_a_list_in_canonical_order() -> None:
    assert isinstance(ALL_EVENTS, list)
    assert list(CANONICAL.values()) == ALL_EVENTS


def test_a_star_import_brings_the_constants_and_the_list() -> None:
    assert sorted(events.__all__) == sorted([*CANONICAL, "ALL_EVENTS"])


@pytest.mark.parametrize("name", ALL_EVENTS)
def test_an_event_is_a_namespace_and_an_action(name: str) -> None:
    assert re.fullmatch("[a-z]+(_[a-z]+)*:[a-z]+(_[a-z]+)*", name)


@pytest.mark.parametrize("info", catalog.values(), ids=str)
def test_an_event_tells_who_emits_it_when_and_with_what(info: EventInfo) -> None:
    assert info.emitter in get_args(events.Emitter)
    assert info.when
    assert len(set(info.fields)) == len(info.fields)
    assert all(field.isidentifier() for field in info.fields)


def test_the_catalog_finds_each_event_by_its_name() -> None:
    assert {name: info.name for name, info in catalog.items()} == {n: n for n in ALL_EVENTS}


def test_the_events_of_a_model_call_carry_its_id() -> None:
    assert {name for name, info in catalog.items() if "request_id" in info.fields} == {
        "llm:request",
        "llm:response",
        "provider:error",
        "provider:retry",
        "provider:throttle",
    }


def test_the_kernel_itself_emits_these() -> None:
    assert {name for name, info in catalog.items() if info.emitter == "kernel"} == {
        "session:start",
        "session:end",
        "session:fork",
        "session:resume",
        "cancel:completed",
        "module:on_session_ready_failed",
        "module:load_failed",
    }


def test_every_event_in_the_table_is_published_as_it_stands(
    published: dict[str, EventInfo],
) -> None:
    missing = {name: info for name, info in catalog.items() if published.get(name) != info}

    assert missing == {}


def test_every_published_event_is_in_the_table(published: dict[str, EventInfo]) -> None:
    stale = {name: info for name, info in published.items() if catalog.get(name) != info}

    assert stale == {}
    assert list(published) == ALL_EVENTS


def test_the_published_file_says_what_every_event_carries() -> None:
    table = json.loads(SPEC_FILE.read_text(encoding="utf-8"))

    assert table["every_event"] == list(events.every_event_fields)
    assert table["every_event"] == ["session_id", "parent_id", "timestamp"]
