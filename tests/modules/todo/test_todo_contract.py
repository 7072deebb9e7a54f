"""Both todo modules keep the kernel's contracts and refuse keys that they do not know."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import HookBehaviorTests, ToolBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests, ToolStructuralTests

from amplifier_modules.todo import reminder, tool


class OfTheTool:
    @pytest.fixture
    def module_path(self) -> Path:
        return Path(tool.__file__)


class OfTheReminder:
    @pytest.fixture
    def module_path(self) -> Path:
        return Path(reminder.__file__)


class TestToolBehavior(OfTheTool, ToolBehaviorTests):
    pass


class TestToolStructure(OfTheTool, ToolStructuralTests):
    pass


class TestReminderBehavior(OfTheReminder, HookBehaviorTests):
    pass


class TestReminderStructure(OfTheReminder, HookStructuralTests):
    pass


@pytest.mark.parametrize("module", [tool, reminder])
def test_the_validator_finds_nothing_wrong(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", module.__file__]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "config", "complaint"),
    [
        (tool, {"limit": 3}, "Config of 'tool-todo': there is no key 'limit'. Known keys: none."),
        (
            reminder,
            {"inject_rol": "user"},
            "Config of 'hooks-todo-reminder': there is no key 'inject_rol'. "
            "Did you mean 'inject_role'?",
        ),
    ],
)
async def test_an_unknown_key_is_refused(
    module: Any, config: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match="no key") as caught:
        await module.mount(MockCoordinator(), config)

    assert str(caught.value) == complaint


async def test_a_role_that_no_message_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="inject_role"):
        await reminder.mount(MockCoordinator(), {"inject_role": "tool"})


@pytest.mark.parametrize("module", [tool, reminder])
async def test_cleanup_takes_every_listener_back(module: Any) -> None:
    coordinator = MockCoordinator()
    cleanup = await module.mount(coordinator)

    cleanup()

    assert not coordinator.hooks.list_handlers()
