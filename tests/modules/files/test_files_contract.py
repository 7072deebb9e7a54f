"""Both modules keep the kernel's contract for tools and read their config strictly."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.cli import main
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from helpers_files import caller, coordinator_in, done, file_tools, recorded, search_tools

from amplifier_modules.files import filesystem, search


@pytest.fixture(params=[filesystem, search], ids=["filesystem", "search"])
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


async def test_every_tool_says_what_it_touches(tmp_path: Path) -> None:
    coordinator = coordinator_in(tmp_path)
    await filesystem.mount(coordinator)
    await search.mount(coordinator)
    tools = coordinator.get("tools")

    assert {name: tool.annotations for name, tool in tools.items()} == {
        "read_file": {"effect": "pure", "reads": ["file_path"]},
        "write_file": {"effect": "idempotent", "writes": ["file_path"]},
        "edit_file": {"effect": "external", "writes": ["file_path"]},
        "grep": {"effect": "pure", "reads": ["path"]},
        "glob": {"effect": "pure", "reads": ["path"]},
    }
    assert all(tool.input_schema["required"] for tool in tools.values())


@pytest.mark.parametrize("given", [None, [], "text", 7])
async def test_an_input_that_is_no_object_is_refused(tmp_path: Path, given: Any) -> None:
    coordinator = coordinator_in(tmp_path)
    await filesystem.mount(coordinator)
    await search.mount(coordinator)

    for tool in coordinator.get("tools").values():
        result = await tool.execute(given)
        assert result.error["message"] == (
            "The input is not an object. Give the arguments by name."
        )


async def test_reads_and_writes_are_told(tmp_path: Path) -> None:
    coordinator = coordinator_in(tmp_path)
    await filesystem.mount(coordinator)
    call = caller(coordinator)
    seen = recorded(coordinator, "artifact:read", "artifact:write")
    path = str(tmp_path / "a.txt")

    await done(call("write_file", file_path="a.txt", content="één\n"))
    await done(call("read_file", file_path="a.txt"))
    await done(call("edit_file", file_path="a.txt", old_string="n", new_string=""))
    await done(call("read_file", file_path="."))
    await call("read_file", file_path="gone")

    told = [(event, {key: data[key] for key in ("path", "bytes")}) for event, data in seen]
    assert told == [
        ("artifact:write", {"path": path, "bytes": 6}),
        ("artifact:read", {"path": path, "bytes": 6}),
        ("artifact:write", {"path": path, "bytes": 5}),
    ]


@pytest.mark.parametrize("mounting", [file_tools, search_tools])
async def test_an_unknown_key_is_refused_with_the_nearest_name(
    tmp_path: Path, mounting: Any
) -> None:
    with pytest.raises(ValueError, match="Did you mean 'working_dir'"):
        await mounting(tmp_path, working_dirs="x")


async def test_every_documented_key_is_accepted(tmp_path: Path) -> None:
    base = str(tmp_path)
    await file_tools(
        tmp_path,
        working_dir=base,
        allowed_read_paths=[base],
        denied_read_paths=["keys"],
        allowed_write_paths=["."],
        denied_write_paths=[".git"],
        max_file_size=1000,
    )
    limits = {"files_with_matches": 1, "content": 2, "count": 3}
    shared = {"working_dir": base, "max_results": 7, "allowed_paths": [base]}
    grep = {"max_file_size": 9, "timeout": 5, "exclusions": ["x"], "default_limits": limits}
    await search_tools(
        tmp_path,
        **shared,
        denied_read_paths=["keys"],
        grep={**shared, **grep},
        glob={**shared, "exclusions": [], "timeout": 5},
    )


async def test_a_configured_folder_wins_over_the_sessions(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    call = await file_tools(tmp_path, working_dir=str(tmp_path / "inner"))

    await done(call("write_file", file_path="a.txt", content="x"))

    assert (tmp_path / "inner" / "a.txt").read_text() == "x"


async def test_without_a_session_folder_paths_start_at_the_process_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amplifier_core.testing import MockCoordinator

    monkeypatch.chdir(tmp_path)
    coordinator = MockCoordinator()
    await filesystem.mount(coordinator)

    await done(caller(coordinator)("write_file", file_path="a.txt", content="x"))

    assert (tmp_path / "a.txt").read_text() == "x"


class Mentions:
    def __init__(self, target: Path) -> None:
        self.target = target

    def resolve(self, text: str) -> Path | None:
        return self.target if text == "@docs:a" else None


async def test_a_mention_is_resolved_by_the_hosts_resolver(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    coordinator = coordinator_in(tmp_path)
    coordinator.register_capability("mention_resolver", Mentions(tmp_path / "a.txt"))
    await filesystem.mount(coordinator)
    call = caller(coordinator)

    assert (await done(call("read_file", file_path="@docs:a")))["content"] == "     1\thello"
    assert not (await call("read_file", file_path="@docs:b")).success
