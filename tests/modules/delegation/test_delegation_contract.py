"""tool-task and tool-delegate keep the contract of a tool."""

from pathlib import Path

import pytest
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests

from amplifier_modules.delegation import delegate, task


@pytest.fixture(params=[task, delegate], ids=["tool-task", "tool-delegate"])
def module_path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param.__file__)


class TestStructure(ToolStructuralTests):
    pass


class TestBehavior(ToolBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_their_events_are_declared() -> None:
    coordinator = MockCoordinator()
    await task.mount(coordinator, {})
    await delegate.mount(coordinator, {})

    declared = coordinator.get_capability("observability.events")

    ends = ("spawned", "resumed", "completed", "cancelled")
    expected = [f"{tool}:agent_{end}" for tool in ("task", "delegate") for end in ends]
    assert declared == [*expected, "delegate:error"]
