"""Bytes and text: encodings, line endings, and reading some lines of a long file.

Text is UTF-8, with or without a byte order mark, or UTF-16 with one. Anything else is refused
rather than guessed at: a wrong guess would be written back.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

LONGEST_LINE = 2000
_PIECE = 1 << 16


class NotText(Exception):
    """The bytes are no text that we read; the message says what they are."""


class Encoding(NamedTuple):
    codec: str
    mark: bytes
    """The byte order mark at the start."""


PLAIN = Encoding("utf-8", b"")
_MARKED = (
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE),
)


def encoding_of(start: bytes) -> Encoding:
    """The encoding of a file that begins with `start`."""
    return next((each for each in _MARKED if start.startswith(each.mark)), PLAIN)


def decoded(content: bytes) -> tuple[str, Encoding]:
    """The text of a whole file, without its mark.

    Raises:
        NotText: it is binary or in another encoding.
    """
    encoding = encoding_of(content)
    return "".join(_text_pieces(iter([content]), encoding)), encoding


def encoded(text: str, encoding: Encoding) -> bytes:
    """The bytes of a file with this text.

    Raises:
        NotText: there are characters that no file can hold.
    """
    try:
        return encoding.mark + text.encode(encoding.codec)
    except UnicodeEncodeError as error:
        raise NotText(f"half of a surrogate pair at character {error.start}") from error


def _text_pieces(pieces: Iterator[bytes], encoding: Encoding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.codec)()
    before, skip = 0, len(encoding.mark)
    for piece in pieces:
        yield _piece(decoder, piece[skip:], before + skip, encoding)
        before, skip = before + len(piece), 0
    yield _piece(decoder, b"", before, encoding, final=True)


def _piece(
    decoder: codecs.IncrementalDecoder,
    piece: bytes,
    before: int,
    encoding: Encoding,
    final: bool = False,
) -> str:
    held = len(decoder.getstate()[0])
    try:
        text = decoder.decode(piece, final)
    except UnicodeDecodeError as error:
        if encoding.mark or b"\0" not in piece:
            place = max(before - held + error.start, 0)
            raise NotText(f"not {encoding.codec.upper()} text (byte {place})") from error
        raise NotText("binary") from error
    if "\0" in text:
        raise NotText("binary")
    return text


class Window(NamedTuple):
    """Some lines of a file, and what was learnt about the whole."""

    lines: list[str]
    total: int | None
    """Lines in the file; None if it was not read to the end."""
    digest: str | None
    """Of the whole content; None if it was not read to the end."""
    size: int
    """Bytes read."""


def read_window(file: BinaryIO, first: int, count: int, length: int, most: int) -> Window:
    """Lines `first` (from 1) and on, never with more in memory than these.

    A file of `length` bytes is read to its end if these are at most `most`. One that turns out
    to be longer than both, as it grows or never told, is not read any further.

    Raises:
        NotText: what was read is binary or in another encoding.
    """
    import hashlib  # late, because searches start often and need none

    digest, size = hashlib.sha256(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal size
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            yield piece

    start = file.read(4)
    file.seek(0)
    lines = _Lines(first, count)
    for text in _text_pieces(pieces(), encoding_of(start)):
        lines.feed(text)
        if (length > most and lines.is_full) or size > max(length, most):
            return Window(lines.kept, None, None, size)
    lines.finish()
    return Window(lines.kept, lines.ended, digest.hexdigest(), size)


class _Lines:
    """Takes text piece by piece and keeps the wanted lines, each cut to a bearable length."""

    def __init__(self, first: int, count: int) -> None:
        self._first, self._last = first, first + count - 1
        self.kept: list[str] = []
        self.ended = 0
        self._line = ""
        self._length = 0

    @property
    def is_full(self) -> bool:
        return self.ended >= self._last

    def feed(self, text: str) -> None:
        breaks = text.count("\n")
        if self.ended + breaks + 1 < self._first or self.is_full:
            self.ended += breaks
            tail = len(text) - text.rfind("\n") - 1
            self._line, self._length = "", tail if breaks else self._length + tail
            return
        head, *rest = text.split("\n")
        self._extend(head)
        for line in rest:
            self._end()
            self._extend(line)

    def finish(self) -> None:
        if self._length:
            self._end()

    def _extend(self, text: str) -> None:
        self._length += len(text)
        self._line += text[: LONGEST_LINE + 1 - len(self._line)]

    def _end(self) -> None:
        self.ended += 1
        if self._first <= self.ended <= self._last:
            self.kept.append(shortened(self._line, self._length))
        self._line, self._length = "", 0


def printable(name: str) -> str:
    """A file name for a message: bytes that are no text, which no JSON can carry, become `?`."""
    return name.encode("utf-8", "replace").decode()


def shortened(line: str, length: int | None = None) -> str:
    """A line without its end; a very long one (`length` if only its start is given) is cut."""
    length = len(line) if length is None else length
    if length == len(line):
        line = line.removesuffix("\r")
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]}... [cut after {LONGEST_LINE} of {length} characters]"


def with_endings_of(old: str, new: str) -> str:
    """`new` with the line endings of `old`, if that keeps to CRLF and `new` names none."""
    if "\r" in new or "\r\n" not in old or old.count("\n") != old.count("\r\n"):
        return new
    return new.replace("\n", "\r\n")


class TooLong(Exception):
    """What is asked for would not fit into memory or on a disk; the argument is its length."""


def replaced(text: str, old: str, new: str, most: int, longest: int) -> tuple[str, int]:
    """`text` with `old` replaced, and how often it occurs; over `most` times, unchanged.

    In a text with CRLF, a line break in `old` means either ending, and one in `new` becomes
    the ending of its surroundings. What is not replaced stays as it is.

    Raises:
        TooLong: the result would have more than `longest` characters.
    """
    if "\r\n" not in text:
        count = text.count(old)
        _check_length(text, old, new, count if count <= most else 0, longest)
        return (text.replace(old, new) if 0 < count <= most else text), count
    parts = old.replace("\r\n", "\n").split("\n")
    pattern = re.compile("\r?\n".join(re.escape(part) for part in parts))
    count = sum(1 for _ in pattern.finditer(text))
    if not 0 < count <= most:
        return text, count
    _check_length(text, old, new, count, longest)
    plain = new.replace("\r\n", "\n")
    usual = "\r\n" if 2 * text.count("\r\n") >= text.count("\n") else "\n"

    def put(match: re.Match[str]) -> str:
        found = match.group()
        ending = usual if "\n" not in found else "\r\n" if "\r\n" in found else "\n"
        return plain.replace("\n", ending)

    return pattern.sub(put, text), count


def _check_length(text: str, old: str, new: str, count: int, longest: int) -> None:
    length = len(text) + count * (len(new) - len(old))
    if count and length > max(longest, len(text)):
        raise TooLong(length)
