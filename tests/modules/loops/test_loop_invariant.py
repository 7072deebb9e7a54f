"""Whatever modules, hooks and users do: the history is sound, and the end is announced.

Each case is a random mix of behaviour of the model, the tools, the hooks and the context,
with a cancellation at a random moment.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError, LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall
from amplifier_core.models import HookResult, ToolResult
from helpers_loops import (
    LOOPS,
    Memory,
    Stage,
    Tool,
    check_history,
    deny,
    hangs,
    inject,
    modify,
    mounted,
)
from hypothesis import given, settings
from hypothesis import strategies as st

MOST_STEPS = 300

MODEL_STEPS = ["text", "empty", "error", "overflow", "garbage", "bad call", "hang", "cancelled"]
TOOL_KINDS = ["ok", "slow", "raise", "hang", "garbage", "cancelled", "picture"]
HOOKED = ["prompt:submit", "provider:request", "tool:selecting", "tool:pre", "tool:post"]
WATCHED = ["execution:start", "provider:response", "prompt:complete", "execution:end"]
HOOK_KINDS = ["deny", "raise", "inject", "store", "modify", "ask", "slow"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Failures are what these tests are made of; thousands of tracebacks are not wanted."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class SlowMemory(Memory):
    """A context that can be cut off before and after it has stored a message."""

    async def add_message(self, message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        await super().add_message(message)
        await asyncio.sleep(0)


class WildModel:
    """Plays the given steps, and then answers."""

    name = "wild"

    def __init__(self, steps: list[Any]) -> None:
        self.steps = list(steps)

    async def complete(self, request: ChatRequest, **_: Any) -> Any:
        await asyncio.sleep(0)
        step = self.steps.pop(0) if self.steps else "text"
        if isinstance(step, list):
            return _calling(step)
        return await _PLAYED[step]()

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return getattr(response, "tool_calls", None) or []


class WildStream(WildModel):
    async def stream_complete(
        self, request: ChatRequest, **_: Any
    ) -> AsyncIterator[dict[str, Any]]:
        yield {"text": "so"}
        yield {"response": await self.complete(request)}


def _calling(kinds: list[str]) -> ChatResponse:
    made = [ToolCall(id=f"id{n}", name=kind, arguments={}) for n, kind in enumerate(kinds)]
    return ChatResponse(content=[TextBlock(text="I call")], tool_calls=made)


async def _raise(error: BaseException) -> Any:
    raise error


async def _give(value: Any) -> Any:
    return value


_PLAYED: dict[str, Any] = {
    "text": lambda: _give(ChatResponse(content=[TextBlock(text="answer")])),
    "empty": lambda: _give(ChatResponse(content=[])),
    "error": lambda: _raise(LLMError("failed")),
    "overflow": lambda: _raise(ContextLengthError("too long")),
    "garbage": lambda: _give(ChatResponse.model_construct(content=[object()])),
    "bad call": lambda: _give(
        ChatResponse.model_construct(content=[], tool_calls=[{"name": "ok"}])
    ),
    "hang": hangs,
    "cancelled": lambda: _raise(asyncio.CancelledError()),
}


async def _slow(_: Any) -> str:
    for _tick in range(3):
        await asyncio.sleep(0)
    return "slow"


def _tools() -> dict[str, Tool]:
    png = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    return {
        "ok": Tool("fine"),
        "slow": Tool(_slow, {"writes": ["path"]}),
        "raise": Tool(OSError("broken")),
        "hang": Tool(hangs),
        "garbage": Tool(ToolResult(output={"a": object()})),
        "cancelled": Tool(asyncio.CancelledError()),
        "picture": Tool(ToolResult(content=[{"type": "image", "source": png}])),
    }


async def _slow_hook(*_: Any) -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _hook_answer(kind: str) -> Any:
    return {
        "deny": deny("no"),
        "raise": ValueError("a broken hook"),
        "inject": inject("look"),
        "store": inject("remember", ephemeral=False),
        "modify": modify(tool_input={"x": 1}, result="changed", tool="ok"),
        "ask": HookResult(action="ask_user", approval_prompt="May I?"),
    }[kind]


def _register(ready: Stage, hooks: list[tuple[str, str, int]]) -> None:
    for event, kind, skipped in hooks:
        if kind == "slow":
            ready.hooks.register(event, _slow_hook)
        else:
            ready.on(event, *[None] * skipped, _hook_answer(kind))
    for event in WATCHED:
        ready.hooks.register(event, _slow_hook)


class Approvals:
    async def request_approval(self, *_: Any) -> str:
        await asyncio.sleep(0)
        raise RuntimeError("nobody is there")


async def _play(ready: Stage, how: str, moment: int) -> None:
    """Run a turn and cancel it after `moment` rounds of the loop, and at last in any case."""
    task = asyncio.create_task(ready.run())
    for step in range(MOST_STEPS):
        if step == moment and how == "task":
            task.cancel()
        elif step == moment and how == "twice":
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
        elif step == moment and how != "never":
            await ready.coordinator.request_cancel(immediate=how == "immediate")
        if task.done():
            break
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(Exception, asyncio.CancelledError):
        await task


async def _case(case: dict[str, Any]) -> None:
    before = asyncio.all_tasks()
    ready = await mounted(case["loop"], {"max_iterations": case["limit"]})
    ready.coordinator.approval_system = Approvals()
    make = WildStream if case["streams"] else WildModel
    context = SlowMemory() if case["slow"] else Memory()
    ready.set(context, [make(case["steps"])], _tools())
    _register(ready, case["hooks"])

    await _play(ready, case["how"], case["moment"])

    if "user" in context.roles:
        check_history(context.messages)
    starts = ready.names.count("execution:start")
    assert ready.names.count("execution:end") == starts
    assert ready.names.count("orchestrator:complete") == starts
    assert asyncio.all_tasks() == before
    assert not ready.token.running_tools


CALLS = st.lists(st.sampled_from([*TOOL_KINDS, "unknown"]), min_size=1, max_size=4)
CASES = st.fixed_dictionaries(
    {
        "loop": st.sampled_from(LOOPS),
        "limit": st.sampled_from([-1, 2]),
        "streams": st.booleans(),
        "slow": st.booleans(),
        "steps": st.lists(st.one_of(CALLS, st.sampled_from(MODEL_STEPS)), max_size=4),
        "hooks": st.lists(
            st.tuples(st.sampled_from(HOOKED), st.sampled_from(HOOK_KINDS), st.integers(0, 2)),
            max_size=3,
        ),
        "how": st.sampled_from(["never", "task", "twice", "graceful", "immediate"]),
        "moment": st.integers(0, 60),
    }
)


@settings(max_examples=400, deadline=None)
@given(CASES)
def test_the_history_is_sound_and_the_end_is_announced(case: dict[str, Any]) -> None:
    asyncio.run(_case(case))
