"""loop-events: hooks take part in the choice of every tool."""

from typing import Any

from amplifier_core.llm_errors import RateLimitError
from helpers_loops import Memory, Tool, calls, check_history, deny, modify, says, stage

LOOP = "loop-events"


def tool_texts(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == "tool"]


async def test_a_choice_is_offered_with_the_tools_there_are() -> None:
    ready = await stage(calls(("a", {"x": 1})), says("done"), loop=LOOP, a=Tool(), b=Tool())
    await ready.run()

    offer = ready.payload("tool:selecting")
    assert (offer["tool_name"], offer["tool_input"]) == ("a", {"x": 1})
    assert offer["available_tools"] == ["a", "b"]
    chosen = ready.payload("tool:selected")
    assert (chosen["tool"], chosen["source"], chosen["original_tool"]) == ("a", "llm", "a")


async def test_a_hook_may_send_a_call_to_another_tool() -> None:
    first, second = Tool("one"), Tool("two")
    ready = await stage(calls(("a", {"x": 1})), says("done"), loop=LOOP, a=first, b=second)
    ready.on("tool:selecting", modify(tool="b"))
    await ready.run()

    assert (first.inputs, second.inputs) == ([], [{"x": 1}])
    chosen = ready.payload("tool:selected")
    assert (chosen["tool"], chosen["source"], chosen["original_tool"]) == ("b", "scheduler", "a")
    assert ready.payload("tool:pre")["tool_name"] == "b"
    check_history(ready.context.messages)


async def test_a_choice_that_is_denied_is_read_as_an_error() -> None:
    tool = Tool()
    ready = await stage(calls("t"), says("done"), loop=LOOP, t=tool)
    ready.on("tool:selecting", deny("closed"))
    await ready.run()

    assert tool_texts(ready.context.messages) == ["Error: closed"]
    assert tool.inputs == []
    assert "tool:selected" not in ready.names


async def test_each_call_has_an_answer_if_only_some_are_denied() -> None:
    ready = await stage(calls("t", "t", "t"), says("done"), loop=LOOP, t=Tool("ok"))
    ready.on("tool:selecting", None, deny("closed"))
    ready.on("tool:pre", None, deny("locked"))
    await ready.run()

    assert tool_texts(ready.context.messages) == ["ok", "Error: closed", "Denied by hook: locked"]


async def test_a_failing_tool_is_also_told_as_an_error_event() -> None:
    ready = await stage(calls("t"), says("done"), loop=LOOP, t=Tool(OSError("full")))
    await ready.run()

    told = ready.payload("error:tool")
    assert (told["error_type"], told["error_message"]) == ("OSError", "full")
    assert (told["tool_name"], told["severity"]) == ("t", "medium")


async def test_a_failing_provider_ends_the_turn_with_the_error_as_its_answer() -> None:
    ready = await stage(RateLimitError("slow down"), loop=LOOP)

    assert await ready.run() == "Error: slow down"
    check_history(ready.context.messages)
    told = ready.payload("error:provider")
    assert (told["error_type"], told["severity"]) == ("RateLimitError", "high")
    assert len(ready.payloads("provider:error")) == 1
    assert ready.payload("orchestrator:complete")["status"] == "error"
    assert ready.payload("execution:end")["status"] == "error"


async def test_start_and_end_of_the_turn_are_told_as_those_of_a_session() -> None:
    ready = await stage(says("hello"), loop=LOOP)
    await ready.run("hi")

    assert ready.payload("session:start")["prompt"] == "hi"
    assert ready.payload("session:end")["response"] == "hello"


async def test_a_context_that_wants_to_be_compacted_is() -> None:
    class Full(Memory):
        compactions = 0

        async def should_compact(self) -> bool:
            return len(self.messages) == 3

        def compact(self) -> None:
            self.compactions += 1

    ready = await stage(calls("t"), says("done"), loop=LOOP, context=Full(), t=Tool())
    await ready.run()

    assert ready.context.compactions == 1
    assert "context:pre_compact" not in ready.names, "contexts of the newer contract say it"


async def test_its_own_events_are_declared() -> None:
    ready = await stage(loop=LOOP)

    assert set(ready.coordinator.get_capability("observability.events")) == {
        "tool:selecting",
        "tool:selected",
        "error:tool",
        "error:provider",
    }
