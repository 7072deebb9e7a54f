"""From the body of an answer to text, whole or in parts."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from amplifier_modules.web.charset import to_text
from amplifier_modules.web.client import Answer, Limits
from amplifier_modules.web.compression import decoded
from amplifier_modules.web.pages import page_text

PAGES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_ENDINGS = ("json", "+json", "xml", "+xml", "javascript", "ecmascript", "yaml", "toml", "sql")
TEXT_NAMES = ("application/x-sh", "application/x-ndjson", "application/x-www-form-urlencoded")
UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_START = 2048
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Document:
    """A fetched document: as it came, and its text if it has one."""

    media_type: str
    data: bytes
    """What saving it writes."""
    text: str | None


def read_document(answer: Answer, limits: Limits, extract_text: bool) -> Document:
    """What an answer holds. Takes its time on large ones, so let a thread do it.

    Raises:
        WebError: its body is damaged or becomes too large.
    """
    body = decoded(answer.body, answer.head.get("content-encoding"), limits.bytes)
    content_type = answer.head.get("content-type")
    media_type = content_type.partition(";")[0].strip().lower()
    if not _is_text(media_type, body):
        return Document(media_type or "application/octet-stream", body, None)
    text = to_text(body, content_type)
    if "\0" in text:
        return Document(media_type or "application/octet-stream", body, None)
    if media_type in PAGES and extract_text:
        url, seconds = answer.target.url, limits.seconds
        text = page_text(text, url, seconds=seconds, most=limits.bytes)
        body = text.encode()
    return Document(media_type or "text/plain", body, text)


def _is_text(media_type: str, body: bytes) -> bool:
    if media_type in UNTOLD:
        return _looks_like_text(body[:_START])
    return (
        media_type.startswith("text/")
        or media_type.endswith(TEXT_ENDINGS)
        or media_type in TEXT_NAMES
        or media_type in PAGES
    )


def _looks_like_text(start: bytes) -> bool:
    # Incremental, because the last character may go on after the part that is looked at.
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not _CONTROLS.search(text)


@dataclass(frozen=True)
class Part:
    """A part of a text, cut between characters; sizes count bytes of UTF-8."""

    content: str
    size: int
    total: int
    truncated: bool


def part_of(text: str, offset: int, limit: int) -> Part:
    """At most `limit` bytes from `offset` on, but one whole character at least.

    Going on at `offset` plus the size of each part gives the whole text.
    """
    data = text.encode()
    start = _boundary(data, offset)
    end = _boundary(data, start + limit)
    if end == start < len(data):
        end = _next_boundary(data, start)
    return Part(data[start:end].decode(), end - start, len(data), end < len(data))


def _boundary(data: bytes, index: int) -> int:
    """The last place at or before `index` where a character begins."""
    index = min(index, len(data))
    while index < len(data) and data[index] & 0xC0 == 0x80:
        index -= 1
    return index


def _next_boundary(data: bytes, index: int) -> int:
    index += 1
    while index < len(data) and data[index] & 0xC0 == 0x80:
        index += 1
    return index
