"""tool-look lists names, never contents, and keeps the contract of a tool."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ToolResult
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests

from amplifier_modules.demo import look


@pytest.fixture
def module_path() -> Path:
    return Path(look.__file__)


class TestStructure(ToolStructuralTests):
    pass


class TestBehavior(ToolBehaviorTests):
    pass


async def seen(folder: Path, show: str = "files", **config: Any) -> ToolResult:
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", str(folder))
    await look.mount(coordinator, config)
    result: ToolResult = await coordinator.get("tools", "look").execute({"show": show})
    return result


def fill(folder: Path, files: str = "", folders: str = "") -> None:
    for name in files.split():
        (folder / name).write_text("secret")
    for name in folders.split():
        (folder / name).mkdir()


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_it_lists_files_in_order_without_hidden_ones(tmp_path: Path) -> None:
    fill(tmp_path, "b.txt a.txt .env", "inner")

    assert (await seen(tmp_path)).output == "a.txt, b.txt"


async def test_it_lists_folders(tmp_path: Path) -> None:
    fill(tmp_path, "b.txt", "two one .git")

    assert (await seen(tmp_path, "folders")).output == "one, two"


async def test_an_empty_folder_is_said_to_hold_nothing(tmp_path: Path) -> None:
    assert (await seen(tmp_path)).output == "nothing"


async def test_names_over_the_limit_are_counted(tmp_path: Path) -> None:
    fill(tmp_path, "a b c d")

    assert (await seen(tmp_path, most_names=2)).output == "a, b, ... and 2 more"


async def test_a_configured_folder_wins_over_the_working_folder(tmp_path: Path) -> None:
    fill(tmp_path, "outside", "inner")
    fill(tmp_path / "inner", "inside")

    assert (await seen(tmp_path, working_dir=str(tmp_path / "inner"))).output == "inside"


async def test_a_folder_that_is_not_there_is_a_failed_result(tmp_path: Path) -> None:
    result = await seen(tmp_path / "gone")

    assert not result.success
    assert result.error is not None
    assert "Cannot look here" in result.error["message"]


async def test_an_unknown_key_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="most_names"):
        await seen(tmp_path, most_name=3)
