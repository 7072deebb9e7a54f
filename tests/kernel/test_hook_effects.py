"""Carrying out what hooks decided: injections, and what is returned for the orchestrator."""

import asyncio
import logging
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import ContextInjection, HookResult, ModuleCoordinator
from amplifier_core.models import UserMessage
from helpers_coordinator import Context, Display, coordinator_with, process
from hypothesis import given
from hypothesis import strategies as st


def injecting(content: str | None = None, **fields: Any) -> HookResult:
    return HookResult(action="inject_context", context_injection=content, **fields)


def injecting_all(*items: ContextInjection, **fields: Any) -> HookResult:
    return HookResult(action="inject_context", context_injections=list(items), **fields)


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


# -- what comes back as it is ---------------------------------------------------------


@pytest.mark.parametrize("action", ["continue", "deny", "modify"])
async def test_a_result_that_asks_for_nothing_comes_back_as_the_same_object(action: Any) -> None:
    context = Context()
    result = HookResult(action=action, reason="why", data={"a": 1}, context_injection="ignored")

    assert await process(result, context=context) is result
    assert context.messages == []


@pytest.mark.parametrize("result", [{"action": "continue"}, None, "continue"])
async def test_what_has_no_action_is_refused(result: Any) -> None:
    with pytest.raises(AttributeError, match="action"):
        await process(result)


# -- one injection --------------------------------------------------------------------


async def test_an_injection_is_stored_with_where_it_came_from() -> None:
    context = Context()

    await process(injecting("mind the gap", context_injection_role="user"), context=context)

    [message] = context.messages
    when = datetime.fromisoformat(message["metadata"].pop("timestamp"))
    assert when.utcoffset() == timedelta(0)
    assert message == {
        "role": "user",
        "content": "mind the gap",
        "metadata": {
            "source": "hook",
            "hook_name": "guardian",
            "event": "tool:pre",
            "requested_role": "user",
            "ephemeral": False,
            "persisted": True,
        },
    }


async def test_an_unnamed_hook_is_stored_as_unknown() -> None:
    context = Context()

    await coordinator_with(context=context).process_hook_result(injecting("text"), "tool:pre")

    assert context.messages[0]["metadata"]["hook_name"] == "unknown"


async def test_after_storing_nothing_is_left_to_inject_and_the_rest_is_kept() -> None:
    result = injecting(
        "text",
        context_injection_role="assistant",
        append_to_last_tool_result=True,
        reason="why",
        data={"a": 1},
        suppress_output=True,
        user_message="hello",
    )
    before = result.model_dump()

    left = await process(result, context=Context())

    assert left == HookResult(
        action="continue", reason="why", data={"a": 1}, suppress_output=True, user_message="hello"
    )
    assert left is not result
    assert result.model_dump() == before


async def test_an_ephemeral_injection_is_left_to_the_orchestrator_and_not_stored() -> None:
    context = Context()
    result = injecting("text", ephemeral=True, append_to_last_tool_result=True)

    left = await process(result, context=context)

    assert context.messages == []
    assert left == injecting(
        "text",
        ephemeral=True,
        append_to_last_tool_result=True,
        context_injections=[
            ContextInjection(
                content="text",
                ephemeral=True,
                append_to_last_tool_result=True,
                hook_name="guardian",
                event="tool:pre",
            )
        ],
    )


async def test_a_context_may_store_without_being_async() -> None:
    stored: list[Any] = []

    await process(injecting("text"), context=SimpleNamespace(add_message=stored.append))

    assert [message["content"] for message in stored] == ["text"]


@pytest.mark.parametrize("context", [None, SimpleNamespace()])
async def test_an_injection_without_a_context_to_store_it_is_logged(
    context: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert await process(injecting("text"), context=context) == HookResult()

    assert levels(caplog) == [logging.WARNING]
    assert "'guardian'" in caplog.text


async def test_a_context_that_fails_is_heard() -> None:
    with pytest.raises(RuntimeError, match="disk full"):
        await process(injecting("text"), context=Context(RuntimeError("disk full")))


async def test_an_object_with_the_attributes_of_a_result_is_served_alike() -> None:
    context = Context()
    fields = HookResult().model_dump() | {"action": "inject_context", "context_injection": "text"}

    left = await process(SimpleNamespace(**fields), context=context)

    assert left == HookResult()
    assert context.contents == ["text"]


# -- sanitizing -----------------------------------------------------------------------

KEPT_CONTROLS = "\t\n\r"


async def test_control_characters_and_lone_surrogates_are_not_stored() -> None:
    context = Context()
    everything = "".join(map(chr, range(0xB0)))

    await process(injecting(f"a\ud800b{everything}\udfffc"), context=context)

    kept = KEPT_CONTROLS + "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0xB0)]))
    assert context.contents == [f"ab{kept}c"]


@pytest.mark.parametrize("content", [None, "", "\x00\x7f", "\ud800"])
@pytest.mark.parametrize("ephemeral", [False, True])
async def test_an_injection_that_is_empty_or_becomes_so_is_dropped(
    content: str | None, ephemeral: bool
) -> None:
    context = Context()

    left = await process(injecting(content, ephemeral=ephemeral), context=context)

    assert left == HookResult()
    assert context.messages == []


async def test_what_is_left_to_the_orchestrator_is_sanitized_as_well() -> None:
    item = ContextInjection(content="a\x00b", ephemeral=True)

    left = await process(injecting_all(item))

    assert left.context_injection == "ab"
    assert left.context_injections == [ContextInjection(content="ab", ephemeral=True)]
    assert item.content == "a\x00b"


@given(st.text(alphabet=st.characters(), max_size=30))
def test_any_text_is_stored_as_what_can_be_encoded(text: str) -> None:
    context = Context()

    asyncio.run(process(injecting(text), context=context))

    assert all(content and content.encode() for content in context.contents)


# -- several injections ---------------------------------------------------------------


async def test_the_list_of_injections_wins_over_the_single_text() -> None:
    context = Context()
    items = [
        ContextInjection(content="one"),
        ContextInjection(content="two", role="user", hook_name="other", event="tool:post"),
    ]

    left = await process(injecting("not this", context_injections=items), context=context)

    assert left == HookResult()
    assert [
        (m["role"], m["content"], m["metadata"]["hook_name"], m["metadata"]["event"])
        for m in context.messages
    ] == [("system", "one", "unknown", ""), ("user", "two", "other", "tool:post")]


async def test_of_mixed_injections_the_ephemeral_ones_are_left_and_shown_merged() -> None:
    context = Context()
    kept = ContextInjection(content="kept", append_to_last_tool_result=True)
    first = ContextInjection(content="first", role="user", ephemeral=True)
    second = ContextInjection(content="second", ephemeral=True, append_to_last_tool_result=True)
    empty = ContextInjection(content="\x00", ephemeral=True)

    left = await process(injecting_all(kept, first, empty, second), context=context)

    assert context.contents == ["kept"]
    assert left == injecting(
        "first\n\nsecond",
        context_injection_role="user",
        ephemeral=True,
        append_to_last_tool_result=True,
        context_injections=[first, second],
    )


# -- size and budget ------------------------------------------------------------------


@pytest.mark.parametrize("content", ["abcde", "abcde\x00\x00", "\U0001f600" * 5])
async def test_the_size_limit_counts_characters_of_the_sanitized_text(content: str) -> None:
    context = Context()

    await process(injecting(content), context=context, injection_size_limit=5)

    assert len(context.contents[0]) == 5


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_an_injection_over_the_size_limit_is_refused(
    ephemeral: bool, caplog: pytest.LogCaptureFixture
) -> None:
    context = Context()

    with pytest.raises(ValueError, match=r"^Context injection exceeds 5 characters$"):
        await process(
            injecting("abcdef", ephemeral=ephemeral), context=context, injection_size_limit=5
        )

    assert context.messages == []
    assert levels(caplog) == [logging.ERROR]


async def test_a_size_limit_of_zero_lets_nothing_in() -> None:
    with pytest.raises(ValueError, match="exceeds 0 characters"):
        await process(injecting("a"), injection_size_limit=0)


async def test_one_injection_over_the_limit_keeps_the_others_out_too() -> None:
    context = Context()
    coordinator = coordinator_with(context=context, injection_size_limit=5)
    items = [ContextInjection(content="short"), ContextInjection(content="too long")]

    with pytest.raises(ValueError, match="exceeds 5"):
        await coordinator.process_hook_result(injecting_all(*items), "tool:pre")

    assert context.messages == []
    assert coordinator._current_turn_injections == 0


async def test_the_size_limit_is_for_each_injection_not_for_their_sum() -> None:
    context = Context()
    items = [ContextInjection(content="12345"), ContextInjection(content="67890")]

    await process(injecting_all(*items), context=context, injection_size_limit=5)

    assert context.contents == ["12345", "67890"]


async def test_the_turns_tokens_are_counted_ephemeral_ones_included() -> None:
    coordinator = ModuleCoordinator()
    items = [ContextInjection(content="x" * 7), ContextInjection(content="x" * 8, ephemeral=True)]

    await coordinator.process_hook_result(injecting_all(*items), "tool:pre")
    assert coordinator._current_turn_injections == 1 + 2

    await coordinator.process_hook_result(injecting("x" * 4), "tool:pre")
    assert coordinator._current_turn_injections == 4


@pytest.mark.parametrize(("used", "warnings"), [(1, 0), (2, 1)])
async def test_going_over_the_budget_is_a_warning_and_nothing_more(
    used: int, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    context = Context()
    coordinator = coordinator_with(context=context, injection_budget_per_turn=2)
    coordinator._current_turn_injections = used

    await coordinator.process_hook_result(injecting("abcd"), "tool:pre", "guardian")

    assert levels(caplog) == [logging.WARNING] * warnings
    assert context.contents == ["abcd"]
    assert coordinator._current_turn_injections == used + 1


async def test_every_injection_leaves_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    await process(injecting("x" * 9, context_injection_role="user", ephemeral=True))

    assert caplog.messages == [
        "Hook 'guardian' injects on 'tool:pre': 9 characters, role user, 2 tokens, ephemeral True"
    ]


@pytest.mark.parametrize("key", ["injection_size_limit", "injection_budget_per_turn"])
@pytest.mark.parametrize(("limit", "error"), [(1.5, TypeError), (-1, OverflowError)])
async def test_a_limit_that_makes_no_sense_lets_no_injection_in(
    key: str, limit: Any, error: type[Exception]
) -> None:
    context = Context()

    with pytest.raises(error, match=key):
        await process(injecting("text"), context=context, **{key: limit})
    assert context.messages == []


# -- beside a denial ------------------------------------------------------------------

LASTING = ContextInjection(content="lasting", hook_name="other", event="tool:pre")
FLEETING = ContextInjection(content="fleeting", ephemeral=True, hook_name="other", event="tool:pre")


def denying(**fields: Any) -> HookResult:
    return HookResult(action="deny", reason="not allowed", **fields)


async def test_injections_beside_a_denial_are_stored_and_the_fleeting_ones_are_left() -> None:
    context = Context()
    result = denying(context_injections=[LASTING, FLEETING])

    left = await process(result, context=context)

    assert context.contents == ["lasting"]
    assert left == denying(context_injections=[FLEETING])
    assert result.context_injections == [LASTING, FLEETING]


async def test_what_other_hooks_said_is_carried_out_when_one_denies() -> None:
    context, display = Context(), Display()
    coordinator = coordinator_with(context=context, display=display)
    coordinator.hooks.register("tool:pre", lambda *_: injecting("lasting"), 1, "adviser")
    coordinator.hooks.register("tool:pre", lambda *_: HookResult(user_message="hm"), 2, "critic")
    coordinator.hooks.register("tool:pre", lambda *_: denying(user_message="no"), 3, "guard")

    emitted = await coordinator.hooks.emit("tool:pre", {})
    outcome = await coordinator.process_hook_result(emitted, "tool:pre", "loop")

    assert (outcome.action, outcome.reason) == ("deny", "not allowed")
    assert context.messages[0]["metadata"]["hook_name"] == "adviser"
    assert context.contents == ["lasting"]
    assert display.shown == [("hm", "info", "hook:critic"), ("no", "info", "hook:loop")]


@pytest.mark.parametrize(
    "error", [RuntimeError("disk full"), asyncio.CancelledError(), ValueError("odd")]
)
async def test_a_denial_stands_when_the_context_beside_it_fails(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    result = denying(context_injections=[LASTING])

    assert await process(result, context=Context(error)) is result
    assert levels(caplog) == [logging.ERROR]


async def test_a_denial_stands_when_an_injection_beside_it_is_too_long() -> None:
    context = Context()
    result = denying(context_injections=[LASTING])

    assert await process(result, context=context, injection_size_limit=1) is result
    assert context.messages == []


async def test_a_denial_stands_when_a_limit_makes_no_sense() -> None:
    result = denying(context_injections=[LASTING])

    assert await process(result, injection_size_limit="many") is result


async def test_a_denial_stands_when_the_display_fails() -> None:
    result = denying(user_message="no")

    assert await process(result, display=Display(RuntimeError("closed"))) is result


async def test_a_denial_stands_when_its_messages_are_malformed() -> None:
    display = Display()
    result = denying()
    result.user_messages = ["not a message", UserMessage(text="hm")]
    result.user_message_level = "shouting"
    result.user_message = "no"

    assert await process(result, display=display) is result
    assert display.shown == [("hm", "info", "hook:guardian"), ("no", "shouting", "hook:guardian")]


async def test_a_denial_stands_that_is_no_hook_result_and_knows_no_lists() -> None:
    result = SimpleNamespace(action="deny", user_message=None, suppress_output=False)

    assert await process(result) is result


async def test_cancelling_goes_through_even_beside_a_denial() -> None:
    started = asyncio.Event()

    async def hang(message: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    result = denying(context_injections=[LASTING])
    processing = asyncio.create_task(process(result, context=SimpleNamespace(add_message=hang)))
    async with asyncio.timeout(5):
        await started.wait()
        processing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await processing
