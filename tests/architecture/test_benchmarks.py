"""The benchmark driver: it compares, judges, and survives a kernel that cannot be measured."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import REPO

DRIVER = REPO / "benchmarks" / "run.py"


def drive(*arguments: str, driver: Path = DRIVER) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, driver, "--quick", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def copied_driver(tmp_path: Path) -> Path:
    """The driver in a folder of its own, for the tests that let it write."""
    return Path(shutil.copytree(DRIVER.parent, tmp_path / "benchmarks")) / DRIVER.name


@pytest.mark.slow
def test_a_kernel_is_not_a_hundred_times_faster_than_itself() -> None:
    result = drive("--rows", "emit-20", "--peer", sys.executable)

    (line,) = [line for line in result.stdout.splitlines() if "20 async listeners" in line]
    assert "MISSED" in line
    assert result.returncode == 1


@pytest.mark.slow
def test_a_peer_that_cannot_be_measured_is_reported_and_the_rest_goes_on(
    copied_driver: Path,
) -> None:
    page = copied_driver.with_name("README.md")
    before = page.read_text()

    result = drive("--rows", "emit-0", "--write", "--peer", "false", driver=copied_driver)

    assert result.returncode == 1
    assert "emit-0: peer not measured" in result.stderr
    assert "beside an empty pluggy call" in result.stdout
    assert "not measured |" in page.read_text()
    assert page.read_text().startswith(before.partition("<!-- results")[0])
    assert page.read_text().endswith(before.partition("<!-- end of results -->")[2])


def test_an_unknown_row_is_refused_with_the_known_ones() -> None:
    result = drive("--rows", "emmit", "--peer", sys.executable)

    assert result.returncode == 2
    assert "emit-0" in result.stderr
