"""An examination leaves the program around it as it was: `sys.path` and `sys.modules`."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import broken_instances
import broken_mounts
import pytest
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.discover import VALIDATORS, validate_path
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_modules import GOOD, TOOL, write_module

NAME = "amplifier_module_tool_sample"


@contextmanager
def unchanged() -> Iterator[None]:
    path, places, modules = sys.path, list(sys.path), dict(sys.modules)
    yield
    assert sys.path is path
    assert sys.path == places
    assert sys.modules == modules


QUICK = [
    case[1:3]
    for case in [*broken_mounts.BROKEN, *broken_instances.BROKEN]
    if "did not finish" not in case[4]
]


@pytest.mark.parametrize(("module_type", "source"), [*GOOD.items(), *QUICK])
async def test_no_module_good_or_broken_leaves_a_trace(
    tmp_path: Path, module_type: str, source: str
) -> None:
    package = write_module(tmp_path, NAME, source)
    await VALIDATORS[module_type]().validate(package)  # what the module needs stays imported

    with unchanged():
        await VALIDATORS[module_type]().validate(package)


async def test_an_import_that_never_ends_leaves_no_trace(tmp_path: Path) -> None:
    source = "import sys, time\nsys.path.append('x')\ntime.sleep(1)\n"
    package = write_module(tmp_path, "sample_that_hangs", source)

    with unchanged():
        result = await ToolValidator(mount_timeout=0.05).validate(package)

    assert "did not finish" in result.errors[0].message


# What a module may do to the import system while it is imported or mounted.
MISDEEDS = [
    "sys.path.append('elsewhere')",
    "sys.path.insert(0, 'elsewhere')",
    "sys.path.clear()",
    "sys.path = ['elsewhere']",
    "sys.modules['colorsys'] = sys",
    "sys.modules.pop('colorsys', None)",
    "sys.modules.pop(__name__)",
    "sys.modules[__name__ + '.made_up'] = sys",
    "from . import part",
    "import sample_neighbour",
    "print('hello')",
    "raise ValueError('enough')",
    "raise SystemExit",
]
misdeeds = st.lists(st.sampled_from(MISDEEDS), max_size=4)


@settings(max_examples=60, deadline=None)
@given(at_import=misdeeds, at_mount=misdeeds)
def test_whatever_a_module_does_is_undone(at_import: list[str], at_mount: list[str]) -> None:
    import colorsys  # noqa: F401

    body = "\n    ".join([*at_mount, "await coordinator"])
    source = "\n".join(["import sys", *at_import, TOOL.replace("await coordinator", body)])
    with TemporaryDirectory() as folder:
        package = write_module(Path(folder), "sample_of_misdeeds", source)
        (package / "part.py").write_text("")
        (package.parent / "sample_neighbour.py").write_text("")

        with unchanged():
            result = asyncio.run(ToolValidator().validate(package))

    assert result.passed or len(result.errors) == 1


async def test_imports_and_search_path_are_taken_back(tmp_path: Path) -> None:
    source = (
        f"import sys\nfrom . import part\nimport sample_neighbour\nsys.path.append('x')\n{TOOL}"
    )
    package = write_module(tmp_path, NAME, source)
    (package / "part.py").write_text("")
    (tmp_path / "sample_neighbour.py").write_text("")

    with unchanged():
        assert (await ToolValidator().validate(package)).passed


async def test_a_failed_import_leaves_nothing_behind(tmp_path: Path) -> None:
    package = write_module(tmp_path, NAME, "from . import part\nraise ValueError")
    (package / "part.py").write_text("")

    with unchanged():
        assert not (await ToolValidator().validate(package)).passed


async def test_a_module_in_use_is_examined_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that runs a module keeps its own copy, and it is not executed again."""
    package = write_module(tmp_path, "sample_in_use", TOOL)
    monkeypatch.syspath_prepend(str(tmp_path))
    import sample_in_use

    sample_in_use.Tool.name = ""
    with unchanged():
        result = await ToolValidator().validate(package)

    assert [check.name for check in result.errors] == ["tool_name"]
    assert sys.modules.pop("sample_in_use") is sample_in_use


async def test_a_module_in_use_keeps_what_it_loads_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second copy of a part would not know the objects of the first."""
    source = TOOL.replace("await coordinator", "from . import part\n    await coordinator")
    package = write_module(tmp_path, "sample_with_part", source)
    (package / "part.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    import sample_with_part

    assert (await ToolValidator().validate(package)).passed

    assert sys.modules.pop("sample_with_part.part") is sample_with_part.part
    del sys.modules["sample_with_part"]


async def test_a_namesake_in_use_gets_its_place_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = write_module(tmp_path / "used", "sample_namesake", "from . import part")
    (used / "part.py").write_text("")
    other = write_module(tmp_path / "other", "sample_namesake", TOOL)
    monkeypatch.syspath_prepend(str(tmp_path / "used"))
    import sample_namesake

    with unchanged():
        assert (await ToolValidator().validate(other)).passed
    assert sys.modules.pop("sample_namesake.part") is sample_namesake.part
    assert sys.modules.pop("sample_namesake") is sample_namesake


async def test_a_module_found_by_its_dotted_name_is_taken_back_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_module(tmp_path / "sample_installed", "part", f"from .. import shared\n{TOOL}")
    (tmp_path / "sample_installed" / "shared.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    with unchanged():
        assert (await ToolValidator().validate("sample_installed.part")).passed


async def test_only_the_named_part_of_a_package_in_use_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write_module(tmp_path, "sample_host", "")
    write_module(package, "guest", f"import sample_host.shared\n{TOOL}")
    (package / "shared.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    import sample_host

    assert (await ToolValidator().validate("sample_host.guest")).passed

    assert "sample_host.guest" not in sys.modules
    assert sys.modules.pop("sample_host.shared")
    assert sys.modules.pop("sample_host") is sample_host


async def test_a_package_on_the_search_path_is_taken_back_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it imported from the same folder could have been imported by anyone."""
    package = write_module(tmp_path, "sample_on_path", f"import sample_dependency\n{TOOL}")
    (tmp_path / "sample_dependency.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert (await ToolValidator().validate(package)).passed

    assert "sample_on_path" not in sys.modules
    assert sys.modules.pop("sample_dependency")


async def test_two_packages_of_one_name_are_both_examined(tmp_path: Path) -> None:
    good = write_module(tmp_path / "one", NAME, TOOL)
    broken = write_module(tmp_path / "two", NAME, TOOL.replace('"clock"', '""'))

    results = [await ToolValidator().validate(each) for each in (good, broken, good)]

    assert [result.passed for result in results] == [True, False, True]


async def test_one_package_can_be_examined_twice_and_runs_twice(tmp_path: Path) -> None:
    """What the author changed in between counts."""
    package = write_module(tmp_path, NAME, TOOL.replace('"clock"', '""'))
    assert not (await validate_path(package)).passed

    write_module(tmp_path / "mended", NAME, TOOL)
    (package / "__init__.py").write_text((tmp_path / "mended" / NAME / "__init__.py").read_text())

    assert (await validate_path(package)).passed


async def test_mount_never_meets_anything_but_a_mock(tmp_path: Path) -> None:
    source = TOOL.replace(
        "await coordinator",
        "config['seen'].append(coordinator); config['own'] = 1; await coordinator",
    )
    config = {"seen": []}

    assert (
        await ToolValidator().validate(write_module(tmp_path, NAME, source), None, config)
    ).passed

    (coordinator,) = config["seen"]
    assert isinstance(coordinator, MockCoordinator)
    assert coordinator.session_id == "test-session"
    assert config == {"seen": [coordinator]}
