"""The mounted tools of both modules, called by name."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol

from amplifier_core import HookResult, ToolResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.files import filesystem, search

JsonDict = dict[str, Any]


class Call(Protocol):
    def __call__(self, tool: str, /, **arguments: Any) -> Awaitable[ToolResult]: ...


def caller(coordinator: MockCoordinator) -> Call:
    async def call(tool: str, /, **arguments: Any) -> ToolResult:
        found: ToolResult = await coordinator.get("tools", tool).execute(arguments)
        return found

    return call


def coordinator_in(folder: Path) -> MockCoordinator:
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", str(folder))
    return coordinator


async def file_tools(folder: Path, **config: Any) -> Call:
    """The tools of tool-filesystem, working in `folder`."""
    coordinator = coordinator_in(folder)
    await filesystem.mount(coordinator, config)
    return caller(coordinator)


async def search_tools(folder: Path, **config: Any) -> Call:
    """The tools of tool-search, working in `folder`."""
    coordinator = coordinator_in(folder)
    await search.mount(coordinator, config)
    return caller(coordinator)


async def done(answer: Awaitable[ToolResult]) -> JsonDict:
    """The output of a call that succeeds."""
    result = await answer
    assert result.success, result.error
    assert isinstance(result.output, dict)
    return result.output


async def refusal(answer: Awaitable[ToolResult]) -> str:
    """The text of a call that is refused; it is the output as well."""
    result = await answer
    assert not result.success, result.output
    assert result.error is not None
    assert result.output == result.error["message"]
    return str(result.error["message"])


def recorded(coordinator: MockCoordinator, *events: str) -> list[tuple[str, JsonDict]]:
    """What is emitted from now on, as it comes."""
    seen: list[tuple[str, JsonDict]] = []

    async def keep(event: str, data: JsonDict) -> HookResult:
        seen.append((event, data))
        return HookResult(action="continue")

    for event in events:
        coordinator.hooks.register(event, keep, name=f"keep-{event}")
    return seen
