"""Which module a path means, and of what type it is."""

from pathlib import Path

import pytest
from amplifier_core.validation.discover import UnknownType, validate_path
from amplifier_core.validation.locate import NotAModule, find_module, type_from_name
from sample_modules import GOOD, NAMES, TOOL, write_module, write_repository

ENTRY_POINT = '[project.entry-points."amplifier.modules"]\n{} = "{}:mount"\n'


def register(root: Path, module_id: str, package: str) -> None:
    (root / "pyproject.toml").write_text(ENTRY_POINT.format(module_id, package))


def test_a_package_folder_means_itself(tmp_path: Path) -> None:
    package = write_module(tmp_path, "anything", TOOL)

    assert find_module(package) == package
    assert find_module(package / "__init__.py") == package


def test_a_single_file_means_itself(tmp_path: Path) -> None:
    (tmp_path / "clock.py").write_text(TOOL)

    assert find_module(tmp_path / "clock.py") == tmp_path / "clock.py"


@pytest.mark.parametrize("layout", [".", "src"])
def test_a_repository_means_the_package_named_after_it(tmp_path: Path, layout: str) -> None:
    root = tmp_path / "amplifier-module-tool-x"
    write_module(root / layout, "amplifier_module_aaa", TOOL)
    package = write_module(root / layout, "amplifier_module_tool_x", TOOL)

    assert find_module(root) == package


def test_without_a_namesake_the_first_package_by_name_is_meant(tmp_path: Path) -> None:
    write_module(tmp_path, "amplifier_module_b", TOOL)
    package = write_module(tmp_path, "amplifier_module_a", TOOL)
    (tmp_path / "amplifier_module_0").mkdir()

    assert find_module(tmp_path) == package


@pytest.mark.parametrize("layout", [".", "src"])
def test_a_package_of_any_name_is_found_by_its_registration(tmp_path: Path, layout: str) -> None:
    package = write_module(tmp_path / layout, "my_package", TOOL)
    register(tmp_path, "tool-mine", "my_package")

    assert find_module(tmp_path) == package


def test_a_registered_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(TOOL)
    register(tmp_path, "tool-mine", "my_module")

    assert find_module(tmp_path) == tmp_path / "my_module.py"


@pytest.mark.parametrize("text", [None, "not toml", "[project]\n", ENTRY_POINT.format("x", "gone")])
def test_a_repository_without_a_package_is_no_module(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)

    with pytest.raises(NotAModule, match=r"__init__\.py"):
        find_module(tmp_path)


@pytest.mark.parametrize(
    ("names", "module_type"),
    [
        (["amplifier_module_loop_basic"], "orchestrator"),
        (["my-orchestrator"], "orchestrator"),
        (["nothing", "Provider-X"], "provider"),
        (["hooks-tool"], "tool"),
        (["hooks-log"], "hook"),
        (["context-simple"], "context"),
        (["nothing"], None),
    ],
)
def test_the_first_telling_name_gives_the_type(names: list[str], module_type: str | None) -> None:
    assert type_from_name(*names) == module_type


@pytest.mark.parametrize("module_type", GOOD)
async def test_the_type_of_a_repository_is_told_by_its_name(
    tmp_path: Path, module_type: str
) -> None:
    result = await validate_path(write_repository(tmp_path, module_type))

    assert (result.module_type, result.errors) == (module_type, [])


async def test_the_marker_beats_the_name(tmp_path: Path) -> None:
    source = f"__amplifier_module_type__ = 'tool'\n{TOOL}"

    result = await validate_path(write_repository(tmp_path, "provider", source))

    assert (result.module_type, result.errors) == ("tool", [])


async def test_the_registered_id_tells_the_type(tmp_path: Path) -> None:
    write_module(tmp_path, "my_package", TOOL)
    register(tmp_path, "tool-mine", "my_package")

    result = await validate_path(tmp_path)

    assert (result.module_type, result.passed) == ("tool", True)


async def test_the_registered_id_of_another_package_tells_nothing(tmp_path: Path) -> None:
    package = write_module(tmp_path, "amplifier_module_x", TOOL)
    register(tmp_path, "tool-mine", "other_package")

    with pytest.raises(UnknownType, match="Nothing tells the type of"):
        await validate_path(package)


async def test_a_named_type_is_taken_as_it_is(tmp_path: Path) -> None:
    result = await validate_path(write_module(tmp_path, "some_package", TOOL), "tool")

    assert (result.module_type, result.passed) == ("tool", True)


async def test_a_type_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownType, match="'tol' is no module type"):
        await validate_path(tmp_path, "tol")


async def test_a_resolver_has_no_validator(tmp_path: Path) -> None:
    package = write_module(tmp_path, "any", "__amplifier_module_type__ = 'resolver'")

    with pytest.raises(UnknownType, match="no validator for 'resolver'"):
        await validate_path(package)


@pytest.mark.parametrize(("name", "failing"), [("any", 1), (NAMES["provider"], 2)])
async def test_an_unknown_marker_is_a_finding(tmp_path: Path, name: str, failing: int) -> None:
    source = f"__amplifier_module_type__ = 'toool'\n{TOOL}"

    result = await validate_path(write_module(tmp_path, name, source))

    assert len(result.errors) == failing
    assert result.errors[0].name == "module_type"
    assert "Did you mean 'tool'?" in result.errors[0].message


async def test_a_path_without_a_module_is_reported_with_the_type_its_name_tells(
    tmp_path: Path,
) -> None:
    (tmp_path / "provider-empty").mkdir()

    result = await validate_path(tmp_path / "provider-empty")

    assert result.module_type == "provider"
    assert [check.name for check in result.errors] == ["module_importable"]


async def test_an_import_that_fails_is_reported_even_without_a_type(tmp_path: Path) -> None:
    result = await validate_path(write_module(tmp_path, "some_package", "raise ValueError"))

    assert result.module_type == "unknown"
    assert [check.name for check in result.errors] == ["module_importable"]
