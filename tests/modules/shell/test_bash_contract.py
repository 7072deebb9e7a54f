"""tool-bash as a module: it keeps the contract of a tool and describes itself."""

from pathlib import Path

import pytest
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from helpers_bash import shell_in

from amplifier_modules.shell import bash
from amplifier_modules.shell.environment import find_bash


@pytest.fixture
def module_path() -> Path:
    return Path(bash.__file__)


class TestStructure(ToolStructuralTests):
    pass


class TestBehavior(ToolBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_it_says_that_it_acts_on_the_outside_world(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        assert shell.tool.annotations == {"effect": "external"}


@pytest.mark.parametrize("wanted", [True, False])
async def test_approval_hooks_learn_the_risk_from_its_metadata(
    wanted: bool, tmp_path: Path
) -> None:
    async with shell_in(tmp_path, require_approval=wanted) as shell:
        assert shell.tool.get_metadata() == {"require_approval": wanted, "risk_level": "high"}
        assert shell.tool.require_approval is wanted


async def test_the_model_is_told_every_input(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        schema = shell.tool.input_schema

    assert set(schema["properties"]) == {
        "command",
        "timeout",
        "run_in_background",
        "action",
        "job_id",
    }
    assert schema["required"] == ["command"]


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"time_out": 3}, "there is no key 'time_out'. Did you mean 'timeout'?"),
        ({"timeout": 0}, "'timeout' cannot be int here"),
        ({"safety_profile": "lax"}, "'safety_profile' cannot be str here"),
        ({"safety_overrides": {"deny": []}}, "there is no key 'safety_overrides.deny'"),
        ({"max_concurrent": 0}, "'max_concurrent' cannot be int here"),
    ],
)
async def test_a_bad_config_is_refused_by_name(config: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match="Config of 'tool-bash'") as caught:
        await bash.mount(MockCoordinator(), config)

    assert complaint in str(caught.value)


def test_without_bash_on_the_path_the_error_says_so() -> None:
    with pytest.raises(RuntimeError) as caught:
        find_bash({"PATH": ""}, "linux")

    assert str(caught.value) == "tool-bash needs bash, which is not on the PATH. Install bash."


def test_on_windows_the_error_says_what_is_missing() -> None:
    with pytest.raises(RuntimeError) as caught:
        find_bash({}, "win32")

    assert str(caught.value) == (
        "tool-bash needs bash and the process groups of a POSIX system, which Windows does not "
        "have. Run Amplifier inside WSL."
    )
