"""What every hook does when it is put to use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...models import HookResult
from ...testing import MockCoordinator
from ..harness import async_tests
from ..proto_schema import VALID_HOOK_ACTIONS, validate_hook_result

__all__ = ["HookBehaviorTests"]

Cleanup = Callable[[], Any] | None
_EVENT = "test:event"


@async_tests
class HookBehaviorTests:
    """Subclass as `Test...` in the tests of a hook module."""

    async def test_mount_succeeds(
        self, hook_cleanup: Cleanup, coordinator: MockCoordinator
    ) -> None:
        assert coordinator.hooks is not None

    async def test_handler_returns_hook_result(
        self, hook_cleanup: Cleanup, coordinator: MockCoordinator
    ) -> None:
        for answer in await _answers(coordinator):
            is_result = answer is None or isinstance(answer, HookResult | dict)
            assert is_result, f"A handler returned {answer!r}, not a HookResult."

    async def test_hook_result_has_valid_action(
        self, hook_cleanup: Cleanup, coordinator: MockCoordinator
    ) -> None:
        for answer in await _answers(coordinator):
            if isinstance(answer, dict):
                assert validate_hook_result(answer) == []
        combined = await coordinator.hooks.emit(_EVENT, {"test": True})
        assert combined.action in VALID_HOOK_ACTIONS

    async def test_cleanup_is_callable_if_present(self, hook_cleanup: Cleanup) -> None:
        assert hook_cleanup is None or callable(hook_cleanup)

    async def test_cleanup_does_not_raise(self, hook_cleanup: Cleanup) -> None:
        """A session that fails to start may clean up twice, as the fixture does here."""
        outcome = hook_cleanup() if hook_cleanup is not None else None
        if inspect.isawaitable(outcome):
            await outcome

    async def test_handler_does_not_crash_on_malformed_data(
        self, hook_cleanup: Cleanup, coordinator: MockCoordinator
    ) -> None:
        for event in _events(coordinator):
            await coordinator.hooks.emit(event, None)

    async def test_handler_does_not_crash_on_empty_data(
        self, hook_cleanup: Cleanup, coordinator: MockCoordinator
    ) -> None:
        for event in _events(coordinator):
            await coordinator.hooks.emit(event, {})


def _events(coordinator: MockCoordinator) -> list[str]:
    return [*coordinator.hooks.list_handlers(), _EVENT]


async def _answers(coordinator: MockCoordinator) -> list[Any]:
    """What each handler says to its own event; one that raises is skipped, as in a session."""
    answers = []
    for each in coordinator.hooks._registered_since(0):
        try:
            answer = each.handler(each.event, {"test": True})
            answers.append(await answer if inspect.isawaitable(answer) else answer)
        except Exception:
            continue
    return answers
