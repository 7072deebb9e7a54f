"""Patterns for paths: `*`, `?`, `[abc]`, `{a,b}`, and `**` for any number of folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from amplifier_modules.files.refusals import Refused

Matches = Callable[[str], bool]

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^]/]*\]|[{},]|[^*?\[{},]+|\[", re.DOTALL)
# What means something in a set of a regular expression, or is to mean something one day.
_SPECIAL_IN_BRACKETS = re.compile(r"[\\\[&~|]|-(?=-)")


def path_matcher(pattern: str) -> Matches:
    """Tells whether a relative path, with `/` between its parts, fits the whole pattern.

    Raises:
        Refused: the pattern cannot be understood.
    """
    return _compiled(pattern, _translated(pattern))


def name_matcher(patterns: Iterable[str]) -> Matches:
    """Tells whether a path fits one of the patterns; one without `/` is about the last part."""
    wanted = [_translated(p if "/" in p else f"**/{p}") for p in patterns]
    if not wanted:
        return lambda _: False
    return _compiled(", ".join(patterns), "|".join(wanted))


def _compiled(pattern: str, expression: str) -> Matches:
    try:
        matches = re.compile(expression, re.DOTALL).fullmatch
    except re.error as error:
        text = f"The glob pattern {pattern!r} cannot be understood: {error.msg}. Correct it."
        raise Refused(text, "InvalidPattern") from error
    return lambda path: matches(path) is not None


def _translated(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    out: list[str] = []
    for index, part in enumerate(parts):
        if part != "**":
            out.append(_part(part) + ("/" if index < len(parts) - 1 else ""))
        elif index == len(parts) - 1:
            out.append(".+")
        elif parts[index + 1] != "**":
            out.append("(?:[^/]+/)*")
    return "".join(out)


def _part(part: str) -> str:
    depth = 0
    out: list[str] = []
    has_braces = part.count("{") == part.count("}") > 0
    for token in _TOKEN.findall(part):
        if token == "{" and has_braces:
            depth += 1
            out.append("(?:")
        elif token == "}" and depth:
            depth -= 1
            out.append(")")
        elif token == "," and depth:
            out.append("|")
        else:
            out.append(_plain(token))
    return "".join(out)


def _plain(token: str) -> str:
    if token.startswith("*"):
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if len(token) > 2 and token.startswith("["):
        inner = _SPECIAL_IN_BRACKETS.sub(r"\\\g<0>", token[1:-1])
        negated = inner.startswith("!")
        return f"(?!/)[{'^' if negated else ''}{_bracket(inner[1:] if negated else inner)}]"
    return re.escape(token)


def _bracket(inner: str) -> str:
    start = inner[:1]
    return f"\\{inner}" if start in ("]", "^") else inner
