"""Any conversation is read into one that vendors accept, and nothing of a sound one is lost."""

from __future__ import annotations

from typing import Any

import pytest
from amplifier_core.message_models import Message, TextBlock, ToolCallBlock
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.providing.histories import Entry, read_history

# The library is part of every provider's wheel and has none of its own.
pytestmark = pytest.mark.together


def read(*messages: dict[str, Any]) -> tuple[list[Entry], list[str]]:
    history = read_history([Message.model_validate(each) for each in messages], "here")
    return history.entries, [each["kind"] for each in history.repairs]


def called(*ids: str, content: Any = "") -> dict[str, Any]:
    calls = [{"id": each, "tool": "look", "arguments": {"n": each}} for each in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(call_id: str, content: Any = "fine") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def test_a_sound_conversation_is_left_as_it_is() -> None:
    entries, repairs = read(said("Q"), called("a", "b"), result("a", "1"), result("b", "2"))

    assert [each.role for each in entries] == ["user", "assistant", "tool", "tool"]
    assert [each.text for each in entries[2:]] == ["1", "2"]
    assert not repairs


def test_a_call_in_the_content_and_beside_it_is_one_call() -> None:
    block = {"type": "tool_call", "id": "a", "name": "look", "input": {"n": "a"}}
    entries, repairs = read(called("a", content=[block]), result("a"))

    assert len(entries[0].calls) == 1
    assert not repairs


def test_results_may_be_blocks_of_a_message() -> None:
    blocks = [
        {"type": "tool_result", "tool_call_id": "a", "output": {"n": 1}, "is_error": True},
        {"type": "text", "text": "And now?"},
    ]
    entries, repairs = read(called("a"), {"role": "user", "content": blocks})

    assert [each.role for each in entries] == ["assistant", "tool", "user"]
    assert entries[1].text == '{"n": 1}'
    assert entries[1].is_error
    assert not repairs


def test_a_result_in_the_wrong_place_is_moved_to_its_call() -> None:
    entries, repairs = read(called("a"), said("Wait"), result("a", "1"))

    assert [each.role for each in entries] == ["assistant", "tool", "user"]
    assert repairs == ["misplaced_result"]


def test_a_result_without_a_call_becomes_text() -> None:
    entries, repairs = read(said("Q"), result("gone", "still matters"))

    assert entries[1].role == "user"
    assert "still matters" in entries[1].text
    assert repairs == ["result_without_call"]


def test_an_id_that_is_used_again_belongs_to_the_nearer_call() -> None:
    entries, repairs = read(called("1"), result("1", "first"), called("1"), result("1", "second"))

    assert [each.text for each in entries if each.role == "tool"] == ["first", "second"]
    assert len({each.call_id for each in entries if each.role == "tool"}) == 2
    assert not repairs


def test_a_later_call_keeps_its_result_from_an_earlier_one_of_the_same_id() -> None:
    entries, repairs = read(called("1"), said("Stop"), called("1"), result("1", "second"))

    results = [each for each in entries if each.role == "tool"]
    assert [each.is_error for each in results] == [True, False]
    assert repairs == ["missing_result"]


@pytest.mark.parametrize("call_id", ["call:1/ä", "", "x" * 100, "a b"])
def test_ids_are_made_such_that_every_vendor_accepts_them(call_id: str) -> None:
    entries, _ = read(called(call_id), result(call_id))

    new_id = entries[0].calls[0].id
    assert new_id.replace("_", "").isalnum()
    assert len(new_id) <= 64
    assert entries[1].call_id == new_id


def test_arguments_given_as_text_are_parsed() -> None:
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "name": "look", "arguments": '{"n": 1}'}],
    }
    entries, _ = read(message, result("a"))

    assert entries[0].calls[0].input == {"n": 1}


IDS = st.sampled_from(["a", "b", "c:d"])
MESSAGES = st.one_of(
    st.builds(said, st.text(max_size=5)),
    st.builds(said, st.text(max_size=5), st.just("assistant")),
    st.builds(lambda ids: called(*ids), st.lists(IDS, min_size=1, max_size=3, unique=True)),
    st.builds(result, IDS, st.text(max_size=5)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(MESSAGES, max_size=12))
def test_every_call_is_followed_by_its_result_whatever_came_before(
    messages: list[dict[str, Any]],
) -> None:
    entries, _ = read(*messages)
    ids = [call.id for entry in entries for call in entry.calls]

    assert len(ids) == len(set(ids))
    for position, entry in enumerate(entries):
        expected = [call.id for call in entry.calls]
        following = entries[position + 1 : position + 1 + len(expected)]
        assert [each.call_id for each in following] == expected
        assert all(each.role == "tool" for each in following)
    assert sum(each.role == "tool" for each in entries) == len(ids)


@settings(max_examples=50, deadline=None)
@given(st.lists(MESSAGES, max_size=8))
def test_a_mended_conversation_needs_no_mending(messages: list[dict[str, Any]]) -> None:
    entries, _ = read(*messages)
    again = [_as_message(each) for each in entries]

    assert read(*again)[1] == []


def _as_message(entry: Entry) -> dict[str, Any]:
    blocks = [each.model_dump() for each in entry.blocks]
    assert all(isinstance(each, TextBlock | ToolCallBlock) for each in entry.blocks)
    call_id = {"tool_call_id": entry.call_id} if entry.role == "tool" else {}
    return {"role": entry.role, "content": blocks, **call_id}
