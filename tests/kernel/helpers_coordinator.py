"""Stand-ins for what surrounds a coordinator: a session, a context, a display, a person to ask."""

import inspect
from types import SimpleNamespace
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.models import HookResult


def session_with(
    config: Any = None, session_id: Any = "session-1", parent_id: Any = None
) -> SimpleNamespace:
    """The attributes of a session that a coordinator reads."""
    plan = {} if config is None else config
    return SimpleNamespace(session_id=session_id, parent_id=parent_id, config=plan)


class Named:
    """A module that knows its own name."""

    def __init__(self, name: Any) -> None:
        self.name = name


class Context:
    """Keeps the messages it is given, or fails with `error`."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.messages: list[dict[str, Any]] = []
        self.error = error

    async def add_message(self, message: dict[str, Any]) -> None:
        if self.error is not None:
            raise self.error
        self.messages.append(message)

    @property
    def contents(self) -> list[str]:
        return [message["content"] for message in self.messages]


class Display:
    """Keeps what it is asked to show, or fails with `error`."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.shown: list[tuple[Any, ...]] = []
        self.error = error

    def show_message(self, *arguments: Any) -> None:
        self.shown.append(arguments)
        if self.error is not None:
            raise self.error


class Approvals:
    """Gives one prepared answer to every question; an exception is raised."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, ...]] = []

    async def request_approval(self, *arguments: Any) -> Any:
        self.asked.append(arguments)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def coordinator_with(
    *, context: Any = None, display: Any = None, approvals: Any = None, **limits: Any
) -> ModuleCoordinator:
    """A coordinator whose mount plan has `limits` in its session section."""
    coordinator = ModuleCoordinator(session_with({"session": limits}), approvals, display)
    coordinator.mount_points["context"] = context
    return coordinator


async def process(
    result: Any, *, context: Any = None, display: Any = None, approvals: Any = None, **limits: Any
) -> HookResult:
    """Carry out `result` as the answer of hook "guardian" to "tool:pre"."""
    coordinator = coordinator_with(context=context, display=display, approvals=approvals, **limits)
    processing = coordinator.process_hook_result(result, "tool:pre", "guardian")
    assert inspect.iscoroutine(processing)
    return await processing
