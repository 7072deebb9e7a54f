"""Finds out quickly that a text contains nothing, and if it might, where.

What costs time is looking at every character more than once. So tokens are looked for only in
long unbroken runs of characters, which ordinary text hardly has; and a text that is one such
run and thousands of characters long is a picture or a file, in which no token can be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from amplifier_modules.records.detectors import DETECTORS, SHORTEST_RUN, Detector, Rule, Span

_BLOB_LENGTH = 4096
# Lines as long as encoders make them: a list of tokens, one per line, is not such a thing.
_BLOB = re.compile(
    r"(?:data:[\w/+.\-]{1,60};base64,)?"
    r"(?:[A-Za-z0-9+/]{60,}+={0,2}(?:\r?\n)?+)++[A-Za-z0-9+/]{0,59}={0,2}\s?"
)


def _table(mapping: dict[str, str]) -> bytes:
    """A translation of bytes to those they stand for; a blank for all others."""
    table = bytearray(b" " * 256)
    for characters, target in mapping.items():
        for character in characters:
            table[ord(character)] = ord(target)
    return bytes(table)


_AS_RUN = _table({"abcdefghijklmnopqrstuvwxyz0123456789_-.": "a"})
_RUN = b"a" * SHORTEST_RUN
_AS_DIGITS = _table({"0123456789": "0", "-. ": "-"})
_LOCAL_PHONE = b"000-0000"


def lowered(text: str) -> str:
    """`text` in lower case, with every character in its place."""
    low = text.lower()
    # The only letter that becomes two.
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()


def is_blob(text: str) -> bool:
    """Whether a text is one long piece of base64, as pictures are."""
    return len(text) >= _BLOB_LENGTH and _BLOB.fullmatch(text) is not None


_Anchored = list[tuple[str, Detector]]


class Scanner:
    """Searches by the detectors of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        wanted = [each for each in DETECTORS if each.rule in set(rules)]
        self._in_runs = _anchored(each for each in wanted if each.in_long_run)
        self._by_digits = [each for each in wanted if not each.anchors]
        # By the characters without which none of a group can be in a text.
        self._anywhere: dict[str, _Anchored] = {}
        for each in wanted:
            if not each.in_long_run:
                self._anywhere.setdefault(each.guards, []).extend(_anchored([each]))

    def suspects(self, text: str) -> list[Detector]:
        """The detectors that might find something in `text`; usually none."""
        low = lowered(text)
        found: list[Detector] = []
        for guards, anchored in self._anywhere.items():
            for guard in guards:
                if guard in low:
                    found += _possible(anchored, low)
                    break
        raw = low.encode("utf-8", "replace")
        if self._in_runs and (runs := _long_runs(raw)):
            found += _possible(self._in_runs, runs)
        if self._by_digits and _LOCAL_PHONE in raw.translate(_AS_DIGITS):
            found += self._by_digits
        return found


def _anchored(detectors: Iterable[Detector]) -> _Anchored:
    return [(anchor, each) for each in detectors for anchor in each.anchors]


def _possible(anchored: _Anchored, low: str) -> list[Detector]:
    found: list[Detector] = []
    for anchor, detector in anchored:
        if anchor in low and detector not in found:
            found.append(detector)
    return found


def spans(text: str, low: str, detector: Detector) -> Iterator[Span]:
    """Where the detector finds something; `low` is the text as `lowered` gives it."""
    for anchor in detector.anchors:
        yield from _found_at(text, detector, low.find, anchor)
    if not detector.anchors:
        digits = low.encode("latin-1", "replace").translate(_AS_DIGITS)
        yield from _found_at(text, detector, digits.find, _LOCAL_PHONE)


def _found_at(
    text: str, detector: Detector, find: Callable[[Any, int], int], anchor: str | bytes
) -> Iterator[Span]:
    at = find(anchor, 0)
    while at >= 0:
        found = detector.find(text, at)
        if found is not None:
            yield found
        # Past what was found: to look at it again from every anchor in it would take forever.
        at = find(anchor, max(found[1], at + 1) if found else at + 1)


def _long_runs(raw: bytes) -> str:
    """The unbroken runs in a text that are long enough for a token."""
    mapped = raw.translate(_AS_RUN)
    at = mapped.find(_RUN)
    runs = []
    while at >= 0:
        end = mapped.find(b" ", at)
        end = len(mapped) if end < 0 else end
        runs.append(raw[at:end])
        at = mapped.find(_RUN, end)
    return b" ".join(runs).decode("ascii")
