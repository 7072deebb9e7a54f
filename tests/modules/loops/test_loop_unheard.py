"""A turn comes to the same whether or not anybody listens."""

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.models import HookResult, SessionStatus, ToolResult
from helpers_loops import LOOPS, Memory, Model, Stage, Tool, calls, model_of, mounted, says, usage

FAILURE = ToolResult(success=False, error={"message": "no"})


async def played(loop: str, *listened_to: str) -> tuple[Stage, SessionStatus]:
    """A turn with good and bad tool calls, alone and side by side, and what is counted of it."""
    session = AmplifierSession({"session": {"orchestrator": loop, "context": "memory"}})
    ready = await mounted(loop)
    ready.coordinator, ready.hooks = session.coordinator, session.coordinator.hooks
    model = Model(
        calls("good", usage=usage(5)),
        calls("good", "bad", "raises", "unknown"),
        calls("data"),
        says("done", usage=usage(7)),
    )
    answers = {"good": "fine", "bad": FAILURE, "raises": OSError("broken"), "data": {"a": [1]}}
    ready.set(Memory(), [model], {name: Tool(answer) for name, answer in answers.items()})
    for event in listened_to:
        ready.hooks.register(event, lambda *_: HookResult(action="continue"))
    assert await ready.run() == "done"
    return ready, session.status


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("event", ["*", "tool:pre", "tool:post", "provider:request"])
async def test_history_and_requests_are_the_same(loop: str, event: str) -> None:
    (unheard, _), (heard, _) = await played(loop), await played(loop, event)

    assert unheard.context.messages == heard.context.messages
    assert model_of(unheard).requests == model_of(heard).requests


@pytest.mark.parametrize("loop", LOOPS)
async def test_the_session_counts_the_same(loop: str) -> None:
    own = {"session_id", "started_at", "last_activity"}
    (_, unheard), (_, heard) = await played(loop), await played(loop, "*")

    assert unheard.model_dump(exclude=own) == heard.model_dump(exclude=own)
    assert (unheard.tool_successes, unheard.tool_failures) == (3, 3)
    assert unheard.total_input_tokens == 12


async def test_listeners_that_come_in_mid_turn_hear_what_follows() -> None:
    ready = await mounted("loop-basic")
    heard: list[str] = []
    ready.hooks.unregister("record")

    async def listens_from_now_on(_: object) -> str:
        ready.hooks.register("*", lambda event, _: heard.append(event))
        return "ok"

    tools = {"t": Tool(listens_from_now_on)}
    ready.set(Memory(), [Model(calls("t"), says("done"))], tools)
    await ready.run()

    assert heard[:3] == ["tool:post", "provider:request", "provider:response"]


async def test_a_registry_with_another_emit_is_told_everything() -> None:
    ready = await mounted("loop-basic")
    told: list[str] = []
    ready.hooks.unregister("record")
    emit = ready.hooks.emit

    def telling(event: str, data: object) -> object:
        told.append(event)
        return emit(event, data)

    ready.hooks.emit = telling  # type: ignore[method-assign, assignment]
    ready.set(Memory(), [Model(calls("t"), says("done"))], {"t": Tool()})
    await ready.run()

    assert told[2:6] == ["provider:request", "provider:response", "tool:pre", "tool:post"]
