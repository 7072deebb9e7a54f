"""The three modules keep the contract of an orchestrator and work in a session."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.cli import main
from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests
from helpers_loops import LOOPS, Memory, Model, Tool, calls, check_history, says

import amplifier_modules.loops

FOLDER = Path(amplifier_modules.loops.__file__).parent


def file_of(module_id: str) -> Path:
    return FOLDER / f"{module_id.removeprefix('loop-')}.py"


@pytest.fixture(params=LOOPS)
def module_path(request: pytest.FixtureRequest) -> Path:
    return file_of(request.param)


class TestStructure(OrchestratorStructuralTests):
    pass


class TestBehavior(OrchestratorBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


class Loader(ModuleLoader):
    """Finds the loops where they are, and a context and a provider made for the test."""

    def __init__(self, model: Model, tool: Tool) -> None:
        super().__init__()
        self.parts = {"memory": ("context", Memory()), "model": ("providers", model)}
        self.tool = tool

    async def load(self, module_id: str, *args: Any, **kwargs: Any) -> Any:
        if module_id not in self.parts:
            module = __import__(
                f"amplifier_modules.loops.{module_id.removeprefix('loop-')}", fromlist=["mount"]
            )
            return lambda coordinator: module.mount(coordinator, {})
        point, part = self.parts[module_id]

        async def mount(coordinator: Any) -> None:
            await coordinator.mount(point, part)
            await coordinator.mount("tools", self.tool, name="t")

        return mount


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_session_runs_turns_and_counts_them(loop: str) -> None:
    model, tool = Model(calls("t"), says("one"), says("two")), Tool("ok")
    plan = {
        "session": {"orchestrator": {"module": loop}, "context": {"module": "memory"}},
        "providers": [{"module": "model"}],
    }
    async with AmplifierSession(plan, loader=Loader(model, tool)) as session:
        assert await session.execute("hi") == "one"
        assert await session.execute("again") == "two"
        check_history(session.coordinator.get("context").messages)
        assert session.status.tool_successes == 1
        assert session.status.status == "completed"
