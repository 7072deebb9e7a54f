"""Turns the figures of all rounds into a table: both sides, the comparison and the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from rows import ROWS, Figures, Line

HEADER = ["row", "this kernel", "the other", "ratio (min-max)", "target", "verdict"]
BEGIN, END = "<!-- results, written by the driver -->", "<!-- end of results -->"


@dataclass(frozen=True)
class Result:
    """A line with what all rounds measured for it."""

    line: Line
    ours: Sequence[float]
    other: Sequence[float]
    compared: Sequence[float]
    size: int | None = None

    @property
    def verdict(self) -> Literal["kept", "MISSED", "not measured", ""]:
        if not self.compared:
            return "not measured"
        if self.line.promise == "for information":
            return ""
        return "kept" if self.line.is_kept(median(self.compared)) else "MISSED"

    def cells(self) -> list[str]:
        def with_unit(value: float) -> str:
            return f"{_short(value)} {self.line.unit}"

        return [
            self.line.title.format(size=f"{self.size or 0:,}"),
            _spread(self.ours, with_unit),
            _spread(self.other, with_unit),
            "" if self.line.is_absolute else _spread(self.compared, _times),
            _target(self.line),
            self.verdict,
        ]


def result_of(line: Line, rounds: Sequence[Figures], size: int | None = None) -> Result:
    return Result(
        line,
        ours=[figures[line.ours] for figures in rounds if line.ours in figures],
        other=[figures[line.other] for figures in rounds if line.other in figures],
        compared=[value for figures in rounds if (value := line.compare(figures)) is not None],
        size=size,
    )


def table(results: Sequence[Result]) -> str:
    """A Markdown table that is also readable in a terminal."""
    return _padded([HEADER, *(result.cells() for result in results)])


def _padded(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)


def write_between_markers(page: Path, about: str, results: Sequence[Result]) -> None:
    """Replace the table between the two marker comments of a page.

    Lines that were not measured this time stay as they are.
    """
    before, found, rest = page.read_text().partition(BEGIN)
    old, closed, after = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"{page.name} has lost its markers. Put {BEGIN!r} and {END!r} back.")
    lines = [line for row in ROWS for line in row.lines]
    measured = {id(result.line): result.cells() for result in results}
    if len(measured) < len(lines):
        about += " Some lines are from an earlier run."
    kept = [[cell.strip() for cell in each.split("|")[1:-1]] for each in old.splitlines() if each]
    kept = [cells for cells in kept if len(cells) == len(HEADER)][2:]
    if len(measured) < len(lines) != len(kept):
        raise SystemExit(f"The table in {page.name} has other rows. Measure all of them anew.")
    rows = [measured.get(id(line)) or kept[index] for index, line in enumerate(lines)]
    page.write_text(f"{before}{BEGIN}\n{about}\n\n{_padded([HEADER, *rows])}\n{END}{after}")


def _target(line: Line) -> str:
    if line.promise == "for information":
        return ""
    unit = f" {line.unit}" if line.is_absolute else "x"
    return f"{'>=' if line.is_floor else '<='} {_short(line.target)}{unit}"


def _spread(values: Sequence[float], show: Callable[[float], str]) -> str:
    if not values:
        return "-"
    middle, low, high = (show(pick(values)) for pick in (median, min, max))
    return middle if low == high else f"{middle} ({low.split()[0]}-{high.split()[0]})"


def _times(value: float) -> str:
    return f"{_short(value)}x"


def _short(value: float) -> str:
    """Three figures that mean something, with thousands apart."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else "0"
