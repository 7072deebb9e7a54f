"""Every way to get a module wrong has its own finding, and only that one."""

import re
from pathlib import Path

import broken_instances
import broken_mounts
import pytest
from amplifier_core.validation.discover import VALIDATORS
from sample_modules import write_module

BROKEN = [*broken_mounts.BROKEN, *broken_instances.BROKEN]


@pytest.mark.parametrize(
    ("module_type", "source", "failing", "part"),
    [case[1:] for case in BROKEN],
    ids=[case[0] for case in BROKEN],
)
async def test_each_mistake_has_its_own_finding_and_a_way_to_mend_it(
    tmp_path: Path, module_type: str, source: str, failing: list[str], part: str
) -> None:
    package = write_module(tmp_path, "amplifier_module_broken", source)

    patience = 0.2 if "did not finish" in part else 10
    result = await VALIDATORS[module_type](mount_timeout=patience).validate(package)

    failed = [check for check in result.checks if not check.passed]
    assert [check.name for check in failed] == failing
    assert part in failed[0].message
    for check in failed:
        assert has_two_sentences(check.message), check.message


def has_two_sentences(message: str) -> bool:
    """What is wrong, then what to do about it."""
    return re.search(r"[.:] [A-Z].*[.?]$", message, re.DOTALL) is not None


def test_the_corpus_is_large_and_its_cases_differ() -> None:
    assert len(BROKEN) > 60
    assert len({case[0] for case in BROKEN}) == len(BROKEN)
    assert {case[1] for case in BROKEN} == set(VALIDATORS)


# What is at the path, the path to examine, part of the message.
NO_MODULES = [
    ("folder without __init__", "plain/readme.txt", "plain", "__init__.py"),
    ("missing path", "plain/readme.txt", "nowhere", "does not exist"),
    ("file of another kind", "notes.txt", "notes.txt", "not a Python file"),
    ("standard library name", "colorsys/__init__.py", "colorsys", "Rename the package"),
    ("bad manifest", "mod/amplifier.toml", "mod", "no [module] table"),
]


@pytest.mark.parametrize(
    ("file", "place", "part"), [case[1:] for case in NO_MODULES], ids=[c[0] for c in NO_MODULES]
)
async def test_a_path_without_a_module_is_one_finding(
    tmp_path: Path, file: str, place: str, part: str
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")

    result = await VALIDATORS["tool"]().validate(tmp_path / place)

    assert [check.name for check in result.errors] == ["module_importable"]
    assert result.errors[0].message.startswith("Could not import")
    assert part in result.errors[0].message


async def test_a_module_without_its_component_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "amplifier.toml").write_text('[module]\ntransport = "wasm"\n')

    result = await VALIDATORS["tool"]().validate(tmp_path)

    assert [check.name for check in result.errors] == ["module_importable"]
    assert "has no component 'module.wasm'" in result.errors[0].message


async def test_an_unknown_dotted_name_is_one_finding() -> None:
    result = await VALIDATORS["tool"]().validate("surely_no.such_module")

    assert [check.name for check in result.errors] == ["module_importable"]
    assert "import" in result.errors[0].message
