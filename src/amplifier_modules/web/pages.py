"""Turns an HTML page into text that reads well: headings, lists, links, tables and code."""

from __future__ import annotations

import re
import time
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin

from amplifier_modules.web.failures import WebError
from amplifier_modules.web.outline import Mark, Outline

Attributes = list[tuple[str, str | None]]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NO_TEXT = _words("script style template svg math canvas iframe object audio video")
NOISE = NO_TEXT | _words("nav noscript select button textarea dialog")
MAY_BE_HIDDEN = _words("div section span aside")
LINES = _words("br tr li dt dd caption option legend")
BLOCKS = _words(
    "address article aside blockquote body details div dl fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr main p section summary table ul ol"
)
LONGEST_LINK = 1000
SLICE = 65536
MOST_RECOVERIES = 50
# Sections that only Office and XML know; some spellings make the parser raise.
_SECTION = re.compile(r"<!\[[^>]*>?")
_TAG = re.compile(r"<[^<>]*>")
_MARKUP = re.compile(r"<[a-zA-Z/!?]")


class _Link(NamedTuple):
    address: str
    start: Mark


def page_text(html: str, url: str, *, seconds: float, most: int) -> str:
    """The readable text of a page that was found at `url`.

    Menus, forms and the like are left out, unless there is nothing else.

    Raises:
        WebError: it takes longer than `seconds`, or is longer than `most` characters.
    """
    deadline = time.monotonic() + seconds
    cleaned = _SECTION.sub(" ", html)
    for unwanted in (NOISE, NO_TEXT):
        page = _Page(url, unwanted, most)
        text = _converted(cleaned, page, deadline)
        if text:
            break
    return "\n\n".join(part for part in (page.title, text) if part)


def _converted(html: str, page: _Page, deadline: float) -> str:
    try:
        _feed(page, html, deadline)
    except AssertionError:
        # The way in which the standard library's parser gives up on a page.
        return " ".join(unescape(_TAG.sub(" ", html)).split())
    return page.finished()


def _feed(page: _Page, html: str, deadline: float) -> None:
    # close() would scan a page of unclosed comments again for each of them. A construct that
    # the parser is stuck in is skipped instead, and what is still open at the end is dropped.
    for _ in range(MOST_RECOVERIES):
        for start in range(0, len(html), SLICE):
            if time.monotonic() > deadline:
                text = "The page takes too long to read. Use another source."
                raise WebError("timeout", text)
            page.feed(html[start : start + SLICE])
        html, page.rawdata = page.rawdata, ""
        if not _MARKUP.match(html):
            page.handle_data(unescape(html))
            return
        _, found, html = html.partition(">")
        if not found:
            return
    page.handle_data(unescape(_TAG.sub(" ", html)))


class _Page(HTMLParser):
    """Writes an outline while the parser walks through a page."""

    def __init__(self, url: str, unwanted: frozenset[str], most: int) -> None:
        super().__init__(convert_charrefs=True)
        self._base = url
        self._unwanted = unwanted
        self._out = Outline(most)
        self._skipped: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._verbatim: list[str] | None = None
        self._lists: list[int | None] = []
        self._link: _Link | None = None
        self._header_row = True

    def finished(self) -> str:
        if self._verbatim is not None:
            self._end_pre()
        return self._out.text()

    @property
    def title(self) -> str:
        title = " ".join("".join(self._title).split())
        return f"Title: {title}" if title else ""

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if self._skipped:
            if tag == self._skipped[0]:
                self._skipped.append(tag)
        elif tag in self._unwanted or (tag in MAY_BE_HIDDEN and _is_hidden(attrs)):
            self._skipped.append(tag)
        elif self._verbatim is None or tag == "pre":
            self._start(tag, dict(attrs))
        elif tag == "br":
            self._verbatim.append("\n")

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        # An empty `<div/>` opens a div in HTML; only what never has content may be skipped over.
        if tag not in self._unwanted:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag == self._skipped[0]:
                self._skipped.pop()
        elif self._verbatim is None:
            self._end(tag)
        elif tag == "pre":
            self._end_pre()

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._in_title:
            self._title.append(data)
        elif self._verbatim is not None:
            self._verbatim.append(data)
        else:
            self._out.add(data)

    def _start(self, tag: str, attrs: dict[str, str | None]) -> None:
        self._break(tag, nested=bool(self._lists))
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
            self._out.depth += 1
        elif tag == "blockquote":
            self._out.quotes += 1
        elif tag == "pre":
            self._verbatim = self._verbatim or []
        elif tag == "title":
            self._in_title = not self._title
        elif tag == "code":
            self._out.add("`")
        elif tag == "a":
            self._start_link(attrs.get("href"))
        else:
            self._start_other(tag, attrs)

    def _start_other(self, tag: str, attrs: dict[str, str | None]) -> None:
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._out.add("#" * int(tag[1]) + " ")
        elif tag == "li":
            self._out.start_item(self._next_marker())
        elif tag == "hr":
            self._out.add("---")
            self._out.end_block()
        elif tag == "tr":
            self._out.start_row()
            self._header_row = True
        elif tag in ("td", "th"):
            self._out.start_cell()
            self._header_row = self._header_row and tag == "th"
        elif tag == "img" and attrs.get("alt"):
            self._out.add(f"[image: {attrs['alt']}]")
        elif tag == "base" and attrs.get("href"):
            self._base = self._absolute(attrs["href"]) or self._base

    def _end(self, tag: str) -> None:
        if tag == "a":
            self._end_link()
        elif tag == "code":
            self._out.add("`")
        elif tag == "title":
            self._in_title = False
        elif tag in ("td", "th"):
            self._out.end_cell()
        elif tag == "tr":
            self._out.end_row(self._header_row)
        self._break(tag, nested=len(self._lists) > 1)
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
            self._out.depth -= 1
        elif tag == "blockquote" and self._out.quotes:
            self._out.quotes -= 1

    def _break(self, tag: str, nested: bool) -> None:
        if nested and tag in ("ul", "ol"):
            self._out.end_line()
        elif tag in BLOCKS:
            if tag == "table":
                self._out.leave_table()
            self._out.end_block()
        elif tag in LINES:
            self._out.end_line()

    def _end_pre(self) -> None:
        text, self._verbatim = "".join(self._verbatim or []), None
        if text.strip():
            self._out.verbatim(text)

    def _next_marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number + 1}. "

    def _start_link(self, href: str | None) -> None:
        self._end_link()
        address = self._absolute(href) if href and not href.startswith("#") else None
        self._link = _Link(address, self._out.mark()) if address else None

    def _end_link(self) -> None:
        link, self._link = self._link, None
        if link is None:
            return
        text = self._out.take_since(link.start)
        if text is None:
            self._out.add(f" ({link.address})")
        elif text.strip():
            self._out.add(f"[{text.strip()}]({link.address}){' ' * text.endswith(' ')}")

    def _absolute(self, href: str | None) -> str | None:
        """Where a link leads; None if that is nowhere on the web."""
        try:
            address = urljoin(self._base, (href or "").strip())
        except ValueError:
            return None
        is_web = address.startswith(("http://", "https://", "mailto:"))
        return address if is_web and len(address) <= LONGEST_LINK else None


def _is_hidden(attrs: Attributes) -> bool:
    return any(name == "hidden" or (name, text) == ("aria-hidden", "true") for name, text in attrs)
