"""Undoes content encodings, and stops before a small body becomes a huge one."""

from __future__ import annotations

import zlib

from amplifier_modules.web.failures import bad_answer, too_large

MOST_CODINGS = 2
MOST_MEMBERS = 100
_GZIP, _ZLIB, _RAW = 31, 15, -15


def decoded(body: bytes, content_encoding: str, most: int) -> bytes:
    """The body without its encodings, which are listed in the order they were applied.

    Raises:
        WebError: it is damaged, unknown, or becomes longer than `most` bytes.
    """
    codings = [each.strip().lower() for each in content_encoding.split(",")]
    codings = [each for each in codings if each not in ("", "identity")]
    if len(codings) > MOST_CODINGS:
        raise bad_answer("is compressed too many times")
    for coding in reversed(codings):
        body = _undo(coding, body, most) if body else body
    return body


def _undo(coding: str, body: bytes, most: int) -> bytes:
    try:
        if coding in ("gzip", "x-gzip"):
            return _gunzip(body, most)
        if coding == "deflate":
            return _inflate_deflate(body, most)
    except zlib.error:
        raise bad_answer("is damaged") from None
    raise bad_answer("is compressed in an unknown way")


def _gunzip(body: bytes, most: int) -> bytes:
    plain, members = b"", 0
    while body.startswith(b"\x1f\x8b") or not members:
        members += 1
        # Each member copies what follows it, so that very many would take very long.
        if members > MOST_MEMBERS:
            raise bad_answer("is compressed in too many parts")
        piece, body = _inflate(body, _GZIP, most - len(plain))
        plain += piece
    return plain


def _inflate_deflate(body: bytes, most: int) -> bytes:
    # The standard means zlib's format; some servers send the bare stream all the same.
    try:
        return _inflate(body, _ZLIB, most)[0]
    except zlib.error:
        return _inflate(body, _RAW, most)[0]


def _inflate(body: bytes, window: int, most: int) -> tuple[bytes, bytes]:
    """What a stream holds, and what follows it."""
    stream = zlib.decompressobj(window)
    plain = stream.decompress(body, most + 1)
    if len(plain) > most:
        raise too_large(most)
    if not stream.eof:
        raise bad_answer("is damaged")
    return plain, stream.unused_data
