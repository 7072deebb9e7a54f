"""Mounted contexts, and short ways to write messages, for the tests of both modules."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from amplifier_core import HookResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.contexts import persistent, simple
from amplifier_modules.contexts.tokens import estimate_tokens

JsonDict = dict[str, Any]


@asynccontextmanager
async def simple_context(
    coordinator: MockCoordinator | None = None, **config: Any
) -> AsyncIterator[Any]:
    """A mounted context-simple."""
    coordinator = coordinator or MockCoordinator()
    cleanup = await simple.mount(coordinator, config)
    try:
        yield coordinator.get("context")
    finally:
        cleanup()


@asynccontextmanager
async def persistent_context(
    coordinator: MockCoordinator | None = None, **config: Any
) -> AsyncIterator[Any]:
    """A mounted context-persistent."""
    coordinator = coordinator or MockCoordinator()
    cleanup = await persistent.mount(coordinator, config)
    try:
        yield coordinator.get("context")
    finally:
        cleanup()


def recorded(coordinator: MockCoordinator, *events: str) -> list[tuple[str, JsonDict]]:
    """What is emitted from now on, as it comes."""
    seen: list[tuple[str, JsonDict]] = []

    async def keep(event: str, data: JsonDict) -> HookResult:
        seen.append((event, data))
        return HookResult(action="continue")

    for event in events:
        coordinator.hooks.register(event, keep, name=f"keep-{event}")
    return seen


def user(text: str, **metadata: Any) -> JsonDict:
    return {"role": "user", "content": text, **_given(metadata)}


def system(text: str, **metadata: Any) -> JsonDict:
    return {"role": "system", "content": text, **_given(metadata)}


def assistant(text: str, *calls: str, **metadata: Any) -> JsonDict:
    made = [{"id": call, "tool": "read", "arguments": {"path": call}} for call in calls]
    return {
        "role": "assistant",
        "content": text,
        **({"tool_calls": made} if made else {}),
        **_given(metadata),
    }


def result(call: str, text: str, **metadata: Any) -> JsonDict:
    return {"role": "tool", "tool_call_id": call, "content": text, **_given(metadata)}


def _given(metadata: JsonDict) -> JsonDict:
    return {"metadata": metadata} if metadata else {}


def turn(number: int, *, text: str = "some words to read ", size: int = 100) -> list[JsonDict]:
    """A question, a call, its result and an answer."""
    call = f"call-{number}"
    return [
        user(f"question {number}: {text * 5}"),
        assistant("I look.", call),
        result(call, f"result {number}: {text * size}"),
        assistant(f"answer {number}: {text * 5}"),
    ]


def turns(count: int, **kwargs: Any) -> list[JsonDict]:
    return [message for number in range(count) for message in turn(number, **kwargs)]


async def add_all(context: Any, messages: Iterable[JsonDict]) -> None:
    for message in messages:
        await context.add_message(message)


def contents(messages: Sequence[JsonDict]) -> list[Any]:
    return [message["content"] for message in messages]


def tokens(messages: Iterable[JsonDict]) -> int:
    return sum(estimate_tokens(message) for message in messages)


def is_notice(message: JsonDict) -> bool:
    return (message.get("metadata") or {}).get("source") == "context-compaction"
