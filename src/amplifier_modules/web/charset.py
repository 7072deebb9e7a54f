"""Which characters the bytes of a page stand for."""

from __future__ import annotations

import codecs
import re

FALLBACK = "cp1252"
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Those that browsers know. Python has more, and some of them do not even yield text.
_KNOWN = re.compile(
    r"utf-8|utf-16(-[lb]e)?|cp(866|874|932|949|125[0-8])|koi8-[ru]|mac-(roman|cyrillic)|gbk|"
    r"gb18030|gb2312|big5(hkscs)?|euc_(jp|kr)|iso2022_jp|shift_jis|tis-620|iso8859-[0-9]+"
)
_IN_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
_IN_PAGE = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?([\w.:-]{1,40})|"""
    rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_PAGE_START = 2048


def to_text(body: bytes, content_type: str) -> str:
    """The text in `body`: by its byte order mark, the header, the page itself, or a guess."""
    for bom, name in _BOMS.items():
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace")
    name_given = _from_header(content_type) or _from_page(body)
    if name_given:
        return body.decode(name_given, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode(FALLBACK, "replace")


def _from_header(content_type: str) -> str | None:
    match = _IN_HEADER.search(content_type)
    return _codec(match[1]) if match else None


def _from_page(body: bytes) -> str | None:
    match = _IN_PAGE.search(body[:_PAGE_START])
    name = _codec((match[1] or match[2]).decode("ascii", "replace")) if match else None
    # A page that could be searched for ASCII is not written in UTF-16, whatever it says.
    return "utf-8" if name and name.startswith("utf-16") else name


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    # Pages that say Latin-1 or ASCII mean the larger Windows set.
    if name in ("iso8859-1", "ascii"):
        return FALLBACK
    return name if _KNOWN.fullmatch(name) else None
