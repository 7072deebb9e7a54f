"""What every context manager does when it is put to use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..context import _missing
from ..harness import async_tests, skip
from ..signatures import required_positional
from .mistakes import answer_or_refusal

__all__ = ["ContextBehaviorTests"]

_TOKENS, _BUDGET = 100_000, 200_000


@async_tests
class ContextBehaviorTests:
    """Subclass as `Test...` in the tests of a context module.

    What only the newer contract has is skipped for a manager with `compact()`.
    """

    async def test_mount_succeeds(self, context_module: Any) -> None:
        assert context_module is not None

    async def test_context_has_required_methods(self, context_module: Any) -> None:
        assert _missing(context_module) == []

    async def test_message_round_trip(self, context_module: Any) -> None:
        await context_module.add_message({"role": "user", "content": "Hello"})
        assert "Hello" in await _contents(context_module)

    async def test_multiple_messages(self, context_module: Any) -> None:
        texts = ["One", "Two", "Three"]
        for role, text in zip(("user", "assistant", "user"), texts, strict=True):
            await context_module.add_message({"role": role, "content": text})
        kept = [each for each in await _contents(context_module) if each in texts]
        assert kept == texts, f"The messages came back as {kept}."

    async def test_clear_removes_messages(self, context_module: Any) -> None:
        clear = _optional(context_module, "clear")
        await context_module.add_message({"role": "user", "content": "Hello"})
        await clear()
        assert not await context_module.get_messages(), "clear() left messages behind."

    async def test_get_messages_for_request_returns_messages(self, context_module: Any) -> None:
        ask = _optional(context_module, "get_messages_for_request")
        await context_module.add_message({"role": "user", "content": "Hello"})
        messages = await ask()
        assert isinstance(messages, list), f"get_messages_for_request() returned {messages!r}."
        assert messages, "get_messages_for_request() returned no message."

    async def test_internal_should_compact_returns_bool(self, context_module: Any) -> None:
        should = _optional(context_module, "_should_compact")
        arguments = {0: (), 2: (_TOKENS, _BUDGET)}.get(len(required_positional(should)))
        if arguments is None:
            skip("_should_compact() has parameters of its own.")
        answer = should(*arguments)
        answer = await answer if inspect.isawaitable(answer) else answer
        assert isinstance(answer, bool), f"_should_compact() returned {answer!r}."

    async def test_internal_compact_does_not_crash(self, context_module: Any) -> None:
        compact = _optional(context_module, "_compact_internal")
        if required_positional(compact):
            skip("_compact_internal() has parameters of its own.")
        await context_module.add_message({"role": "user", "content": "Hello"})
        await answer_or_refusal(_called(compact), (AttributeError, TypeError))

    async def test_add_invalid_message_does_not_crash(self, context_module: Any) -> None:
        await answer_or_refusal(context_module.add_message({}), (AttributeError, TypeError))

    async def test_get_messages_never_returns_none(self, context_module: Any) -> None:
        assert await context_module.get_messages() is not None


def _optional(context: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(context, name, None)
    if method is None:
        skip(f"This context has no {name}().")
    return method


async def _called(function: Callable[[], Any]) -> Any:
    outcome = function()
    return await outcome if inspect.isawaitable(outcome) else outcome


async def _contents(context: Any) -> list[Any]:
    return [each.get("content") for each in await context.get_messages()]
