"""Whatever a log holds, the conversation in it is one that every provider accepts."""

from typing import Any

from helpers_validity import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier.sessions import events
from amplifier.sessions.projection import State, project
from amplifier.sessions.record import Record, new_record
from amplifier.sessions.sentences import INTERRUPTED, NOT_STARTED

IDS = st.sampled_from(["a", "b", "c", ""])
TEXTS = st.sampled_from(["", " ", "Hello", "ä\ud800"])
ODD = st.sampled_from([None, "x", 1, {}])
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda i: {"type": "tool_call", "id": i, "name": "t", "input": {}}, IDS),
    st.builds(lambda i: {"type": "tool_result", "tool_call_id": i, "output": "x"}, IDS),
    st.sampled_from([{"type": "image"}, {"type": "new"}, "text", None, {"type": "thinking"}]),
)
CALLS = st.lists(
    st.one_of(
        st.builds(lambda i: {"id": i, "tool": "t", "arguments": {}}, IDS),
        st.sampled_from([{"id": "a"}, {"tool": "t"}, None, {"id": 3, "tool": "t"}]),
    ),
    max_size=3,
)
MESSAGES = st.builds(
    lambda role, content, more: {"role": role, "content": content, **more},
    st.sampled_from(["user", "assistant", "assistant", "tool", "system", "function", "odd"]),
    st.one_of(TEXTS, st.none(), st.lists(BLOCKS, max_size=3), st.just({"odd": 1})),
    st.fixed_dictionaries(
        {}, optional={"tool_calls": CALLS, "tool_call_id": IDS, "name": ODD, "metadata": ODD}
    ),
)
ABOUT_CALLS = st.builds(
    lambda event, i, result: (event, {"tool_call_id": i, "tool_name": "t", "result": result}),
    st.sampled_from(["tool:pre", "tool:post", events.ASKED, events.ANSWERED]),
    IDS,
    st.one_of(TEXTS, st.just({"success": False, "output": None, "error": {"message": "no"}})),
)
RECORDS = st.lists(
    st.one_of(
        st.builds(lambda m: (events.MESSAGE, {"message": m}), MESSAGES),
        st.builds(
            lambda m, n: (events.MESSAGE, {"message": m, "content_of": n}),
            MESSAGES,
            st.integers(0, 5),
        ),
        ABOUT_CALLS,
        st.builds(lambda m: (events.REPLACED, {"messages": m}), st.lists(MESSAGES, max_size=3)),
        st.builds(lambda text: ("prompt:submit", {"prompt": text}), TEXTS),
        st.sampled_from([(events.TURN_END, {}), (events.MESSAGE, {}), ("odd", {"x": 1})]),
    ),
    max_size=12,
)


def state_of(*told: tuple[str, dict[str, Any]]) -> State:
    records: list[Record] = [new_record(seq, *each, ts="now") for seq, each in enumerate(told)]
    return project(records)


@settings(max_examples=400, deadline=None)
@given(RECORDS)
def test_any_sequence_of_records_leads_to_a_conversation_that_providers_accept(
    told: list[tuple[str, dict[str, Any]]],
) -> None:
    assert problems(state_of(*told).messages) == []


@settings(max_examples=100, deadline=None)
@given(RECORDS)
def test_the_same_records_lead_to_the_same_state(told: list[tuple[str, dict[str, Any]]]) -> None:
    assert state_of(*told) == state_of(*told)


def reply(*ids: str) -> tuple[str, dict[str, Any]]:
    calls = [{"id": each, "tool": "t", "arguments": {"n": 1}} for each in ids]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    return events.MESSAGE, {"message": message}


def about(event: str, call_id: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return event, {"tool_call_id": call_id, "tool_name": "t", **more}


USER = (events.MESSAGE, {"message": {"role": "user", "content": "Go."}})


def test_how_far_a_call_got_is_told_by_its_records() -> None:
    state = state_of(
        USER,
        reply("a", "b", "c", "d"),
        about("tool:pre", "a"),
        about("tool:post", "a", result={"success": True, "output": "A", "error": None}),
        about("tool:pre", "b"),
        about("tool:pre", "c"),
        about(events.ASKED, "c"),
    )

    assert [each.state for each in state.calls] == ["finished", "started", "asked", "planned"]
    answers = [each["content"] for each in state.messages if each["role"] == "tool"]
    assert answers == ["A", INTERRUPTED, NOT_STARTED, NOT_STARTED]


def test_an_answer_of_an_odd_kind_becomes_one_that_can_be_read() -> None:
    answer = {"role": "tool", "tool_call_id": "a", "content": None, "name": 3}

    state = state_of(USER, reply("a"), (events.MESSAGE, {"message": answer}))

    assert problems(state.messages) == []


def test_a_call_without_a_block_gets_one_if_others_have_theirs() -> None:
    block = {"type": "tool_call", "id": "b", "name": "t", "input": {}}
    message = {**reply("a")[1]["message"], "content": [block]}

    assert problems(state_of(USER, (events.MESSAGE, {"message": message})).messages) == []


def test_a_call_id_that_comes_again_in_a_later_reply_is_another_call() -> None:
    answer = {"role": "tool", "tool_call_id": "a", "content": "one"}

    state = state_of(USER, reply("a"), (events.MESSAGE, {"message": answer}), reply("a"))

    assert [each.state for each in state.calls] == ["finished", "planned"]
    answers = [each["content"] for each in state.messages if each["role"] == "tool"]
    assert answers == ["one", NOT_STARTED]


def test_costs_and_tokens_add_up() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2, "cost_usd": "0.1"}

    state = state_of(
        (events.MESSAGE, {"message": {"role": "user", "content": "x"}, "usage": usage}),
        ("provider:response", {"usage": usage}),
        ("provider:response", {"usage": {"cost_usd": "nonsense"}}),
    )

    spent = state.spent
    assert (spent.input_tokens, spent.output_tokens, str(spent.cost)) == (6, 4, "0.2")
    assert spent.has_unknown_cost
