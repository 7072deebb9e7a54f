"""Turns the figures of all rounds into a table: both sides, the comparison and the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from rows import Figures, Line

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
    rows = [HEADER, *(result.cells() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)


def write_between_markers(page: Path, text: str) -> None:
    """Replace what stands between the two marker comments of a page."""
    before, found, rest = page.read_text().partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"{page.name} has lost its markers. Put {BEGIN!r} and {END!r} back.")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


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
