"""hooks-shell keeps the contract of a hook module."""

from pathlib import Path

import pytest
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests

from amplifier_modules.hook_commands import shell


@pytest.fixture
def module_path() -> Path:
    return Path(shell.__file__)


class TestStructure(HookStructuralTests):
    pass


class TestBehavior(HookBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_cleaning_up_takes_out_every_handler() -> None:
    coordinator = MockCoordinator()
    stop = await shell.mount(coordinator, {})
    assert stop is not None
    assert coordinator.hooks.list_handlers()

    stop()

    assert coordinator.hooks.list_handlers() == {}


async def test_its_own_event_is_declared() -> None:
    coordinator = MockCoordinator()
    await shell.mount(coordinator, {})

    assert coordinator.get_capability("observability.events") == ["hook_commands:active"]
