"""The counters of a session, fed by the events that pass its hooks."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ToolResult, Usage
from helpers_modules import plan
from hypothesis import given
from hypothesis import strategies as st

COUNTED = ("prompt:submit", "provider:response", "tool:post", "tool:error")
USAGE = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


def _session() -> AmplifierSession:
    return AmplifierSession(plan())


async def _emit(session: AmplifierSession, event: str, *payloads: Any) -> None:
    for payload in payloads:
        await session.coordinator.hooks.emit(event, payload)


def _tools(session: AmplifierSession) -> tuple[int, int, int]:
    status = session.status
    return status.tool_invocations, status.tool_successes, status.tool_failures


def _tokens(session: AmplifierSession) -> tuple[int, int]:
    return session.status.total_input_tokens, session.status.total_output_tokens


async def test_a_new_session_has_counted_nothing() -> None:
    session = _session()

    assert (_tools(session), _tokens(session)) == ((0, 0, 0), (0, 0))
    assert session.status.total_messages == 0
    assert session.status.cost_usd is session.status.last_activity is None


async def test_every_prompt_answer_and_tool_result_is_a_message() -> None:
    session = _session()

    for number, event in enumerate(COUNTED, 1):
        await _emit(session, event, {})
        assert session.status.total_messages == number

    assert session.status.last_activity is not None


@pytest.mark.parametrize("payload", [{"usage": USAGE}, {"result": {"success": False}}, None])
async def test_what_nobody_hears_is_counted_as_if_it_were_emitted(payload: Any) -> None:
    emitted, unheard = _session(), _session()

    for event in COUNTED:
        await _emit(emitted, event, payload)
        assert unheard.coordinator.hooks.unheard(event, payload)

    assert (_tools(unheard), _tokens(unheard)) == (_tools(emitted), _tokens(emitted))
    assert unheard.status.total_messages == len(COUNTED)


async def test_what_somebody_hears_is_counted_once() -> None:
    session = _session()
    session.coordinator.hooks.register("tool:post", lambda *_: None)

    assert not session.coordinator.hooks.unheard("tool:post", {})
    await _emit(session, "tool:post", {})

    assert session.status.total_messages == 1


@pytest.mark.parametrize("event", ["tool:pre", "provider:request", "session:start", "my:event"])
async def test_other_events_are_not_counted(event: str) -> None:
    session = _session()

    await _emit(session, event, {"usage": USAGE, "result": {"success": False}})

    assert session.status.total_messages == 0
    assert session.status.last_activity is None


@pytest.mark.parametrize(
    "usage", [USAGE, Usage(**USAGE), SimpleNamespace(**USAGE)], ids=["dict", "model", "object"]
)
async def test_tokens_add_up_in_whatever_form_they_are_told(usage: Any) -> None:
    session = _session()

    await _emit(session, "provider:response", {"usage": usage}, {"usage": usage})

    assert _tokens(session) == (14, 6)


@pytest.mark.parametrize(
    "usage",
    [None, 5, "many", [], {}, {"input_tokens": "7"}, {"input_tokens": 7.5}, {"input_tokens": -7}],
)
async def test_tokens_that_make_no_sense_are_left_out(usage: Any) -> None:
    session = _session()

    await _emit(session, "provider:response", {"usage": USAGE}, {"usage": usage})

    assert _tokens(session) == (7, 3)


@pytest.mark.parametrize("cost", ["0.1", 0.1, Decimal("0.1")])
async def test_costs_add_up_exactly(cost: Any) -> None:
    session = _session()

    await _emit(session, "provider:response", *[{"usage": {"cost_usd": cost}}] * 3)

    assert session.status.cost_usd == Decimal("0.3")


@pytest.mark.parametrize("cost", ["much", "NaN", float("inf"), True, [], {}, object(), None])
async def test_a_cost_that_makes_no_sense_is_left_out(cost: Any) -> None:
    session = _session()

    await _emit(session, "provider:response", {"usage": {"cost_usd": cost}})
    assert session.status.cost_usd is None
    await _emit(session, "provider:response", {"usage": {"cost_usd": 2}})

    assert session.status.cost_usd == 2


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (ToolResult(success=True), False),
        (ToolResult(success=False), True),
        ({"success": True}, False),
        ({"success": False}, True),
        ({}, False),
        ("text", False),
        (None, False),
    ],
)
async def test_a_tool_fails_only_if_its_result_says_so(result: Any, failed: bool) -> None:
    session = _session()

    await _emit(session, "tool:post", {"result": result})

    assert _tools(session) == (1, int(not failed), int(failed))


async def test_a_tool_that_raised_has_failed() -> None:
    session = _session()

    await _emit(session, "tool:error", {"error": {"type": "ValueError"}}, "no dict at all")

    assert _tools(session) == (2, 0, 2)


async def test_a_tool_that_raised_counts_once_when_its_failed_result_is_posted_too() -> None:
    session = _session()
    result = {"success": False}

    await _emit(session, "tool:error", {"error": {"type": "ValueError"}, "result": result})
    await _emit(session, "tool:post", {"result": result})

    assert _tools(session) == (1, 0, 1)


class Hostile(Mapping[str, Any]):
    """Every way to look into it fails."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")


class HostileObject:
    @property
    def success(self) -> bool:
        raise RuntimeError("no")

    input_tokens = output_tokens = cost_usd = success

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("odd", [Hostile(), HostileObject()])
async def test_what_cannot_be_read_keeps_no_event_from_passing(odd: Any) -> None:
    session = _session()

    await _emit(session, "tool:post", {"result": odd})
    await _emit(session, "provider:response", {"usage": odd}, {"usage": {"cost_usd": odd}})

    assert _tools(session) == (1, 1, 0)
    assert _tokens(session) == (0, 0)
    assert session.status.cost_usd is None


async def test_an_event_counts_once_whoever_listens() -> None:
    session = _session()
    for _ in range(3):
        session.coordinator.hooks.register("tool:post", lambda event, data: None)
    session.coordinator.hooks.register("*", lambda event, data: None)

    await _emit(session, "tool:post", {})

    assert session.status.total_messages == 1


async def test_a_collection_is_no_event_of_the_conversation() -> None:
    session = _session()

    await session.coordinator.hooks.emit_and_collect("tool:post", {})

    assert session.status.total_messages == 0


odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["usage", "result", "success", "input_tokens", "output_tokens", "cost_usd"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.sampled_from(COUNTED), odd_values), max_size=6))
async def test_no_payload_can_break_the_counters(events: list[tuple[str, Any]]) -> None:
    session = _session()

    for event, payload in events:
        await _emit(session, event, payload)

    status = session.status
    invocations, successes, failures = _tools(session)
    posted_later = [
        event == "tool:error" and isinstance(payload, dict) and payload.get("result") is not None
        for event, payload in events
    ]
    calls = sum(event.startswith("tool:") for event, _ in events) - sum(posted_later)
    assert status.total_messages == len(events)
    assert invocations == successes + failures == calls
    assert min(_tokens(session)) >= 0
    assert json.loads(json.dumps(status.to_dict()))["total_messages"] == len(events)
