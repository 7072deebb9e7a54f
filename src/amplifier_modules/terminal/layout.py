"""Lays values out as lines: inputs and outputs of tools, thinking, longer texts."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from amplifier_modules.terminal.screen import harmless

LONGEST_LINE = 200
MOST_CHARACTERS = 20_000
"""Of one value; more is never looked at, because only a few lines are shown."""

MOST_COUNTED = 10_000
"""Lines that are left out are counted up to here."""

_DEEPEST = 6


def value_lines(value: Any) -> Iterator[str]:
    """A value in a form like YAML's."""
    yield from _lines(value, 0)


def _lines(value: Any, depth: int) -> Iterator[str]:
    if depth < _DEEPEST and isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _entry(f"{key}:", inner, depth)
    elif depth < _DEEPEST and isinstance(value, list | tuple) and value:
        for inner in value:
            yield from _entry("-", inner, depth)
    else:
        yield from scalar(value).split("\n")


def _entry(head: str, value: Any, depth: int) -> Iterator[str]:
    lines = _lines(value, depth + 1)
    if isinstance(value, dict | list | tuple) and value and depth + 1 < _DEEPEST:
        yield head
    else:
        text = scalar(value)
        if "\n" not in text:
            yield f"{head} {text}".rstrip()
            return
        yield f"{head} |"
    yield from (f"  {line}" for line in lines)


def scalar(value: Any) -> str:
    """A value as text; a text as it is."""
    if isinstance(value, str):
        return harmless(value[:MOST_CHARACTERS]).rstrip("\n")
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:MOST_CHARACTERS]
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__})"


def cut(lines: Iterable[str], most: int) -> Iterator[str]:
    """At most so many lines of at most `LONGEST_LINE` characters, and how many were left out."""
    left_out = 0
    for number, line in enumerate(islice(lines, most + MOST_COUNTED)):
        if number < most:
            yield line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."
        else:
            left_out += 1
    if left_out and most:
        or_more = "+" if left_out == MOST_COUNTED else ""
        yield f"... ({left_out}{or_more} more line{'s' if left_out > 1 else ''})"


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, each broken at `width`; indentation of lists and code is kept."""
    for line in harmless(text[:MOST_CHARACTERS]).strip("\n").expandtabs(4).split("\n"):
        indent = line[: len(line) - len(line.lstrip())][: width // 2]
        yield from textwrap.wrap(line, width, subsequent_indent=indent) or [""]
