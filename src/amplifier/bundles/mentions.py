"""`@mentions` in texts: which there are, and what they bring."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCES = ("```", "~~~")
_INLINE = re.compile(r"`[^`\n]*`")
# Not inside a word: that is an e-mail address.
_MENTION = re.compile(r"(?<![\w@./:+-])@((?:~/)?[A-Za-z0-9_.][A-Za-z0-9_:./~-]*)")


def mentions(text: str) -> Iterator[tuple[str, int]]:
    """What a text mentions, without the `@`, each with the number of its line from 0."""
    seen = set()
    for number, line in _outside_of_code(text):
        for found in _MENTION.finditer(_INLINE.sub("", line)):
            # A point or colon after it ends a sentence.
            name = found[1].rstrip(".:")
            if name and name not in seen and _is_path(name):
                seen.add(name)
                yield name, number


def _outside_of_code(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are in no fenced block. A block that is not closed goes to the end."""
    fence = None
    for number, line in enumerate(text.split("\n")):
        if fence is not None:
            fence = None if line.rstrip() == fence else fence
        elif line.startswith(_FENCES):
            fence = line[:3]
        else:
            yield number, line


def _is_path(name: str) -> bool:
    """A word alone, as in `@everyone`, is meant for people."""
    return any(each in name for each in "/.:") or name.startswith("~")
