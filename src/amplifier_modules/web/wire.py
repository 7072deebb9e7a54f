"""HTTP/1.1 as far as one GET per connection needs it.

Everything that the other side sends is bounded and checked. Nothing is forgiven that would
leave in doubt where a body ends.
"""

from __future__ import annotations

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from dataclasses import dataclass

from amplifier_modules.web.failures import bad_answer, too_large
from amplifier_modules.web.targets import Target

MOST_HEADER_LINES = 200
MOST_HEADER_BYTES = 65536
LONGEST_LINE = 16384
PIECE = 65536
USER_AGENT = "Amplifier/2 (tool-web)"
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: [^\r\n]*)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?", re.DOTALL)


@dataclass(frozen=True)
class Head:
    """Status and headers; names are lower-case, repeated ones are joined by a comma."""

    status: int
    headers: dict[str, str]

    def get(self, name: str) -> str:
        return self.headers.get(name, "")


def request_bytes(target: Target, headers: dict[str, str]) -> bytes:
    fields = {
        "Host": target.authority,
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "gzip, deflate",
        "Connection": "close",
        **headers,
    }
    lines = [f"GET {target.path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def read_head(reader: StreamReader) -> Head:
    """The head of the answer; interim answers (1xx) are skipped."""
    left = MOST_HEADER_BYTES
    while True:
        head, used = await _one_head(reader, left)
        left -= used
        if head.status >= 200:
            return head


async def _one_head(reader: StreamReader, most: int) -> tuple[Head, int]:
    first = await _line(reader)
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise bad_answer("does not begin like HTTP")
    used, headers = len(first), dict[str, str]()
    for _ in range(MOST_HEADER_LINES):
        line = await _line(reader)
        used += len(line) + 2
        if used > most:
            break
        if not line:
            return Head(int(match[1]), headers), used
        _add_header(headers, line)
    raise bad_answer("has too many headers")


def _add_header(headers: dict[str, str], line: bytes) -> None:
    name, colon, text = line.decode("latin-1").partition(":")
    if not colon or not name or name != name.strip():
        raise bad_answer("has a malformed header")
    key, value = name.lower(), text.strip(" \t")
    headers[key] = f"{headers[key]}, {value}" if key in headers else value


async def read_body(reader: StreamReader, head: Head, most: int) -> bytes:
    """The body as sent, at most `most` bytes of it.

    Raises:
        WebError: it is longer, shorter than announced, or badly framed.
    """
    coding = head.get("transfer-encoding").lower()
    if coding:
        if coding != "chunked":
            raise bad_answer("uses an unknown transfer encoding")
        return await _read_chunked(reader, most)
    if "content-length" in head.headers:
        length = _content_length(head.get("content-length"))
        if length > most:
            raise too_large(most)
        return await _read_exactly(reader, length)
    return await _read_to_end(reader, most)


def _content_length(text: str) -> int:
    # The same length may be given twice, by a proxy on the way; two lengths may not.
    lengths = {each.strip() for each in text.split(",")}
    length = lengths.pop()
    if lengths or not re.fullmatch(r"[0-9]{1,18}", length):
        raise bad_answer("has a malformed length")
    return int(length)


async def _read_exactly(reader: StreamReader, length: int) -> bytes:
    try:
        return await reader.readexactly(length)
    except IncompleteReadError:
        raise bad_answer("ended early") from None


async def _read_to_end(reader: StreamReader, most: int) -> bytes:
    body = bytearray()
    while piece := await reader.read(PIECE):
        body += piece
        if len(body) > most:
            raise too_large(most)
    return bytes(body)


async def _read_chunked(reader: StreamReader, most: int) -> bytes:
    body = bytearray()
    while size := await _chunk_size(reader):
        if len(body) + size > most:
            raise too_large(most)
        body += await _read_exactly(reader, size)
        if await _line(reader):
            raise bad_answer("has a malformed chunk")
    return bytes(body)


async def _chunk_size(reader: StreamReader) -> int:
    match = _CHUNK_SIZE.fullmatch(await _line(reader))
    if match is None:
        raise bad_answer("has a malformed chunk")
    return int(match[1], 16)


async def _line(reader: StreamReader) -> bytes:
    """One line without its end; an end without carriage return is put up with."""
    try:
        line = await reader.readuntil(b"\n")
    except IncompleteReadError:
        raise bad_answer("ended early") from None
    except LimitOverrunError:
        raise bad_answer("has a line without end") from None
    return line.removesuffix(b"\n").removesuffix(b"\r")
