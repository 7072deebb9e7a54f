"""The coverage gate: what passes, what fails, and what it tells the person who must act."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from repository import REPO


def report(*, missing: list[int], branches: int, taken: int) -> dict[str, Any]:
    """A report as `coverage json` writes it, for one file of a hundred lines."""
    untaken = [[10, -1]] * (branches - taken)
    return {
        "files": {"hooks.py": {"missing_lines": missing, "missing_branches": untaken}},
        "totals": {
            "num_statements": 100,
            "covered_lines": 100 - len(missing),
            "num_branches": branches,
            "covered_branches": taken,
        },
    }


def gate(tmp_path: Path, content: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(content))
    return subprocess.run(
        [sys.executable, REPO / "scripts/coverage_gate.py", path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(("branches", "taken"), [(100, 100), (100, 98), (0, 0)])
def test_the_gate_opens_for_full_lines_and_enough_branches(
    tmp_path: Path, branches: int, taken: int
) -> None:
    result = gate(tmp_path, report(missing=[], branches=branches, taken=taken))

    assert result.returncode == 0, result.stdout
    assert "100.00 % of lines" in result.stdout


def test_one_line_that_never_ran_closes_the_gate_and_is_named(tmp_path: Path) -> None:
    result = gate(tmp_path, report(missing=[3, 4, 5, 9], branches=100, taken=99))

    assert result.returncode == 1
    assert "hooks.py: lines 3-5, 9 never ran" in result.stdout
    assert "branches 10" not in result.stdout


def test_too_few_branches_close_the_gate_and_are_named(tmp_path: Path) -> None:
    result = gate(tmp_path, report(missing=[], branches=100, taken=97))

    assert result.returncode == 1
    assert "hooks.py: branches 10->exit" in result.stdout


def test_a_report_without_code_is_not_a_pass(tmp_path: Path) -> None:
    empty = report(missing=[], branches=0, taken=0)
    empty["totals"]["num_statements"] = 0

    result = gate(tmp_path, empty)

    assert result.returncode == 1
    assert "holds no kernel code" in result.stdout
