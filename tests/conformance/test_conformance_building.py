"""`scripts/examples.py`: what is built once is not built again, and what is missing is named."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built_examples import REPO

Run = subprocess.CompletedProcess[str]
Examples = Callable[..., Run]


@pytest.fixture
def examples(tmp_path: Path) -> Examples:
    """Runs the script in a small repository with one example, which `makes` builds."""
    folder = tmp_path / "examples" / "greet"
    folder.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPO / "scripts" / "examples.py", tmp_path / "scripts")
    shutil.copytree(REPO / "spec", tmp_path / "spec")
    (folder / "amplifier.toml").write_text("[module]\n")
    (folder / ".gitignore").write_text("leftover\n")
    build = folder / "build.sh"

    def run(*arguments: str, makes: str | None = None) -> Run:
        if makes is not None:
            build.write_text(f"#!/bin/sh\n{makes}\n")
            build.chmod(0o755)
        command = [sys.executable, str(tmp_path / "scripts" / "examples.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


MAKES = 'echo built >> "$0.log"\ncd "$(dirname "$0")" && cp source "$1/serve"'


def builds(folder: Path) -> int:
    log = folder / "examples" / "greet" / "build.sh.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_an_example_is_built_once_for_each_state_of_its_sources(
    examples: Examples, tmp_path: Path
) -> None:
    greet = tmp_path / "examples" / "greet"
    (greet / ".gitignore").write_text("leftover\n*.log\n")
    (greet / "source").write_text("one")
    first = examples(makes=MAKES)
    (greet / "leftover").write_text("of a build")
    again = examples()
    built_before = builds(tmp_path)
    (greet / "source").write_text("two")
    changed = examples("greet")
    found = Path(examples("--find", "greet").stdout.strip())

    assert (first.returncode, again.returncode, changed.returncode) == (0, 0, 0)
    assert first.stderr == changed.stderr == "Building example greet ...\n"
    assert again.stderr == ""
    assert (built_before, builds(tmp_path)) == (1, 2)
    assert (found / "serve").read_text() == "two"
    assert (found / "amplifier.toml").exists()
    assert [each.name for each in found.parent.glob("greet-*")] == [found.name]


@pytest.mark.parametrize(
    ("makes", "reason"),
    [
        ("# Needs: frobnicate", "it needs frobnicate, which is not installed"),
        ("echo no network; exit 75", "its packages are not to be had here (no network)"),
    ],
)
def test_what_is_missing_here_skips_an_example_and_is_named(
    examples: Examples, makes: str, reason: str
) -> None:
    run = examples(makes=makes)
    found = examples("--find", "greet")

    assert run.returncode == 0
    assert f"Example greet is skipped: {reason}\n" in run.stderr
    assert (found.returncode, found.stderr) == (1, f"{reason}\n")


def test_a_build_that_fails_is_an_error_with_its_output(examples: Examples) -> None:
    run = examples(makes="echo broken here; exit 3")
    found = examples("--find", "greet")

    assert run.returncode == 1
    assert "broken here\nbuild.sh ended with 3." in run.stderr
    assert "Example 'greet' could not be built:\nbroken here" in found.stderr


def test_an_example_that_is_not_built_says_how_to(examples: Examples) -> None:
    found = examples("--find", "greet", makes="true")
    unknown = examples("great")

    assert (found.returncode, unknown.returncode) == (1, 2)
    assert found.stderr == "Example 'greet' is not built. Run `make examples`.\n"
    assert unknown.stderr == "There is no example 'great'. Use greet.\n"


def test_two_at_once_build_once(examples: Examples, tmp_path: Path) -> None:
    greet = tmp_path / "examples" / "greet"
    (greet / ".gitignore").write_text("*.log\n")
    (greet / "source").write_text("one")
    examples("--find", "greet", makes=MAKES)
    command = [sys.executable, str(tmp_path / "scripts" / "examples.py")]

    both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    said = sorted(each.communicate(timeout=60)[1] for each in both)

    assert [each.returncode for each in both] == [0, 0]
    assert said == [b"", b"Building example greet ...\n"]
    assert builds(tmp_path) == 1
