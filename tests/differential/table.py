"""The table of known differences, read and checked for form."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "differences.toml"


@dataclass(frozen=True)
class Difference:
    """One thing that a user of the public kernel will notice."""

    area: str
    facts: tuple[str, ...]
    """Where it shows, as `file.script:fact`."""
    public: str
    here: str
    why: str


@cache
def differences() -> tuple[Difference, ...]:
    """Every row, in the order it was written.

    Raises:
        TypeError: a row lacks a column or has one too many.
    """
    rows = tomllib.loads(TABLE.read_text())["difference"]
    return tuple(Difference(**{**row, "facts": tuple(row["facts"])}) for row in rows)


def listed(script: str) -> set[str]:
    """The facts in which a script is known to differ."""
    places = [fact.split(":", 1) for row in differences() for fact in row.facts]
    return {fact for name, fact in places if name == script}


def declining_modules() -> set[str]:
    """Bundled modules that mount nothing where the tests run the public kernel."""
    return set(tomllib.loads(TABLE.read_text())["declining_modules"])
