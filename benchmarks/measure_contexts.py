"""What does the memory of a conversation cost: to add to, to ask, and to shorten?

It measures context-simple on either kernel, through the coordinator that a session would give it.
"""

from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter
from typing import Any

from amplifier_core.testing import MockCoordinator
from timing import us_per_await

from amplifier_modules.contexts.simple import mount

ROUNDS = 9
HUGE = 10**9


def conversation(count: int) -> list[dict[str, Any]]:
    """Turns of a question, a tool call, its result of half a kilobyte, and an answer."""
    messages: list[dict[str, Any]] = []
    for number in range(count // 4):
        call = {"id": f"call-{number}", "tool": "read", "arguments": {"path": "notes.txt"}}
        messages += [
            {"role": "user", "content": f"Question {number}: " + "what does it say? " * 8},
            {"role": "assistant", "content": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "a line of the file\n" * 27},
            {"role": "assistant", "content": f"Answer {number}: " + "it says so. " * 12},
        ]
    return messages


async def filled(count: int, **config: Any) -> Any:
    coordinator = MockCoordinator()
    await mount(coordinator, config)
    context = coordinator.get("context")
    await context.set_messages(conversation(count))
    return context


async def median_ms(prepare: Callable[[], Awaitable[Callable[[], Awaitable[Any]]]]) -> float:
    """Milliseconds of what `prepare` hands over, which can be run only once each time."""
    samples = []
    for _ in range(ROUNDS):
        run = await prepare()
        start = perf_counter()
        await run()
        samples.append(perf_counter() - start)
    return median(samples) * 1_000


async def adding() -> dict[str, float]:
    """Milliseconds to add 2,000 messages one by one and to ask for them, and half as many.

    A context may leave to the next request what is to be done with a new message.
    """

    async def ms(count: int) -> float:
        messages = conversation(count)

        async def prepare() -> Callable[[], Awaitable[None]]:
            context = await filled(0, max_tokens=HUGE)

            async def add() -> None:
                for message in messages:
                    await context.add_message(message)
                assert len(await context.get_messages_for_request()) == count

            return add

        return await median_ms(prepare)

    return {"half_ms": await ms(1_000), "ms": await ms(2_000)}


async def compacting() -> dict[str, float]:
    """Milliseconds of a request that shortens 2,400 messages to a fifth, and half as many."""

    async def ms(count: int) -> float:
        async def prepare() -> Callable[[], Awaitable[None]]:
            context = await filled(count)
            # As in a running conversation, the messages have been in a request before.
            assert len(await context.get_messages_for_request(token_budget=HUGE)) == count

            async def ask() -> None:
                shortened = await context.get_messages_for_request(token_budget=count * 20)
                assert len(shortened) < count / 2

            return ask

        return await median_ms(prepare)

    return {"half_ms": await ms(1_200), "ms": await ms(2_400)}


async def asking() -> dict[str, float]:
    """Milliseconds of a request from 10,000 messages that need no shortening."""
    context = await filled(10_000, max_tokens=HUGE)
    dicts, validated = context.get_messages_for_request, context.get_validated_messages
    assert len(await dicts()) == len(await validated()) == 10_000
    return {
        "ms": await us_per_await(dicts) / 1_000,
        "valid_ms": await us_per_await(validated) / 1_000,
    }
