"""`@mentions` in texts: which there are, and what they bring."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
# Not inside a word: that is an e-mail address.
_MENTION = re.compile(r"(?<![\w@./:+-])@((?:~/)?[A-Za-z0-9_.][A-Za-z0-9_:./~-]*)")


def mentions(text: str) -> Iterator[tuple[str, int]]:
    """What a text mentions, without the `@`, each with the number of its line from 0."""
    hidden = _INLINE.sub(_blank, _FENCED.sub(_blank, text))
    seen = set()
    for found in _MENTION.finditer(hidden):
        # A point or colon after it ends a sentence.
        name = found[1].rstrip(".:")
        if name and name not in seen and _is_path(name):
            seen.add(name)
            yield name, hidden.count("\n", 0, found.start())


def _is_path(name: str) -> bool:
    """A word alone, as in `@everyone`, is meant for people."""
    return any(each in name for each in "/.:") or name.startswith("~")


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
