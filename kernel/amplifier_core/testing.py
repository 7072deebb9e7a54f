"""Stand-ins for testing modules without a session, a model or a network."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import AsyncMock

from . import events
from .coordinator import ModuleCoordinator
from .models import HookResult, ToolResult

__all__ = [
    "EventRecorder",
    "MockContextManager",
    "MockCoordinator",
    "MockTool",
    "ScriptedOrchestrator",
    "create_test_coordinator",
    "wait_for",
]

_NOT_MODULES = ("hooks",)
_POLL_SECONDS = 0.01


class MockCoordinator(ModuleCoordinator):
    """A real coordinator of a made-up session, which also remembers what was mounted.

    `mount_history` and `unmount_history` keep every call in order, failed ones included.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        session = SimpleNamespace(
            session_id="test-session",
            parent_id=None,
            config={"session": {"orchestrator": "test-orchestrator", "context": "test-context"}},
        )
        approval = AsyncMock(return_value={"approved": True})
        return super().__new__(cls, session, approval, AsyncMock())

    def __init__(self) -> None:
        self.stand_in = self.approval_system
        """Approves everything, until a module sets another approval system."""
        self.mount_history: list[dict[str, Any]] = []
        self.unmount_history: list[dict[str, Any]] = []

    @property
    def modules(self) -> dict[str, Any]:
        """Everything mounted now, by name, over all slots.

        The occupant of a single slot goes by the name it was mounted under, or else by
        its slot.
        """
        found: dict[str, Any] = {}
        for slot in self.mount_points:
            if slot not in _NOT_MODULES:
                for name, module in self.get_all(slot).items():
                    found[self._given_name(slot, module) if name == slot else name] = module
        return found

    def _given_name(self, slot: str, module: Any) -> str:
        for call in reversed(self.mount_history):
            if call["mount_point"] == slot and call["module"] is module and call["name"]:
                return str(call["name"])
        return slot

    def mount(
        self, mount_point: str, module: Any, name: str | None = None
    ) -> Coroutine[Any, Any, None]:
        self.mount_history.append({"mount_point": mount_point, "module": module, "name": name})
        return super().mount(mount_point, module, name)

    def unmount(self, mount_point: str, name: str | None = None) -> Coroutine[Any, Any, None]:
        self.unmount_history.append({"mount_point": mount_point, "name": name})
        return super().unmount(mount_point, name)


class MockTool:
    """A tool that always succeeds with `output`; `execute` records its calls."""

    def __init__(self, name: str = "mock_tool", output: Any = "Success") -> None:
        self.name = name
        self.description = f"Mock tool: {name}"
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {}}
        self.output = output
        self.call_count = 0
        self.execute = AsyncMock(side_effect=self._execute)

    async def _execute(self, input: dict[str, Any]) -> ToolResult:
        self.call_count += 1
        return ToolResult(success=True, output=self.output)


class MockContextManager:
    """A context that keeps messages in a list and never compacts; methods record calls."""

    def __init__(self, messages: list[dict[str, Any]] | None = None) -> None:
        self.messages: list[dict[str, Any]] = messages if messages is not None else []
        self.add_message = AsyncMock(side_effect=self._add)
        self.get_messages = AsyncMock(side_effect=lambda: self.messages)
        self.get_messages_for_request = AsyncMock(side_effect=self._for_request)
        self.set_messages = AsyncMock(side_effect=self._replace)
        self.clear = AsyncMock(side_effect=lambda: self.messages.clear())
        self._should_compact = AsyncMock(return_value=False)
        self._compact_internal = AsyncMock(return_value=None)

    def _add(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def _for_request(
        self, token_budget: int | None = None, provider: object = None
    ) -> list[dict[str, Any]]:
        return list(self.messages)

    def _replace(self, messages: list[dict[str, Any]]) -> None:
        self.messages[:] = messages


class EventRecorder:
    """Takes the place of a hook registry and keeps what was emitted."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    async def emit(self, event: str, data: Any) -> HookResult:
        self.events.append((event, copy.copy(data)))
        return HookResult(action="continue")

    record = emit

    def clear(self) -> None:
        self.events.clear()

    def get_events(self, event_type: str | None = None) -> list[tuple[str, Any]]:
        """The recorded (event, data) pairs, all or those of one event."""
        return [each for each in self.events if event_type in (None, each[0])]


class ScriptedOrchestrator:
    """Answers with the given responses in turn, then with "DONE"; calls no provider.

    Under a session, recognised by `coordinator=`, it marks a turn with execution:start
    and execution:end. On its own it also plays the session's part, with session:start
    and session:end.
    """

    def __init__(self, responses: list[str]) -> None:
        self.responses = responses
        self.call_count = 0

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: dict[str, Any],
        tools: dict[str, Any],
        hooks: Any,
        **kwargs: Any,
    ) -> str:
        under_session = kwargs.get("coordinator") is not None
        start = events.EXECUTION_START if under_session else events.SESSION_START
        end = events.EXECUTION_END if under_session else events.SESSION_END
        await hooks.emit(start, {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        left = self.responses[self.call_count :]
        response = left[0] if left else "DONE"
        self.call_count += 1
        await context.add_message({"role": "assistant", "content": response})
        await hooks.emit(end, {"response": response})
        return response


def create_test_coordinator() -> MockCoordinator:
    """A coordinator with two tools, `echo` and `fail`, and a context already in place."""
    coordinator = MockCoordinator()
    coordinator.mount_points["tools"] = {
        "echo": MockTool("echo", "Echo response"),
        "fail": MockTool("fail", None),
    }
    coordinator.mount_points["context"] = MockContextManager()
    return coordinator


async def wait_for(condition: Callable[[], bool], timeout: float = 1.0) -> bool:
    """Wait until `condition()` holds; False if it still does not after `timeout` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while not condition():
        if loop.time() >= deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
