"""One id per model call: opened by the request, carried by the rest, closed at the end."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest
from amplifier_core import correlation
from amplifier_core.correlation import (
    INTERIM_EVENTS,
    REQUEST_EVENTS,
    REQUEST_ID_FIELD,
    TERMINAL_EVENTS,
    current_request_id,
    new_request_id,
    reset_request_id,
    resolve_request_id,
)
from amplifier_core.events import ALL_EVENTS
from hypothesis import given
from hypothesis import strategies as st

INTERIM = ["provider:retry", "provider:throttle"]
TERMINAL = ["llm:response", "provider:error"]
CALL_EVENTS = ["llm:request", *INTERIM, *TERMINAL]


@pytest.fixture(autouse=True)
def _no_call_in_flight() -> Iterator[None]:
    reset_request_id()
    yield
    reset_request_id()


def test_the_events_of_a_call_are_told_apart() -> None:
    assert REQUEST_ID_FIELD == "request_id"
    assert frozenset({"llm:request"}) == REQUEST_EVENTS
    assert frozenset(TERMINAL) == TERMINAL_EVENTS
    assert frozenset(INTERIM) == INTERIM_EVENTS
    for kind in (REQUEST_EVENTS, TERMINAL_EVENTS, INTERIM_EVENTS):
        assert isinstance(kind, frozenset)


def test_a_star_import_brings_constants_and_functions() -> None:
    assert sorted(correlation.__all__) == sorted(
        [
            "REQUEST_ID_FIELD",
            "REQUEST_EVENTS",
            "TERMINAL_EVENTS",
            "INTERIM_EVENTS",
            "new_request_id",
            "current_request_id",
            "resolve_request_id",
            "reset_request_id",
        ]
    )


def test_a_new_id_is_a_random_uuid_and_opens_nothing() -> None:
    first, second = new_request_id(), new_request_id()

    assert first != second
    assert str(UUID(first)) == first
    assert UUID(first).version == 4
    assert current_request_id() is None


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_request_without_an_id_opens_a_new_one(nothing: str | None) -> None:
    first = resolve_request_id("llm:request", nothing)

    assert first is not None
    assert UUID(first).version == 4
    assert current_request_id() == first
    assert resolve_request_id("llm:request", nothing) not in (None, first)


def test_a_request_adopts_the_id_it_brings() -> None:
    assert resolve_request_id("llm:request", "mine") == "mine"
    assert current_request_id() == "mine"


@pytest.mark.parametrize("event", INTERIM)
def test_an_interim_event_echoes_the_call_and_leaves_it_open(event: str) -> None:
    resolve_request_id("llm:request", "mine")

    assert resolve_request_id(event) == "mine"
    assert current_request_id() == "mine"


@pytest.mark.parametrize("event", INTERIM)
def test_an_interim_event_with_an_id_opens_that_call(event: str) -> None:
    resolve_request_id("llm:request", "mine")

    assert resolve_request_id(event, "other") == "other"
    assert current_request_id() == "other"


@pytest.mark.parametrize("event", TERMINAL)
def test_a_terminal_event_echoes_the_call_and_closes_it(event: str) -> None:
    resolve_request_id("llm:request", "mine")

    assert resolve_request_id(event) == "mine"
    assert current_request_id() is None
    assert resolve_request_id(event) is None


@pytest.mark.parametrize("event", TERMINAL)
def test_a_terminal_event_with_an_id_closes_whatever_was_open(event: str) -> None:
    resolve_request_id("llm:request", "mine")

    assert resolve_request_id(event, "other") == "other"
    assert current_request_id() is None


@pytest.mark.parametrize("event", INTERIM + TERMINAL)
def test_nothing_in_flight_means_no_id(event: str) -> None:
    assert resolve_request_id(event) is None
    assert resolve_request_id(event, "") is None
    assert current_request_id() is None


@pytest.mark.parametrize(
    "event", [*sorted(set(ALL_EVENTS) - set(CALL_EVENTS)), "llm:stream_block_delta", "my:event"]
)
def test_any_other_event_has_no_id_and_changes_nothing(event: str) -> None:
    resolve_request_id("llm:request", "mine")

    assert resolve_request_id(event) is None
    assert resolve_request_id(event, "other") is None
    assert current_request_id() == "mine"


def test_a_reset_forgets_the_call() -> None:
    resolve_request_id("llm:request", "mine")
    reset_request_id()

    assert current_request_id() is None
    assert resolve_request_id("llm:response") is None


async def test_parallel_tasks_keep_their_own_calls() -> None:
    together = asyncio.Barrier(3)

    async def call(name: str) -> list[str | None]:
        opened = resolve_request_id("llm:request", name)
        await together.wait()
        carried = resolve_request_id("provider:retry")
        await together.wait()
        return [opened, carried, resolve_request_id("llm:response"), current_request_id()]

    async with asyncio.timeout(5):
        answers = await asyncio.gather(*(call(name) for name in "abc"))

    assert answers == [[name, name, name, None] for name in "abc"]
    assert current_request_id() is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*CALL_EVENTS, "tool:pre"]), st.sampled_from(["a", "b", "", None])
        )
    )
)
def test_at_any_time_at_most_the_latest_id_is_in_flight(steps: list[tuple[str, str]]) -> None:
    reset_request_id()
    for event, explicit in steps:
        before = current_request_id()
        resolved = resolve_request_id(event, explicit)
        if event == "tool:pre":
            assert (resolved, current_request_id()) == (None, before)
        else:
            assert resolved == (explicit or (resolved if event == "llm:request" else before))
            assert current_request_id() == (None if event in TERMINAL else resolved)
