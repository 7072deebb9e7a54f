"""hooks-status-context keeps the kernel's contract and reads its config strictly."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from helpers_status import needs_git, repository

from amplifier_modules.status import hook


@pytest.fixture
def module_path() -> Path:
    return Path(hook.__file__)


class TestBehavior(HookBehaviorTests):
    pass


class TestStructure(HookStructuralTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"git_include_comits": 1}, "Did you mean 'git_include_commits'?"),
        ({"git_status_max_lines": -1}, "'git_status_max_lines'"),
        ({"git_timeout": 0}, "'git_timeout'"),
        ({"git_status_tier1_patterns": "node_modules"}, "'git_status_tier1_patterns'"),
    ],
)
async def test_a_config_that_cannot_be_understood_is_refused(
    config: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match="hooks-status-context") as caught:
        await hook.mount(MockCoordinator(), config)

    assert complaint in str(caught.value)


async def test_cleanup_takes_every_listener_back() -> None:
    coordinator = MockCoordinator()
    cleanup = await hook.mount(coordinator)

    cleanup()

    assert not coordinator.hooks.list_handlers()


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ["at -1", "hooks-status-context", "at 1"]),
        ({"priority": 5}, ["at -1", "at 1", "hooks-status-context"]),
    ],
)
async def test_it_listens_at_priority_zero_or_as_configured(
    config: dict[str, Any], expected: list[str]
) -> None:
    coordinator = MockCoordinator()
    for priority in (-1, 1):
        coordinator.hooks.register(
            "provider:request", lambda *_: None, priority=priority, name=f"at {priority}"
        )

    await hook.mount(coordinator, config)

    listed = coordinator.hooks.list_handlers("provider:request")
    assert listed["provider:request"] == expected


MODULES = {
    "loop-basic": "loops.basic",
    "context-simple": "contexts.simple",
    "provider-mock": "mock.provider",
    "hooks-status-context": "status.hook",
}


class Loader(ModuleLoader):
    """Finds the modules of this test, whatever is installed."""

    async def load(
        self, module_id: str, config: dict[str, Any] | None = None, *_: Any, **__: Any
    ) -> Any:
        module = import_module(f"amplifier_modules.{MODULES[module_id]}")
        return lambda coordinator: module.mount(coordinator, config)


@pytest.mark.together
@needs_git
async def test_in_a_turn_the_note_is_the_end_of_each_request_and_is_never_stored(
    tmp_path: Path,
) -> None:
    script = [{"tool_calls": [{"name": "nothing"}]}, {"text": "done"}]
    plan = {
        "session": {
            "orchestrator": {"module": "loop-basic"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"script": script}}],
        "hooks": [
            {"module": "hooks-status-context", "config": {"working_dir": str(repository(tmp_path))}}
        ],
    }
    async with asyncio.timeout(20), AmplifierSession(plan, loader=Loader()) as session:
        await session.execute("go")
        first, second = session.coordinator.get("providers", "mock").requests
        stored = await session.coordinator.get("context").get_messages()

    for request in (first, second):
        assert request.messages[-1].role == "user"
        assert "Branch: main" in request.messages[-1].content
    assert second.messages[0] == first.messages[0]
    assert not any("system-reminder" in str(message["content"]) for message in stored)
