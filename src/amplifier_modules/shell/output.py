"""Keeps what a command prints: the beginning and the end, in bounded memory."""

from __future__ import annotations

from typing import NamedTuple

_SHARE = 0.4
"""The part of the limit that each end gets when the middle is left out."""
_LEAST_BY_LINES = 0.2
"""Whole lines that come to less than this part of the limit tell too little."""


class Printed(NamedTuple):
    """What one stream held, as text."""

    text: str
    total_bytes: int
    truncated: bool


class Capture:
    """One stream. However much is fed, it holds about twice the limit at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._share = int(limit * _SHARE)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def is_empty(self) -> bool:
        return self._total == 0

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        room = self._limit - len(self._head)
        if room > 0:
            self._head += data[:room]
        # One byte more than the share tells whether the tail begins with a whole line, and
        # take() may hold back a few.
        most = self._share + 4
        self._tail += data[-most:]
        if len(self._tail) > 2 * most:
            del self._tail[:-most]

    def printed(self) -> Printed:
        """All of it, or both ends with a note on what is left out between them."""
        if self._total <= self._limit:
            return Printed(_decoded(bytes(self._head)), self._total, False)
        head, tail = self._ends_by_line()
        if len(head) + len(tail) < self._limit * _LEAST_BY_LINES:
            head, tail = self._ends_by_byte()
        left_out = self._total - len(head) - len(tail)
        gap = "" if not head or head.endswith(b"\n") else "\n"
        marker = f"{gap}[... {left_out} bytes left out ...]\n"
        return Printed(_decoded(head) + marker + _decoded(tail), self._total, True)

    def take(self, *, final: bool) -> Printed:
        """What came since the last call; unless it is the final one, whole characters only."""
        held = b"" if final else _broken_end(bytes(self._tail))
        self._total -= len(held)
        del self._head[self._total :]
        del self._tail[len(self._tail) - len(held) :]
        taken = self.printed()
        self._head, self._tail, self._total = bytearray(), bytearray(), 0
        self.feed(held)
        return taken

    def _ends_by_line(self) -> tuple[bytes, bytes]:
        head = self._head[: self._head.rfind(b"\n", 0, self._share) + 1]
        last = self._tail[-(self._share + 1) :]
        start = last.find(b"\n") + 1
        return bytes(head), bytes(last[start:]) if start else b""

    def _ends_by_byte(self) -> tuple[bytes, bytes]:
        last = bytes(self._tail[-self._share :]) if self._share else b""
        first = bytes(self._head[: self._share])
        return first.removesuffix(_broken_end(first)), _without_broken_start(last)


def _broken_end(data: bytes) -> bytes:
    """The beginning of a UTF-8 character at the very end, if it is not a whole one."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 != 0b1000_0000:
            return data[-back:] if _character_length(byte) > back else b""
    return b""


def _character_length(lead: int) -> int:
    if lead >= 0b1111_0000:
        return 4
    if lead >= 0b1110_0000:
        return 3
    return 2 if lead >= 0b1100_0000 else 1


def _without_broken_start(data: bytes) -> bytes:
    for start in range(min(3, len(data))):
        if data[start] & 0b1100_0000 != 0b1000_0000:
            return data[start:]
    return data[3:]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
