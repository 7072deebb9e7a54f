"""Finds the name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A sentence that offers the nearest known name: its words swapped, or a slip in it."""
    from difflib import get_close_matches  # slow to import, and only mistakes need it

    names = list(known)
    words = sorted(name.split("-"))
    near = [each for each in names if sorted(each.split("-")) == words]
    near = near or get_close_matches(name, names, n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise
