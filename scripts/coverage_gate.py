"""Fail when the tests leave a line of the kernel unrun, or too many of its branches.

Reads the report of `coverage json`; prints one line, or what is missing and where.
"""

import json
import sys
from pathlib import Path
from typing import Any

MIN_BRANCH_PERCENT = 98.0


def problems(report: dict[str, Any]) -> list[str]:
    """What the report lacks, one line per file; empty when the gate is passed."""
    lines = [
        f"  {name}: lines {_spans(file['missing_lines'])} never ran"
        for name, file in sorted(report["files"].items())
        if file["missing_lines"]
    ]
    if branch_percent(report) >= MIN_BRANCH_PERCENT:
        return lines
    return lines + [
        f"  {name}: branches {_arrows(file['missing_branches'])} not taken"
        for name, file in sorted(report["files"].items())
        if file.get("missing_branches")
    ]


def branch_percent(report: dict[str, Any]) -> float:
    covered: int = report["totals"]["covered_branches"]
    existing: int = report["totals"]["num_branches"]
    return 100 * covered / existing if existing else 100.0


def _spans(lines: list[int]) -> str:
    """`3-5, 9` for [3, 4, 5, 9]."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _arrows(branches: list[list[int]]) -> str:
    """`3->5, 9->exit` for [[3, 5], [9, -1]]."""
    return ", ".join(f"{start}->{'exit' if end < 0 else end}" for start, end in branches)


def main(path: str) -> int:
    report = json.loads(Path(path).read_text())
    totals = report["totals"]
    if not totals["num_statements"]:
        print("Coverage gate failed: the report holds no kernel code. Was the kernel imported?")
        return 1
    line_percent = 100 * totals["covered_lines"] / totals["num_statements"]
    summary = (
        f"kernel coverage: {line_percent:.2f} % of lines (needs 100), "
        f"{branch_percent(report):.2f} % of branches (needs {MIN_BRANCH_PERCENT:g})"
    )
    if missing := problems(report):
        print(f"Coverage gate failed. {summary}. Write tests that run:", *missing, sep="\n")
        return 1
    print(summary)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
