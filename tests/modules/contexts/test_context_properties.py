"""Whatever the history and the budget, a request keeps its promises."""

import asyncio
import copy
import gc
import json
import sys
from collections.abc import Callable
from typing import Any

from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from helpers_contexts import (
    JsonDict,
    add_all,
    assistant,
    recorded,
    result,
    simple_context,
    system,
    tokens,
    turns,
    user,
)
from hypothesis import given, settings
from hypothesis import strategies as st

THOROUGH = settings(max_examples=150, deadline=None, derandomize=True)

Piece = list[JsonDict]
"""Messages that belong together: one message, or a call with what comes back."""


def text(size: int) -> str:
    return "some words " * size


def group(calls: int, answered: int, size: int, reminder: bool, pinned: bool) -> Piece:
    ids = [f"call-{number}" for number in range(calls)]
    results = [result(call, text(size)) for call in ids[:answered]]
    if pinned and results:
        results[0]["metadata"] = {"pinned": True}
    injected = [user("a reminder", source="hook")] if reminder and answered == calls else []
    return [assistant("I look.", *ids), *injected, *results]


sizes = st.integers(0, 120)
messages = st.one_of(
    st.builds(lambda size: user(text(size)), sizes),
    st.builds(lambda size: user(text(size)), sizes),
    st.builds(lambda size: assistant(text(size)), sizes),
    st.builds(lambda size: system(text(size)), st.integers(0, 10)),
    st.builds(lambda size: assistant(text(size), pinned=True), st.integers(0, 10)),
)
groups = st.tuples(st.integers(1, 3), st.integers(0, 3), sizes, st.booleans(), st.booleans()).map(
    lambda drawn: group(drawn[0], min(drawn[:2]), *drawn[2:])
)
pieces = st.one_of(messages.map(lambda message: [message]), groups, groups)
histories = st.lists(pieces, min_size=1, max_size=25)
percents = st.integers(5, 120)
"""A budget, as a share of what the whole history takes."""
configs = st.fixed_dictionaries(
    {
        "protected_recent": st.sampled_from([0, 0.1, 0.3, 1]),
        "protected_tool_results": st.integers(0, 5),
        "truncate_chars": st.sampled_from([0, 20, 250]),
        "target_usage": st.sampled_from([0.1, 0.5, 0.9]),
        "compaction_notice_enabled": st.booleans(),
    }
)


def numbered(history: list[Piece]) -> list[Piece]:
    """The same with a number in each message, and ids that are used once."""
    count = 0
    pieces = copy.deepcopy(history)
    for place, piece in enumerate(pieces):
        for message in piece:
            message.setdefault("metadata", {})["number"] = count
            count += 1
            for call in message.get("tool_calls", ()):
                call["id"] = f"{place}-{call['id']}"
            if "tool_call_id" in message:
                message["tool_call_id"] = f"{place}-{message['tool_call_id']}"
    return pieces


def injected(message: JsonDict) -> bool:
    return bool(message["metadata"].get("source") == "hook")


def budget_of(history: list[Piece], percent: int) -> int:
    return percent * sum(map(tokens, history)) // 100


def is_open(piece: Piece) -> bool:
    calls = [call for message in piece for call in message.get("tool_calls", ())]
    return len(calls) > len([message for message in piece if message["role"] == "tool"])


async def request(history: list[Piece], budget: int, config: JsonDict) -> list[JsonDict] | None:
    """What a request shows; None if it does not fit. Checks that the history stays."""
    async with simple_context(**config) as context:
        for piece in history:
            await add_all(context, piece)
        before = copy.deepcopy(await context.get_messages())
        try:
            shown: list[JsonDict] | None = await context.get_messages_for_request(budget)
        except ContextLengthError:
            shown = None
        assert await context.get_messages() == before
        return shown


def check_pairs(shown: list[JsonDict]) -> None:
    """Every call is followed by its results and by nothing else; no result stands alone."""
    wanted: list[str] = []
    for message in shown:
        if message["role"] == "tool":
            assert message["tool_call_id"] in wanted
            wanted.remove(message["tool_call_id"])
        else:
            assert not wanted
            wanted = [call["id"] for call in message.get("tool_calls", ())]
    assert not wanted


@THOROUGH
@given(histories.map(numbered), percents, configs)
def test_a_request_fits_and_keeps_what_must_be_kept(
    history: list[Piece], percent: int, config: JsonDict
) -> None:
    flat = [message for piece in history for message in piece]

    budget = budget_of(history, percent)
    shown = asyncio.run(request(history, budget, config))

    if shown is None:
        return
    assert tokens(shown) <= budget
    check_pairs(shown)
    by_number = {each["metadata"]["number"]: each for each in shown if "number" in each["metadata"]}
    in_order = [number for number, each in by_number.items() if not injected(each)]
    assert in_order == sorted(in_order)
    for message in flat:
        pinned = message["metadata"].get("pinned") or message["role"] == "system"
        found = by_number.get(message["metadata"]["number"])
        assert found is not None or not (pinned or message["role"] == "user")
        assert not pinned or (found or {})["content"] == message["content"]
    last = [each for each in flat if each["role"] == "user" and not injected(each)][-1:]
    assert [by_number[each["metadata"]["number"]]["content"] for each in last] == [
        each["content"] for each in last
    ]


@THOROUGH
@given(histories.map(numbered), percents, configs)
def test_between_compactions_requests_only_grow_byte_for_byte(
    history: list[Piece], percent: int, config: JsonDict
) -> None:
    budget = budget_of(history, percent)

    async def run() -> None:
        coordinator = MockCoordinator()
        compactions = recorded(coordinator, "context:compaction")
        async with simple_context(coordinator, **config) as context:
            await context.set_system_prompt_factory(lambda: "be brief")
            last = ""
            for piece in history:
                await add_all(context, piece)
                if is_open(piece):
                    continue  # no loop asks the model while a tool runs
                compactions.clear()
                try:
                    shown = await context.get_messages_for_request(token_budget=budget)
                except ContextLengthError:
                    return
                now = json.dumps(shown).removesuffix("]")
                # A boolean, because explaining how long texts differ takes minutes.
                only_grew = now.startswith(last)
                assert only_grew or compactions
                last = now

    asyncio.run(run())


@THOROUGH
@given(histories.map(numbered), percents, configs)
def test_validated_messages_are_the_same_request(
    history: list[Piece], percent: int, config: JsonDict
) -> None:
    budget = budget_of(history, percent)

    async def run() -> None:
        async with simple_context(**config) as context:
            for piece in history:
                await add_all(context, piece)
            try:
                shown = await context.get_messages_for_request(token_budget=budget)
            except ContextLengthError:
                return
            validated = await context.get_validated_messages(token_budget=budget)
            assert [each.metadata for each in validated] == [each["metadata"] for each in shown]

    asyncio.run(run())


# -- cost -----------------------------------------------------------------------------


def calls_made(function: Callable[[], Any]) -> int:
    """How many calls, of Python and of C, `function()` makes."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what it happens to collect would be counted too
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def cost_of_adding(count: int) -> int:
    async def run() -> int:
        history = turns(count)
        async with simple_context(max_tokens=10**9) as context:
            return calls_made(
                lambda: (
                    [drive(context.add_message(each)) for each in history],
                    drive(context.get_validated_messages()),
                )
            )

    return asyncio.run(run())


def cost_of_compacting(count: int, share: float) -> int:
    async def run() -> int:
        history = turns(count)
        async with simple_context(max_tokens=int(tokens(history) * share)) as context:
            await context.set_messages(history)
            return calls_made(lambda: drive(context.get_messages_for_request()))

    return asyncio.run(run())


def drive(coroutine: Any) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("It waited for something.")


def test_the_cost_of_a_message_does_not_depend_on_how_many_there_are() -> None:
    small, large = cost_of_adding(50), cost_of_adding(500)

    assert large < small * 10.5


def test_compaction_is_linear_at_every_level() -> None:
    for share in (0.95, 0.6, 0.4, 0.2):
        small, large = cost_of_compacting(50, share), cost_of_compacting(500, share)

        assert large < small * 11, f"at {share}"


def test_a_request_that_needs_no_compaction_costs_the_same_for_any_history() -> None:
    async def cost(count: int) -> int:
        async with simple_context(max_tokens=10**9) as context:
            await context.set_messages(turns(count))
            drive(context.get_validated_messages())
            return calls_made(
                lambda: (
                    drive(context.get_messages_for_request()),
                    drive(context.get_validated_messages()),
                    drive(context.get_messages()),
                )
            )

    assert asyncio.run(cost(10)) == asyncio.run(cost(1_000))
