"""Writes docs/compatibility.md from the table of differences.

python tests/differential/page.py
"""

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import fill

from bundled import entry_points
from table import Difference, declining_modules, differences

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"

INTRODUCTION = """\
# Compatibility with the public kernel

`amplifier_core` here and `amplifier-core` 2.0.2 have the same names, models, events, error texts
and behaviour. This page lists what differs, and nothing else does as far as several hundred
scripts can tell: `make differential` runs each of them on both kernels and compares what they
return. A difference that is not on this page fails the tests, and so does a row that is no longer
true.

The page is made from `tests/differential/differences.toml` by
`python tests/differential/page.py`.
"""

BUNDLED = """\
## Bundled modules on the public kernel

The modules of this project use the public contract. These join a session on `amplifier-core` 2.0.2
and run a turn in it: {working}.

These are loaded there and mount nothing, because what they need is not installed where the tests
run: {declining}.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(_section(*each) for each in _by_area()), _bundled(), ""])


def _bundled() -> str:
    working = sorted(set(entry_points()) - declining_modules())
    return "\n".join(
        fill(line, 100, break_on_hyphens=False)
        for line in BUNDLED.format(
            working=_listed(working), declining=_listed(sorted(declining_modules()))
        ).splitlines()
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _by_area() -> list[tuple[str, list[Difference]]]:
    areas = list(dict.fromkeys(row.area for row in differences()))
    rows = sorted(differences(), key=lambda row: areas.index(row.area))
    return [(area, list(group)) for area, group in groupby(rows, key=attrgetter("area"))]


def _section(area: str, rows: list[Difference]) -> str:
    lines = [f"| {row.public} | {row.here} | {row.why} |" for row in rows]
    head = [f"## {area}", "", "| public kernel | here | why |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
