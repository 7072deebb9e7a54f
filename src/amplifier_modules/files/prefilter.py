"""Asks ripgrep, where it is installed, which files are worth opening.

What matches is always decided by Python's `re`, on files that we open ourselves. ripgrep gets
a looser pattern and its answer only spares work: results are the same without it, and a link
swapped in while it runs reveals nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_MOST_BYTES = 100_000 if os.name == "posix" else 24_000
_SPECIAL = frozenset(".*+?()[]{}|^$")
_ANY = r"(?:(?-u:[^\n]{1,4}))"
_TOKEN = re.compile(
    r"""(?P<plain>[A-Za-z0-9 _"'<>=!@%,:;/`~#&-])
    | \\(?P<escaped>[][.*+?(){}|^$/"'<>=!@%,:;`~\#&\ -])
    | (?P<any>\.|\\[wWdDsS]|\[\^?\]?(?:[^]\\[]|\\.)*\])
    | (?P<nothing>[$^]|\\[bB])
    | (?P<group>\((?:\?:)?|\)|\|)
    | (?P<repeat>[*+?]\??|\{\d+(?:,\d*)?\}\??)
    """,
    re.VERBOSE,
)


def loosened(pattern: str, ignore_case: bool) -> str | None:
    """A pattern for ripgrep that finds at least the lines that `pattern` finds in Python.

    None if there is something in it that we do not know how to loosen.
    """
    out: list[str] = []
    place = 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            return None
        out.append(_loosened_token(token, ignore_case))
        place = token.end()
    return "".join(out)


def _loosened_token(token: re.Match[str], ignore_case: bool) -> str:
    text, kind = token.group(token.lastgroup or 0), token.lastgroup
    if kind == "any":
        return _ANY
    if kind == "nothing":
        return "(?:)"
    if kind in ("group", "repeat"):
        return "(?:" if text.startswith("(") else text
    if ignore_case and text in "iI":
        return _ANY  # Python also takes the dotless i and the dotted I
    return f"\\{text}" if text in _SPECIAL else text


def worth_opening(
    program: str, pattern: str, ignore_case: bool, base: str, paths: list[str]
) -> set[str]:
    """Those of `paths` (relative to `base`) that may have a match."""
    import subprocess  # late, because searches start often and not all of them come here

    chosen: set[str] = set()
    for batch in _batches(paths):
        command = [program, *_OPTIONS, *(["-i"] if ignore_case else []), "-e", pattern, "--"]
        try:
            answer = subprocess.run(
                [*command, *(f"./{path}" for path in batch)],
                cwd=base,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError:
            return set(paths)
        if answer.returncode not in (0, 1):
            chosen.update(batch)  # it failed at something: look ourselves
            continue
        names = os.fsdecode(answer.stdout).split("\0")
        chosen.update(name.removeprefix("./").replace(os.sep, "/") for name in names if name)
    return chosen


_OPTIONS = (
    "--no-config",
    "--text",
    "--no-messages",
    "--color=never",
    "--no-ignore",
    "--hidden",
    "--files-with-matches",
    "--null",
)


def _batches(paths: list[str]) -> Iterator[list[str]]:
    """Lists that fit into a command line."""
    batch: list[str] = []
    size = 0
    for path in paths:
        size += len(os.fsencode(path)) + 16
        if size > _MOST_BYTES and batch:
            yield batch
            batch, size = [], len(os.fsencode(path)) + 16
        batch.append(path)
    if batch:
        yield batch
