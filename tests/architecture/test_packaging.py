"""Two wheels, one version, one way to run the tests."""

import re
import tomllib
from typing import Any

import amplifier_core
import pytest
from repository import REPO, python_files

PROJECTS = {"amplifier": REPO / "pyproject.toml", "amplifier-core": REPO / "kernel/pyproject.toml"}


def project(name: str) -> dict[str, Any]:
    return tomllib.loads(PROJECTS[name].read_text())["project"]


def fenced_lines(markdown: str) -> set[str]:
    """Lines inside the code blocks of a page, without a leading prompt."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", markdown, flags=re.MULTILINE | re.DOTALL)
    return {
        line.strip().removeprefix("$ ").split("  #")[0].strip()
        for block in blocks
        for line in block.splitlines()
    }


def test_the_app_requires_exactly_the_kernel_beside_it() -> None:
    kernel_version = project("amplifier-core")["version"]

    assert f"amplifier-core=={kernel_version}" in project("amplifier")["dependencies"]


def test_kernel_and_app_are_released_in_lockstep() -> None:
    assert project("amplifier")["version"] == project("amplifier-core")["version"]


def test_the_kernel_knows_its_own_version() -> None:
    assert amplifier_core.__version__ == project("amplifier-core")["version"]


@pytest.mark.parametrize("name", PROJECTS)
def test_each_project_is_named_as_others_require_it(name: str) -> None:
    assert project(name)["name"] == name


def test_the_kernel_needs_pydantic_and_what_third_party_modules_leave_undeclared() -> None:
    required = [re.split(r"[<>=]", line)[0] for line in project("amplifier-core")["dependencies"]]

    assert required == ["pydantic", "PyYAML", "typing-extensions"]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = (REPO / ".ci/run").read_text()
    *_, command = [line for line in script.splitlines() if line and not line.startswith("#")]

    assert command == "make test"
    assert command in fenced_lines((REPO / "README.md").read_text())


def test_the_ci_script_can_be_executed() -> None:
    assert (REPO / ".ci/run").stat().st_mode & 0o111


@pytest.mark.parametrize("package", ["kernel/amplifier_core", "src/amplifier"])
def test_each_package_tells_type_checkers_that_it_is_typed(package: str) -> None:
    assert (REPO / package / "py.typed").is_file()


def test_every_folder_of_a_package_is_importable() -> None:
    roots = [REPO / "kernel/amplifier_core", REPO / "src/amplifier", REPO / "src/amplifier_modules"]
    folders = {p.parent for p in python_files() if any(root in p.parents for root in roots)}

    assert folders
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_every_bundled_module_is_on_its_page_of_the_docs() -> None:
    page = (REPO / "docs/reference/modules.md").read_text()
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", page))

    assert named == set(project("amplifier")["entry-points"]["amplifier.modules"])


def test_each_island_declares_the_entry_points_that_the_whole_declares() -> None:
    declared: dict[str, str] = {}
    for path in (REPO / "src/amplifier_modules").glob("*/pyproject.toml"):
        island = tomllib.loads(path.read_text())["project"]
        declared |= island["entry-points"]["amplifier.modules"]

    assert declared == project("amplifier")["entry-points"]["amplifier.modules"]
