"""Which budget a request has, what stands at its front, and what a provider's count changes."""

from typing import Any

import pytest
from amplifier_core import ModelInfo, ProviderInfo
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from helpers_contexts import (
    add_all,
    assistant,
    contents,
    recorded,
    result,
    simple_context,
    system,
    tokens,
    turns,
    user,
)


class Provider:
    """A provider that knows the window of its model, of its defaults, or neither."""

    def __init__(self, model: Any = None, defaults: dict[str, Any] | None = None) -> None:
        self._model = model
        self._defaults = defaults or {}

    def get_model_info(self) -> Any:
        if isinstance(self._model, Exception):
            raise self._model
        return self._model

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="p", display_name="P", defaults=self._defaults)


def window(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"context_window": tokens_in, "max_output_tokens": tokens_out}


async def budget_of_compaction(
    provider: Any, coordinator: MockCoordinator | None = None, **config: Any
) -> int:
    """The budget that a compaction worked with, from the event about it."""
    coordinator = coordinator or MockCoordinator()
    seen = recorded(coordinator, "context:compaction")
    async with simple_context(coordinator, **config) as context:
        await context.set_messages(turns(600))
        await context.get_messages_for_request(provider=provider)
    ((_, data),) = seen
    return int(data["budget"])


async def test_the_window_of_the_model_in_use_sets_the_budget() -> None:
    model = ModelInfo(id="m", display_name="M", **window(100_000, 10_000))
    provider = Provider(model, window(50_000, 0))

    assert await budget_of_compaction(provider) == 100_000 - 5_000 - 4_096


async def test_the_share_of_output_that_is_reserved_can_be_chosen() -> None:
    provider = Provider(window(100_000, 10_000))

    assert await budget_of_compaction(provider, output_reserve_fraction=1) == 90_000 - 4_096


async def test_an_async_model_info_is_awaited() -> None:
    class Asynchronous(Provider):
        async def get_model_info(self) -> Any:  # type: ignore[override]
            return window(100_000, 0)

    assert await budget_of_compaction(Asynchronous()) == 100_000 - 4_096


@pytest.mark.parametrize("model", [None, {}, window(0, 0), RuntimeError("no model loaded")])
async def test_without_a_model_the_defaults_of_the_provider_set_it(model: Any) -> None:
    provider = Provider(model, window(80_000, 8_000))

    assert await budget_of_compaction(provider) == 80_000 - 4_000 - 4_096


@pytest.mark.parametrize("provider", [None, object(), Provider()])
async def test_without_a_provider_that_knows_the_capability_is_asked(provider: Any) -> None:
    coordinator = MockCoordinator()
    coordinator.register_capability("provider.model_info", window(60_000, 8_192))

    assert await budget_of_compaction(provider, coordinator) == 60_000 - 4_096 - 4_096


@pytest.mark.parametrize("provider", [None, Provider({"context_window": "large"})])
async def test_without_any_window_max_tokens_is_the_budget(provider: Any) -> None:
    assert await budget_of_compaction(provider, max_tokens=50_000) == 50_000
    assert await budget_of_compaction(provider) == 200_000


async def test_max_tokens_limits_a_larger_window_only_if_it_was_set() -> None:
    provider = Provider(window(100_000, 0))

    assert await budget_of_compaction(provider, max_tokens=70_000) == 70_000
    assert await budget_of_compaction(provider, max_tokens=150_000) == 95_904


async def test_a_small_window_is_not_all_margin() -> None:
    async with simple_context() as context:
        await add_all(context, turns(10))
        shown = await context.get_messages_for_request(provider=Provider(window(4_096, 4_096)))

    assert 200 < tokens(shown) <= 1_024


async def test_an_explicit_budget_beats_the_provider() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        shown = await context.get_messages_for_request(2_000, Provider(window(100_000, 0)))

    assert tokens(shown) <= 2_000


async def test_what_cannot_be_left_out_and_does_not_fit_is_an_error_that_says_how_much() -> None:
    async with simple_context() as context:
        await add_all(context, [system("rule " * 1_000), user("go")])
        with pytest.raises(ContextLengthError, match=r"about \d+ tokens.* and 500 fit") as caught:
            await context.get_messages_for_request(token_budget=500)

        assert caught.value.retryable is False
        assert len(await context.get_messages_for_request()) == 2


# -- the system prompt ----------------------------------------------------------------


async def test_the_factory_is_asked_at_every_request_and_stands_first() -> None:
    texts = iter(["one", "one", "two"])

    async def prompt() -> str:
        return next(texts)

    async with simple_context() as context:
        await add_all(context, [system("stored"), user("hi")])
        await context.set_system_prompt_factory(prompt)
        shown = [await context.get_messages_for_request() for _ in range(3)]
        history = await context.get_messages()

    assert [contents(each) for each in shown] == [["one", "hi"], ["one", "hi"], ["two", "hi"]]
    assert contents(history) == ["stored", "hi"]
    assert shown[0][0] is shown[1][0]


async def test_a_factory_may_be_plain_and_need_not_be_awaited() -> None:
    async with simple_context() as context:
        await context.add_message(user("hi"))
        context.set_system_prompt_factory(lambda: "be brief")

        first, second = await context.get_validated_messages()

    assert (first.role, first.content, second.content) == ("system", "be brief", "hi")


async def test_system_messages_of_hooks_and_pinned_ones_stay_beside_a_factory() -> None:
    messages = [system("a"), system("b", source="hook"), system("c", pinned=True), user("hi")]
    async with simple_context() as context:
        await context.set_system_prompt_factory(lambda: "prompt")
        await add_all(context, messages)

        assert contents(await context.get_messages_for_request()) == ["prompt", "b", "c", "hi"]


async def test_without_the_factory_stored_system_messages_are_shown_again() -> None:
    async with simple_context() as context:
        await add_all(context, [system("stored"), user("hi")])
        await context.set_system_prompt_factory(lambda: "prompt")
        await context.set_system_prompt_factory(None)

        assert contents(await context.get_messages_for_request()) == ["stored", "hi"]


async def test_another_factory_does_not_undo_a_compaction() -> None:
    async with simple_context() as context:
        await add_all(context, turns(40))
        await context.set_system_prompt_factory(lambda: "one")
        await context.compact()
        before = await context.get_messages_for_request()
        await context.set_system_prompt_factory(lambda: "two")
        after = await context.get_messages_for_request()

    assert after[1:] == before[1:]
    assert len(after) < 160


async def test_an_empty_system_prompt_is_left_out() -> None:
    async with simple_context() as context:
        await context.add_message(user("hi"))
        await context.set_system_prompt_factory(lambda: "")

        assert contents(await context.get_messages_for_request()) == ["hi"]


async def test_the_system_prompt_counts_towards_the_budget() -> None:
    async with simple_context() as context:
        await context.add_message(user("hi"))
        await context.set_system_prompt_factory(lambda: "rule " * 1_000)

        with pytest.raises(ContextLengthError):
            await context.get_messages_for_request(token_budget=500)


# -- tokens ---------------------------------------------------------------------------


def test_texts_of_other_kinds_are_not_counted_like_prose() -> None:
    prose, packed, chinese, russian = (
        tokens([user(unit * (3_000 // len(unit)))])
        for unit in ("a few words of prose ", "aGVsbG8gd29ybGQ", "你好世界", "привет мир ")
    )

    assert 700 < prose < 850
    assert prose * 1.4 < packed < prose * 1.6
    assert 0.7 * 3_000 < chinese < 3_000
    assert 0.35 * 3_000 < russian < 0.6 * 3_000


# -- what the provider counted --------------------------------------------------------


async def should_compact_after(usage: Any, **config: Any) -> bool:
    """Whether 500 estimated tokens of 1,000 are too many once the provider has counted."""
    coordinator = MockCoordinator()
    async with simple_context(coordinator, compaction_notice_enabled=False, **config) as context:
        await context.add_message(user("x " * 1_000))
        shown = await context.get_messages_for_request(token_budget=1_000)
        assert 450 < tokens(shown) < 550
        await coordinator.hooks.emit("llm:response", {"usage": usage})
        return bool(await context.should_compact())


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 950}, True),
        ({"input_tokens": 500, "cache_write_tokens": 450}, True),
        ({"input_tokens": 900, "cache_write_tokens": None}, False),
        ({"output_tokens": 5_000}, False),
        ({"input_tokens": "many"}, False),
        (None, False),
    ],
)
async def test_the_provider_s_count_decides_when_to_compact(usage: Any, expected: bool) -> None:
    assert await should_compact_after(usage) is expected


async def test_the_meter_can_be_told_to_go_by_estimates_alone() -> None:
    assert await should_compact_after({"input_tokens": 950}, token_meter="estimate") is False


async def test_a_count_far_below_the_estimate_is_another_conversation_s() -> None:
    """A session's other model calls, such as one that finds a title, report usage too."""
    coordinator = MockCoordinator()
    async with simple_context(coordinator, compaction_notice_enabled=False) as context:
        await context.add_message(user("x " * 1_000))
        await context.get_messages_for_request(token_budget=1_000)
        for counted in (20, 950, 600):
            await coordinator.hooks.emit("llm:response", {"usage": {"input_tokens": counted}})

        assert await context.should_compact(), "950 was the count of this request"


async def test_tokens_besides_the_messages_take_their_share_of_the_budget() -> None:
    coordinator = MockCoordinator()
    async with simple_context(coordinator) as context:
        await add_all(context, turns(5))
        shown = await context.get_messages_for_request(token_budget=20_000)
        descriptions = {"usage": {"input_tokens": tokens(shown) + 6_000}}
        await coordinator.hooks.emit("llm:response", descriptions)
        await add_all(context, turns(12))
        assert await context.should_compact() is False, "they are the same for a longer request"
        await add_all(context, turns(12))
        shown = await context.get_messages_for_request(token_budget=20_000)

    assert tokens(shown) <= (20_000 - 800) / 2 - 6_000 + 100


async def test_a_model_that_counts_more_per_word_gets_shorter_requests() -> None:
    coordinator = MockCoordinator()
    async with simple_context(coordinator) as context:
        await context.add_message(user("hi"))
        for factor in (1, 2):
            shown = await context.get_messages_for_request(token_budget=40_000)
            usage = {"input_tokens": tokens(shown) * factor}
            await coordinator.hooks.emit("llm:response", {"usage": usage})
            await add_all(context, [assistant("so"), *turns(70)])
        await add_all(context, turns(70))
        shown = await context.get_messages_for_request(token_budget=40_000)

    assert tokens(shown) <= 20_000


async def test_calls_with_odd_arguments_are_counted_and_shown() -> None:
    class Unprintable:
        def __repr__(self) -> str:
            raise ValueError("no")

    cyclic: dict[str, Any] = {"path": "a.txt"}
    cyclic["self"] = cyclic
    odd = [cyclic, {"value": Unprintable()}, {"text": "word " * 1_000}]
    async with simple_context() as context:
        for number, arguments in enumerate(odd):
            call = {"id": f"c{number}", "tool": "t", "arguments": arguments}
            await context.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
            await context.add_message(result(f"c{number}", "done"))

        assert len(await context.get_messages_for_request()) == 6


async def test_a_result_for_no_proper_call_is_shown_all_the_same() -> None:
    async with simple_context() as context:
        await context.add_message({"role": "tool", "tool_call_id": ["c0"], "content": "done"})

        assert len(await context.get_messages_for_request()) == 1


async def test_a_message_that_cannot_be_read_spoils_one_request_only() -> None:
    class Nameless:
        def __str__(self) -> str:
            raise ValueError("no name")

    async with simple_context() as context:
        await context.add_message(user("before"))
        call = {"id": Nameless(), "tool": "t", "arguments": {}}
        await context.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
        await context.add_message(user("after"))
        with pytest.raises(ValueError, match="no name"):
            await context.get_messages_for_request()

        shown = contents(await context.get_messages_for_request())

        assert shown == ["before", "", "after"]
