"""Makes text from outside harmless: names and messages are quoted, never obeyed."""

from __future__ import annotations

import re

LONGEST_LINE = 200

# Anything that could be taken for a tag, above all for the end of the reminder it stands in.
_TAG = re.compile(r"<(?=\s*/?\s*[A-Za-z!?])")


def plain(text: str, longest: int = LONGEST_LINE) -> str:
    """One line of printable characters without tags."""
    line = "".join(each if each.isprintable() else "?" for each in text)
    line = _TAG.sub("&lt;", line)
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
