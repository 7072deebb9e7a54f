"""Pages become text that reads like the page, whatever state their markup is in."""

import re

import pytest
from helpers_web import failure, fetch, reply, serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_modules.web.failures import WebError
from amplifier_modules.web.pages import page_text


def read(html: str, url: str = "https://site.example/docs/") -> str:
    return page_text(html, url, seconds=30, most=1_000_000)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one\n  two</p><p>three", "one two\n\nthree"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<h1>Top</h1><h3>Deep <b>er</b></h3>text", "# Top\n\n### Deep er\n\ntext"),
        ("<title>The\n title</title><p>text", "Title: The title\n\ntext"),
        ("<title>Only</title>", "Title: Only"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ("<ul><li>a<ol><li>x</ol><li>b</ul>", "- a\n  1. x\n- b"),
        ('see <a href="../b?c=1">this  page</a>.', "see [this page](https://site.example/b?c=1)."),
        ("<a href='#top'>up</a> <a href='javascript:x()'>go</a>", "up go"),
        ("<a href='/x'> </a><a>bare</a>", "bare"),
        ("<a href='/x'><div>card</div></a>", "card\n\n(https://site.example/x)"),
        ("<base href='https://other.example/'><a href=x>y</a>", "[y](https://other.example/x)"),
        ("<a href='http://[bad'>x</a>", "x"),
        ("use <code>a  b</code> now", "use `a b` now"),
        ("<pre>\n  a\n    b &lt; c\n</pre>after", "```\n  a\n    b < c\n```\n\nafter"),
        ("<pre><code>x<span>y</span><br>z</code></pre>", "```\nxy\nz\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre>open", "```\nopen\n```"),
        (
            "<table><tr><th>A<th>B</tr><tr><td>1</td><td>x<p>y</p></td></tr></table>",
            "A | B\n--- | ---\n1 | x y",
        ),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>z",
            "A | B\n--- | ---\n1 | 2\n\nz",
        ),
        ("<table><tr><td>out<table><tr><td>in</td></tr></table></table>", "out\n\nin"),
        ("<blockquote><p>a</p></blockquote>b", "> a\n\nb"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<img alt='a cat' src=x><img src=y>", "[image: a cat]"),
        ("<nav>menu</nav><p>text<script>var x</script><style>y</style>", "text"),
        ("<p>a<svg><title>icon</title></svg>b", "ab"),
        ("<div hidden>no</div><div aria-hidden=true>no<div>no</div></div>yes", "yes"),
        ("<nav>only menu</nav>", "only menu"),
        ("<nav><div>unclosed menu", "unclosed menu"),
        ("&eacute;&#233;&amp;&nope; &lt", "\u00e9\u00e9&&nope; <"),
        ("a<!-- no -->b<!-- open", "ab"),
        ("1 < 2 <3", "1 < 2 <3"),
        ("a<![if !x]>b<![endif]><![foo[c", "a b"),
        ('<a b="c",d="e">after a broken tag</a> x', "after a broken tag x"),
        ("", ""),
    ],
)
def test_markup_becomes_text(html: str, text: str) -> None:
    assert read(html) == text


markup = st.lists(
    st.sampled_from(
        re.findall(
            r"\S+",
            "<p> </p> <ul> <ol> <li> </ul> <pre> </pre> <a~href='/x'> </a> <table> <tr> <td> <th> "
            "</tr> </td> </table> <blockquote> </blockquote> <nav> </nav> <script> </script> "
            "<title> </title> <![ <![x[ <!-- --> <!x <? &amp &#1114112; &#xd800; </ < > \" '"
            "= / <code> <h1> <a~b='c',d> <base~href='http://['> <br/> <div~hidden> </div> \0 text",
        )
    )
    | st.text(max_size=5)
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(markup)
def test_no_markup_makes_it_fail(pieces: list[str]) -> None:
    text = read(" ".join(pieces).replace("~", " "))

    text.encode()


@pytest.mark.parametrize(
    "piece", ["<!--", "<![x[", "</", "&", "<ul><li>", "<div hidden>", "<a b='"]
)
def test_a_page_made_to_waste_time_does_not(piece: str) -> None:
    page_text(piece * 30_000, "https://site.example/", seconds=5, most=10_000_000)


def test_a_page_that_takes_too_long_is_left() -> None:
    with pytest.raises(WebError) as caught:
        page_text("<p>x", "https://site.example/", seconds=-1, most=100)

    assert failure(caught.value.as_result()) == (
        "timeout",
        "The page takes too long to read. Use another source.",
    )


async def test_a_page_whose_text_outgrows_it_is_refused() -> None:
    base = "<base href='https://site.example/" + "x" * 900 + "/'>"
    async with serve(reply(base + "<a href=y>z</a>" * 300, "text/html")) as server:
        result = await fetch(server.url(), max_bytes=100_000)

    assert failure(result)[0] == "too_large"


async def test_links_are_told_relative_to_where_the_page_was_found() -> None:
    async with serve(reply("<a href=next>n</a>", "application/xhtml+xml")) as server:
        result = await fetch(server.url())

    assert result.output["content"] == f"[n]({server.url('/next')})"
