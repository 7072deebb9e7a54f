"""The benchmark driver: it compares, judges, and survives a kernel that cannot be measured."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture
def with_figures(copied_driver: Path) -> Callable[..., Path]:
    """A driver whose every measurement comes out with the given figures."""

    def make(**figures: float) -> Path:
        copied_driver.with_name("worker.py").write_text(f"print({json.dumps(figures)!r})")
        return copied_driver

    return make


def line_of(result: subprocess.CompletedProcess[str], title: str) -> list[str]:
    """The cells of a line of the table."""
    (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"| {title} ")]
    return [cell.strip() for cell in line.strip("|").split("|")]


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


@pytest.mark.parametrize(("rate", "verdict"), [(300_000.0, "kept"), (299_999.0, "MISSED")])
def test_a_rate_is_promised_from_below_and_judged_by_this_kernel_alone(
    with_figures: Callable[..., Path], rate: float, verdict: str
) -> None:
    result = drive("--rows", "stream", "--peer", "false", driver=with_figures(per_s=rate))

    rates = [f"{rate:,.0f} /s", "-", "", ">= 300,000 /s", verdict]
    assert line_of(result, "streamed tokens, one listener")[1:] == rates
    assert result.returncode == (verdict != "kept")


@pytest.mark.parametrize(("ms", "verdict"), [(150.0, "kept"), (150.5, "MISSED")])
def test_a_time_is_promised_from_above(
    with_figures: Callable[..., Path], ms: float, verdict: str
) -> None:
    driver = with_figures(help_ms=ms, run_ms=350.0)

    result = drive("--rows", "cli", "--peer", "false", driver=driver)

    assert line_of(result, "amplifier --help")[-2:] == ["<= 150 ms", verdict]
    assert line_of(result, "amplifier run, mock provider")[-1] == "kept"


def test_a_row_of_this_kernel_alone_is_measured_nowhere_else(
    with_figures: Callable[..., Path],
) -> None:
    result = drive(
        "--rows", "cli", "--peer", "no-such-python", driver=with_figures(help_ms=1.0, run_ms=1.0)
    )

    assert result.returncode == 0
    assert "peer" not in result.stderr


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ([], "no interpreter was named with --semantic-kernel"),
        (["--semantic-kernel", "no-such-python"], "no-such-python cannot be started"),
    ],
)
def test_a_framework_that_is_not_there_costs_its_own_line_and_no_other(
    with_figures: Callable[..., Path], named: list[str], reason: str
) -> None:
    driver = with_figures(us=1.0, standin_us=100.0)

    result = drive("--rows", "step", "--peer", sys.executable, *named, driver=driver)

    assert f"step: semantic-kernel not measured: {reason}" in result.stderr
    assert line_of(result, "tool step in loop-basic")[-1] == "kept"
    assert line_of(result, "same, beside semantic-kernel")[-1] == "not measured"
    assert result.returncode == 1


def test_a_framework_is_compared_inside_the_round(with_figures: Callable[..., Path]) -> None:
    driver = with_figures(us=2.0, standin_us=200.0)
    pythons = ["--peer", sys.executable, "--semantic-kernel", sys.executable]

    result = drive("--rows", "step", *pythons, driver=driver)

    beside = line_of(result, "same, beside semantic-kernel")
    assert beside[1:] == ["2 us", "2 us", "1x", ">= 6x", "MISSED"]


@pytest.mark.slow
@pytest.mark.parametrize("row", ["step", "stream"])
def test_the_bundled_loops_can_be_measured(row: str) -> None:
    worker = [sys.executable, DRIVER.with_name("worker.py"), row]

    done = subprocess.run(worker, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    assert all(figure > 0 for figure in json.loads(done.stdout).values())
