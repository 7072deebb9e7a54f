"""The reference says what the code does: generated pages are up to date, signatures are exact."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGES = REPO / "docs" / "reference"
SCRIPT = REPO / "scripts" / "reference.py"

CLASS = re.compile(r"^<!-- class: (?P<module>[\w.]+)\.(?P<name>\w+) -->$", re.MULTILINE)
HEADING = re.compile(r"^### `(?P<call>[^`]+\))`$", re.MULTILINE)


def sections() -> dict[str, tuple[type, str]]:
    """The classes that the pages describe, each with the text from its mark to the next."""
    found: dict[str, tuple[type, str]] = {}
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        marks = list(CLASS.finditer(text))
        ends = [*(mark.start() for mark in marks), len(text)][1:]
        for mark, end in zip(marks, ends, strict=True):
            kind = getattr(importlib.import_module(mark["module"]), mark["name"])
            found[mark["name"]] = (kind, text[mark.end() : end])
    return found


SECTIONS = sections()


def call(name: str, function: Any) -> str:
    """How the pages write a call: names and defaults, `await` where it has to be awaited."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    is_awaited = inspect.iscoroutinefunction(function) or str(
        signature.return_annotation
    ).startswith("Coroutine")
    shown = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return f"{'await ' if is_awaited else ''}{name}{shown}"


def own_calls(kind: type) -> set[str]:
    calls = {
        call(name, member)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and member.__name__ == name and not name.startswith("_")
    }
    constructor = call(kind.__name__, kind.__init__)
    return {*calls, constructor} if "()" not in constructor else calls


def test_the_pages_describe_the_classes_that_modules_meet() -> None:
    assert set(SECTIONS) == {
        "AmplifierSession",
        "CancellationToken",
        "HookRegistry",
        "ModuleCoordinator",
        "ModuleLoader",
    }


@pytest.mark.parametrize("name", SECTIONS)
def test_every_public_method_is_described_with_its_exact_signature(name: str) -> None:
    kind, text = SECTIONS[name]

    assert {heading["call"] for heading in HEADING.finditer(text)} == own_calls(kind)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_public_attribute_is_named(name: str) -> None:
    kind, text = SECTIONS[name]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`\n]+`", text))))

    assert [each for each in vars(kind) if not each.startswith("_") and each not in words] == []


def run(*arguments: str, script: Path = SCRIPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_generated_pages_are_up_to_date() -> None:
    result = run("--check")

    assert result.returncode == 0, result.stdout + result.stderr


def test_the_script_writes_what_is_missing_and_then_finds_it_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "spec").mkdir()
    script = tmp_path / "scripts" / "reference.py"
    script.parent.mkdir()
    for each in SCRIPT.parent.glob("*.py"):
        (script.parent / each.name).write_text(each.read_text())

    stale, written, checked = (run(*each, script=script) for each in (["--check"], [], ["--check"]))

    assert (stale.returncode, written.returncode, checked.returncode) == (1, 0, 0)
    assert stale.stdout == (
        "Out of date: events.md, models.md, errors.md, amplifier.md, events.json. "
        "Run `python scripts/reference.py`.\n"
    )
    for made in [*(tmp_path / "docs").rglob("*.md"), tmp_path / "spec" / "events.json"]:
        assert made.read_text() == (REPO / made.relative_to(tmp_path)).read_text()


def test_unknown_arguments_are_refused() -> None:
    result = run("--chek")

    assert (result.returncode, result.stdout) == (
        2,
        "Unknown arguments ['--chek']. Give `--check` or nothing.\n",
    )
