"""Compares this kernel with the public one, row by row, and says which targets are kept.

Every round visits all sides; a ratio is taken inside a round, and the median round counts.
Each measurement is a process of its own with a deadline. README.md says how to read the numbers.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from report import Result, result_of, table, write_between_markers
from rows import ROWS, Figures, Row, Scale, Side

HERE = Path(__file__).resolve().parent
ROUNDS: dict[Scale, int] = {"quick": 1, "normal": 3, "full": 5}
Pythons = dict[Side, str | None]
"""The interpreter of each side, where there is one."""


class NotMeasured(Exception):
    """A worker that failed or took too long; the text is for the person at the terminal."""


def measure(side: Side, python: str | None, row: Row, scale: Scale) -> Figures:
    """The figures of one row in one interpreter."""
    if python is None:
        raise NotMeasured(f"no interpreter was named with --{side}")
    # A framework has no part of the public contract, so it has a measurement of its own.
    name = row.name if side in ("ours", "peer") else f"{row.name}:{side}"
    command = [python, str(HERE / "worker.py"), name]
    if row.sizes:
        command += ["--size", str(row.sizes[scale])]
    try:
        worker = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise NotMeasured(f"{python} cannot be started: {error.strerror}") from error
    return _result(worker, row)


def _result(worker: subprocess.Popen[str], row: Row) -> Figures:
    try:
        output, errors = worker.communicate(timeout=row.deadline)
    except subprocess.TimeoutExpired as error:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
        raise NotMeasured(f"no result within {row.deadline:g} s") from error
    # A worker may die after it has printed: the public kernel sometimes crashes on the way out.
    try:
        figures: Figures = json.loads(output)
    except ValueError as error:
        *_, last = errors.strip().splitlines() or [f"exit status {worker.returncode}"]
        raise NotMeasured(last) from error
    return figures


def one_round(row: Row, scale: Scale, pythons: Pythons) -> Figures:
    """All sides, one right after the other; keys are `ours.us`, `peer.us` and so on."""
    figures: Figures = {}
    for side, python in pythons.items():
        if side not in row.sides:
            continue
        print(f"  {row.name}: {side} ...", file=sys.stderr, flush=True)
        try:
            measured = measure(side, python, row, scale)
        except NotMeasured as error:
            print(f"  {row.name}: {side} not measured: {error}", file=sys.stderr, flush=True)
        else:
            figures.update({f"{side}.{key}": value for key, value in measured.items()})
    return figures


def all_rounds(rows: list[Row], scale: Scale, pythons: Pythons) -> list[Result]:
    rounds: dict[str, list[Figures]] = {row.name: [] for row in rows}
    for number in range(ROUNDS[scale]):
        # Turn and turn about, so that no side always runs on the warmer machine.
        order = pythons if number % 2 == 0 else dict(reversed(pythons.items()))
        for row in rows:
            if number < row.max_rounds:
                rounds[row.name].append(one_round(row, scale, order))
    return [
        result_of(line, rounds[row.name], row.sizes.get(scale))
        for row in rows
        for line in row.lines
    ]


def description(scale: Scale, pythons: Pythons) -> str:
    """The machine and the versions, without naming either."""
    public = version_in(pythons["peer"], "amplifier-core")
    framework = version_in(pythons["semantic-kernel"], "semantic-kernel")
    return (
        f"amplifier-core {version('amplifier-core')} beside the public amplifier-core {public} and"
        f" semantic-kernel {framework}; Python {platform.python_version()}, pydantic"
        f" {version('pydantic')}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores;"
        f" median (min-max); rounds: {ROUNDS[scale]}, fewer for the slow rows."
    )


def version_in(python: str | None, package: str) -> str:
    """The version of a package in another environment."""
    look = f"from importlib.metadata import version; print(version({package!r}))"
    try:
        command = [python or "", "-c", look]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "(not installed)"
    return done.stdout.strip() or "(not installed)"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="a Python with the public kernel installed")
    parser.add_argument("--semantic-kernel", help="a Python with that framework installed")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="scale", action="store_const", const="quick")
    size.add_argument("--full", dest="scale", action="store_const", const="full")
    parser.add_argument("--rows", nargs="+", choices=[row.name for row in ROWS], metavar="ROW")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.set_defaults(scale="normal")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    rows = [row for row in ROWS if not chosen.rows or row.name in chosen.rows]
    pythons: Pythons = {
        "ours": sys.executable,
        "peer": chosen.peer,
        "semantic-kernel": chosen.semantic_kernel,
    }
    results = all_rounds(rows, chosen.scale, pythons)
    about = description(chosen.scale, pythons)
    print(f"{about}\n\n{table(results)}")
    if chosen.write:
        write_between_markers(HERE / "README.md", about, results)
    missed = [result for result in results if result.verdict in ("MISSED", "not measured")]
    if missed:
        print(f"{len(missed)} of {len(results)} lines missed their target or were not measured.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
