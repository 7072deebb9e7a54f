"""What hooks want the model to read."""

import asyncio
from typing import Any

import pytest
from amplifier_core.models import ContextInjection, HookResult, ToolResult
from helpers_loops import (
    LOOPS,
    Tool,
    calls,
    check_history,
    deny,
    inject,
    model_of,
    says,
    stage,
)


def contents(request: Any) -> list[Any]:
    return [message.content for message in request.messages]


@pytest.mark.parametrize("loop", LOOPS)
async def test_what_is_injected_for_a_request_ends_it_and_is_not_stored(loop: str) -> None:
    ready = await stage(calls("t"), says("done"), loop=loop, t=Tool())
    ready.on("provider:request", inject("it is noon", context_injection_role="user"))
    await ready.run("hi")

    first, second = model_of(ready).requests
    assert contents(first) == ["hi", "it is noon"]
    assert first.messages[-1].role == "user"
    assert "it is noon" not in contents(second)
    assert all("noon" not in str(message) for message in ready.context.messages)


async def test_what_is_not_ephemeral_is_stored_once() -> None:
    ready = await stage(says("done"))
    ready.on("provider:request", inject("remember", ephemeral=False))
    await ready.run("hi")

    assert contents(model_of(ready).requests[0]) == ["hi", "remember"]
    assert ready.context.roles == ["user", "system", "assistant"]


async def test_all_injections_of_one_event_arrive_in_order() -> None:
    ready = await stage(says("done"))
    items = [ContextInjection(content=text, ephemeral=True) for text in ("one", "two")]
    ready.on("provider:request", HookResult(action="inject_context", context_injections=items))
    ready.on("provider:request", inject("three"))
    await ready.run("hi")

    assert contents(model_of(ready).requests[0]) == ["hi", "one", "two", "three"]


async def test_an_empty_injection_adds_nothing() -> None:
    ready = await stage(says("done"))
    ready.on("provider:request", inject(""))
    await ready.run("hi")

    assert contents(model_of(ready).requests[0]) == ["hi"]


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_what_is_injected_with_the_prompt_joins_the_first_request(loop: str) -> None:
    ready = await stage(calls("t"), says("done"), loop=loop, t=Tool())
    ready.on("prompt:submit", inject("be brief"))
    await ready.run("hi")

    first, second = model_of(ready).requests
    assert contents(first) == ["hi", "be brief"]
    assert "be brief" not in contents(second)


async def test_in_loop_events_it_joins_every_request_of_the_turn() -> None:
    ready = await stage(calls("t"), says("done"), says("again"), loop="loop-events", t=Tool())
    ready.on("prompt:submit", inject("be brief"))
    await ready.run("hi")
    await ready.run("and")

    first, second, next_turn = model_of(ready).requests
    assert contents(first)[-1] == contents(second)[-1] == "be brief"
    assert "be brief" not in contents(next_turn)


async def test_what_is_injected_after_a_tool_waits_for_the_next_request() -> None:
    ready = await stage(calls("t"), calls("t"), says("done"), t=Tool("out"))
    ready.on("tool:post", inject("mind the gap"))
    await ready.run("hi")

    _, second, third = model_of(ready).requests
    assert contents(second) == ["hi", "", "out", "mind the gap"]
    assert "mind the gap" not in contents(third)


async def test_the_requests_own_injection_comes_before_those_that_waited() -> None:
    ready = await stage(calls("t"), says("done"), t=Tool("out"))
    ready.on("tool:post", inject("from the tool"))
    ready.on("provider:request", None, inject("of the request"))
    await ready.run("hi")

    assert contents(model_of(ready).requests[1])[-2:] == ["of the request", "from the tool"]


async def test_injections_after_parallel_tools_keep_the_order_of_the_calls() -> None:
    second_is_over = asyncio.Event()

    async def first(_: Any) -> str:
        await second_is_over.wait()
        return "first"

    async def second(_: Any) -> str:
        second_is_over.set()
        return "second"

    ready = await stage(calls("a", "b"), says("done"), a=Tool(first), b=Tool(second))

    async def after(_: str, data: dict[str, Any]) -> HookResult:
        return inject(f"after {data['tool_name']}")

    ready.hooks.register("tool:post", after)
    await ready.run("hi")

    assert contents(model_of(ready).requests[1])[-2:] == ["after a", "after b"]


@pytest.mark.parametrize("role", ["system", "user"])
async def test_it_can_be_appended_to_the_last_tool_result(role: str) -> None:
    ready = await stage(calls("t"), says("done"), t=Tool("out"))
    ready.on(
        "tool:post", inject("note", append_to_last_tool_result=True, context_injection_role=role)
    )
    await ready.run("hi")

    last = model_of(ready).requests[1].messages[-1]
    assert (last.role, last.content) == ("tool", "out\n\nnote")
    assert ready.context.messages[2]["content"] == "out"


async def test_a_tool_result_with_pictures_gets_one_more_block() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    picture = ToolResult(content=[{"type": "image", "source": source}])
    ready = await stage(calls("t"), says("done"), t=Tool(picture))
    ready.on("tool:post", inject("note", append_to_last_tool_result=True))
    await ready.run("hi")

    last = model_of(ready).requests[1].messages[-1]
    assert [block.type for block in last.content] == ["image", "text"]


async def test_without_a_tool_result_at_the_end_it_is_a_message_of_its_own() -> None:
    ready = await stage(says("done"))
    ready.on("provider:request", inject("note", append_to_last_tool_result=True))
    await ready.run("hi")

    assert contents(model_of(ready).requests[0]) == ["hi", "note"]


@pytest.mark.parametrize("event", ["tool:pre", "tool:post"])
async def test_nothing_is_stored_between_a_call_and_its_result(event: str) -> None:
    ready = await stage(calls("t", "t"), says("done"), t=Tool())
    ready.on(event, inject("remember", ephemeral=False), inject("too", ephemeral=False))
    await ready.run("hi")

    check_history(ready.context.messages)
    assert ready.context.roles[:6] == ["user", "assistant", "tool", "tool", "system", "system"]


async def test_what_others_inject_beside_a_denied_call_is_stored_after_its_result() -> None:
    ready = await stage(calls("t"), says("done"), t=Tool())
    ready.on("tool:pre", inject("remember", ephemeral=False))
    ready.on("tool:pre", deny("no"))
    await ready.run("hi")

    assert ready.context.roles == ["user", "assistant", "tool", "system", "assistant"]


async def test_messages_for_the_user_are_shown_while_injections_wait() -> None:
    shown: list[str] = []

    class Display:
        def show_message(self, message: str, level: str, source: str) -> None:
            shown.append(f"{message} after {len(ready.context.messages)} messages")

    ready = await stage(calls("t"), says("done"), t=Tool())
    ready.coordinator.display_system = Display()
    ready.on("tool:post", inject("note", user_message="look"))
    await ready.run("hi")

    assert shown == ["look after 2 messages"]
    assert contents(model_of(ready).requests[1])[-1] == "note"


async def test_an_injection_that_is_too_long_is_lost_and_the_turn_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ready = await stage(calls("t"), says("done"), t=Tool())
    ready.coordinator.config["session"] = {"injection_size_limit": 3}
    ready.on("tool:post", inject("far too long"))

    assert await ready.run("hi") == "done"
    assert "lost" in caplog.text


async def test_without_a_coordinator_injections_are_stored_or_sent_all_the_same() -> None:
    ready = await stage(says("done"))
    ready.loop.coordinator = None
    ready.on("provider:request", inject("for now"))
    ready.on("prompt:submit", inject("for good", ephemeral=False))
    models = {"m": model_of(ready)}
    await ready.loop.execute("hi", ready.context, models, {}, ready.hooks)

    assert contents(model_of(ready).requests[0]) == ["for good", "hi", "for now"]
    assert ready.context.roles == ["system", "user", "assistant"]


async def test_injections_written_in_the_older_scalar_form_are_read() -> None:
    class OlderHooks:
        """A registry that hands on what a handler returned, as it was written."""

        async def emit(self, event: str, data: dict[str, Any]) -> HookResult:
            if event == "provider:request":
                return inject("for now", context_injection_role="user")
            if event == "tool:post":
                return inject("note", append_to_last_tool_result=True)
            return HookResult(data=data)

    ready = await stage(calls("t"), says("done"), t=Tool("out"))
    models = {"m": model_of(ready)}
    tools = ready.coordinator.get("tools")
    await ready.loop.execute(
        "hi", ready.context, models, tools, OlderHooks(), coordinator=ready.coordinator
    )

    first, second = model_of(ready).requests
    assert contents(first) == ["hi", "for now"]
    assert contents(second) == ["hi", "", "out", "for now", "note"]
