"""Compaction shortens what requests show: oldest first, whole pairs, and never the history."""

import copy
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from helpers_contexts import (
    JsonDict,
    add_all,
    assistant,
    contents,
    is_notice,
    recorded,
    result,
    simple_context,
    system,
    tokens,
    turns,
    user,
)

TOTAL = tokens(turns(40))


async def shown_with(budget: int, messages: list[JsonDict], **config: Any) -> list[JsonDict]:
    async with simple_context(**config) as context:
        await add_all(context, messages)
        shown: list[JsonDict] = await context.get_messages_for_request(token_budget=budget)
        return shown


async def level_for(target: float, **config: Any) -> JsonDict:
    """Statistics of a compaction of 40 turns to this share of their size."""
    coordinator = MockCoordinator()
    seen = recorded(coordinator, "context:compaction")
    config = {"compaction_notice_enabled": False, "target_usage": target, **config}
    async with simple_context(coordinator, **config) as context:
        await add_all(context, turns(40))
        await context.get_messages_for_request(token_budget=TOTAL)
    ((_, data),) = seen
    return data


async def test_below_the_threshold_nothing_is_changed() -> None:
    messages = turns(10)

    budget = int(tokens(messages) / 0.91)
    shown = await shown_with(budget, messages, compaction_notice_enabled=False)

    assert contents(shown) == contents(messages)


async def test_at_the_threshold_the_request_comes_down_to_the_target() -> None:
    messages = turns(40)
    budget = int(TOTAL / 0.92)

    shown = await shown_with(budget, messages, compaction_notice_enabled=False)

    assert tokens(shown) <= budget * 0.5
    assert tokens(shown) > budget * 0.4, "it stops as soon as the target is reached"


async def test_the_history_is_the_same_after_a_compaction() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        before = copy.deepcopy(await context.get_messages())
        await context.get_messages_for_request(token_budget=1_500)

        assert await context.get_messages() == before


@pytest.mark.parametrize(
    ("target", "level"),
    [(0.86, 1), (0.74, 2), (0.62, 3), (0.5, 4), (0.38, 5), (0.29, 6), (0.23, 7), (0.05, 8)],
)
async def test_levels_follow_each_other_until_the_target_is_reached(
    target: float, level: int
) -> None:
    assert (await level_for(target, protected_recent=0.8))["strategy_level"] == level


async def test_the_first_levels_shorten_the_oldest_results_and_remove_nothing() -> None:
    data = await level_for(0.86)

    assert data["messages_removed"] == data["user_messages_stubbed"] == 0
    assert 0 < data["messages_truncated"] <= 10


async def test_the_event_tells_what_was_done() -> None:
    coordinator = MockCoordinator()
    seen = recorded(
        coordinator, "context:pre_compact", "context:post_compact", "context:compaction"
    )
    async with simple_context(coordinator, protected_tool_results=3) as context:
        await add_all(context, [system("rules"), *turns(40)])
        before = await context.get_messages_for_request(token_budget=10**6)
        shown = await context.get_messages_for_request(token_budget=TOTAL)

    assert [name for name, _ in seen] == [
        "context:pre_compact",
        "context:post_compact",
        "context:compaction",
    ]
    pre, post, data = (data for _, data in seen)
    data.pop("timestamp")
    assert (pre["message_count"], pre["token_count"]) == (len(before), tokens(before))
    assert (post["message_count"], post["token_count"]) == (len(shown), tokens(shown))
    assert data == {
        "before_tokens": tokens(before),
        "after_tokens": tokens(shown),
        "before_messages": len(before),
        "after_messages": len(shown),
        "messages_removed": len(before) - len(shown) + 1,
        "messages_truncated": sum(1 for each in shown if each.get("_truncated")),
        "user_messages_stubbed": sum(1 for each in shown if each.get("_stubbed")),
        "system_messages_preserved": 1,
        "strategy_level": 3,
        "budget": TOTAL,
        "target_tokens": int((TOTAL - min(800, TOTAL // 8)) * 0.5),
        "protected_recent": 0.3,
        "protected_tool_results": 3,
    }


async def test_a_shortened_result_keeps_its_beginning_and_says_how_long_it_was() -> None:
    long = "word " * 2_000
    shown = await shown_with(
        2_500,
        [assistant("", "a"), result("a", long), user("and now?")],
        truncate_chars=10,
        protected_recent=1,
        protected_tool_results=0,
    )

    cut = shown[1]
    assert cut["_truncated"] is True
    assert cut["_original_tokens"] == tokens([result("a", long)])
    assert str(cut["_original_tokens"]) in cut["content"].splitlines()[0]
    assert cut["content"].splitlines()[1] == "word word "
    assert cut["tool_call_id"] == "a"


async def test_results_in_blocks_stay_results_when_shortened() -> None:
    answer = {"type": "tool_result", "tool_call_id": "a", "output": {"text": "word " * 2_000}}
    extra = {"type": "text", "text": "word " * 100}
    messages = [assistant("", "a"), {"role": "tool", "content": [answer, extra]}, user("now?")]

    shown = await shown_with(2_500, messages, protected_tool_results=0, protected_recent=1)

    first, second = shown[1]["content"]
    assert (first["type"], first["tool_call_id"]) == ("tool_result", "a")
    assert len(first["output"]) < 400
    assert second["type"] == "text"


async def test_the_newest_results_are_protected_while_there_is_another_way() -> None:
    shown = await shown_with(TOTAL, turns(40), protected_tool_results=5, target_usage=0.01)

    results = [each for each in shown if each["role"] == "tool"]
    assert not [each for each in results[-5:] if each.get("_truncated")]


async def test_protecting_no_results_protects_none() -> None:
    shown = await shown_with(TOTAL, turns(40), protected_tool_results=0, target_usage=0.01)

    results = [each for each in shown if each["role"] == "tool"]
    assert results
    assert all(each.get("_truncated") for each in results)


async def test_protected_results_are_shortened_before_a_request_fails() -> None:
    messages = [
        user("go"),
        assistant("", "a", "b"),
        result("a", "x " * 6_000),
        result("b", "y " * 2_000),
    ]

    shown = await shown_with(2_500, messages)

    assert [bool(each.get("_truncated")) for each in shown] == [False, False, True, False, False]
    assert tokens(shown) <= 2_500


async def test_user_messages_are_stubbed_but_never_removed() -> None:
    messages = turns(40)

    shown = await shown_with(TOTAL, messages, target_usage=0.2)

    users = [each for each in shown if each["role"] == "user" and not is_notice(each)]
    stubs = [each for each in users if each.get("_stubbed")]
    assert len(users) == 40
    assert stubs
    original = len(messages[4]["content"])
    assert (stubs[0]["_original_length"], users[1]) == (original, stubs[0])
    assert "question 1: some words" in stubs[0]["content"]


async def test_the_first_user_message_is_stubbed_last_and_the_last_one_never() -> None:
    messages = turns(40)

    moderate = await shown_with(TOTAL, messages, target_usage=0.2)
    extreme = await shown_with(TOTAL, messages, target_usage=0.01)

    users = [each for each in extreme if each["role"] == "user" and not is_notice(each)]
    assert moderate[0]["content"] == messages[0]["content"]
    assert users[0].get("_stubbed")
    assert users[-1]["content"] == messages[-4]["content"]


async def test_an_only_user_message_is_first_and_last_and_stays() -> None:
    messages = [user("do this " * 100), *turns(10)[1:4], assistant("word " * 2_000), assistant("k")]

    shown = await shown_with(900, messages)

    assert shown[0]["content"] == messages[0]["content"]


async def test_short_user_messages_and_pictures_are_told_apart() -> None:
    picture = {"type": "image", "source": {"data": "iVBOR"}}
    look = {"role": "user", "content": [{"type": "text", "text": "look"}, picture]}
    messages = [user("task"), user("short"), look, *turns(10), user("and now?")]

    shown = await shown_with(1_200, messages)

    assert contents(shown)[:2] == ["task", "short"]
    assert "look" in shown[2]["content"]
    assert shown[2]["_stubbed"] is True


async def test_system_and_pinned_messages_stay_whole_and_in_place() -> None:
    pinned = [
        user("pinned question " * 20, pinned=True),
        assistant("pinned", "p", pinned=True),
        result("p", "unpinned result"),
        assistant("", "q"),
        result("q", "pinned result " * 50, pinned=True),
        system("late rule " * 20),
    ]
    messages = [system("rule " * 20), *turns(10), *pinned, *turns(30)]

    shown = await shown_with(3_000, messages, target_usage=0.01)

    kept = contents([messages[0], *pinned])
    assert [each for each in contents(shown) if each in kept] == kept


async def test_the_last_message_is_never_removed() -> None:
    messages = [user("go"), assistant("word " * 300), assistant("last " * 300)]

    shown = await shown_with(600, messages, protected_recent=0)

    assert contents(shown)[:2] == contents([messages[0], messages[2]])


# -- over many requests ---------------------------------------------------------------


async def test_decisions_stick_until_the_next_compaction() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        first = await context.get_messages_for_request(token_budget=TOTAL)
        await add_all(context, turns(2))
        second = await context.get_messages_for_request(token_budget=TOTAL)

    assert second[: len(first)] == first
    assert len(second) == len(first) + 8


async def test_a_view_that_cannot_shrink_is_not_compacted_at_every_request() -> None:
    coordinator = MockCoordinator()
    seen = recorded(coordinator, "context:pre_compact")
    async with simple_context(coordinator) as context:
        await add_all(context, [system("rule " * 950), user("go")])
        for _ in range(5):
            await context.get_messages_for_request(token_budget=1_400)
            await context.add_message(assistant("ok"))

    assert len(seen) == 1


async def test_a_much_larger_budget_shows_everything_again() -> None:
    messages = turns(40)
    async with simple_context() as context:
        await add_all(context, messages)
        await context.get_messages_for_request(token_budget=2_000)
        shown = await context.get_messages_for_request(token_budget=100_000)

    assert contents(shown) == contents(messages)


async def test_a_budget_that_fails_leaves_the_view_as_it_was() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        await context.get_messages_for_request(token_budget=TOTAL)
        await add_all(context, turns(3))
        before = await context.get_messages_for_request(token_budget=TOTAL)
        with pytest.raises(ContextLengthError):
            await context.get_messages_for_request(token_budget=20)

        assert await context.get_messages_for_request(token_budget=TOTAL) == before


# -- asked for ------------------------------------------------------------------------


async def test_compact_shortens_the_view_and_not_the_history() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        assert await context.should_compact() is False
        await context.compact()
        shown = await context.get_messages_for_request()

        assert tokens(shown) < TOTAL * 0.55
        assert len(await context.get_messages()) == 160


async def test_should_compact_goes_by_the_budget_of_the_last_request() -> None:
    async with simple_context(max_tokens=int(TOTAL * 1.02)) as context:
        await add_all(context, turns(40))
        assert await context.should_compact() is True
        await context.compact()

        assert await context.should_compact() is False


async def test_compacting_what_is_empty_changes_nothing() -> None:
    async with simple_context() as context:
        await context.compact()

        assert await context.get_messages_for_request() == []


# -- the notice -----------------------------------------------------------------------


async def test_the_model_is_told_at_the_tail_and_the_notice_stays_where_it_was() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        first = await context.get_messages_for_request(token_budget=TOTAL)
        await context.add_message(user("more"))
        second = await context.get_messages_for_request(token_budget=TOTAL)

    assert [is_notice(each) for each in first].index(True) == len(first) - 1
    assert first[-1]["metadata"]["ephemeral"] is True
    assert first[-1]["role"] == "user"
    assert "system-reminder" in first[-1]["content"]
    assert contents(second[len(first) :]) == ["more"]


async def test_the_next_compaction_replaces_the_notice() -> None:
    async with simple_context() as context:
        for _ in range(4):
            await add_all(context, turns(40))
            shown = await context.get_messages_for_request(token_budget=TOTAL)

    assert [index for index, each in enumerate(shown) if is_notice(each)] == [len(shown) - 1]


@pytest.mark.parametrize(
    ("verbosity", "has_numbers", "has_advice"),
    [("minimal", False, False), ("normal", True, False), ("verbose", True, True)],
)
async def test_the_notice_says_as_much_as_it_is_told_to(
    verbosity: str, has_numbers: bool, has_advice: bool
) -> None:
    shown = await shown_with(TOTAL, turns(40), compaction_notice_verbosity=verbosity)

    text = shown[-1]["content"]
    assert ("messages left out" in text) is has_numbers
    assert ("read files again" in text) is has_advice


@pytest.mark.parametrize(
    "config", [{"compaction_notice_enabled": False}, {"compaction_notice_min_level": 9}]
)
async def test_the_notice_can_be_switched_off(config: dict[str, Any]) -> None:
    shown = await shown_with(TOTAL, turns(40), **config)

    assert not [each for each in shown if is_notice(each)]


async def test_a_request_that_just_fits_goes_without_a_notice() -> None:
    kept = [system("rule " * 200), user("go"), assistant("last")]
    messages = [*kept[:2], assistant("word " * 300), kept[2]]

    shown = await shown_with(tokens(kept) + 10, messages, compaction_notice_token_reserve=0)

    assert contents(shown) == contents(kept)


async def test_a_compaction_between_call_and_result_puts_the_notice_behind_them() -> None:
    async with simple_context() as context:
        await add_all(context, [*turns(40), assistant("", "open")])
        await context.compact()
        await context.add_message(result("open", "done"))
        *_, call, answer, last = await context.get_messages_for_request()

    assert (call["tool_calls"][0]["id"], answer["tool_call_id"]) == ("open", "open")
    assert is_notice(last)
