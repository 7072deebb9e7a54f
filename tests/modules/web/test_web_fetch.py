"""web_fetch: what it takes, what it gives, and how long texts come in parts."""

from typing import Any

import pytest
from helpers_web import failure, fetch, reply, serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ADVICE = "Pass a full address such as 'https://example.com/page'."


async def test_a_text_comes_with_everything_about_it() -> None:
    async with serve(reply("h\u00e9llo", "text/plain; charset=UTF-8")) as server:
        result = await fetch(server.url())

    assert result.success
    assert result.output == {
        "url": server.url(),
        "content": "h\u00e9llo",
        "content_type": "text/plain",
        "truncated": False,
        "total_bytes": 6,
        "offset": 0,
        "limit": 204800,
        "returned_bytes": 6,
    }


async def test_the_request_names_its_host_and_sends_no_credentials() -> None:
    async with serve({"/a%20b?q=%C3%BC&r=%2F": reply("ok")}) as server:
        result = await fetch(server.url("/a b?q=\u00fc&r=%2F#part"))

    assert result.success
    lines = server.requests[0].split("\r\n")
    assert lines[0] == "GET /a%20b?q=%C3%BC&r=%2F HTTP/1.1"
    names = {line.partition(":")[0] for line in lines[1:] if line}
    assert names == {"Host", "User-Agent", "Accept-Encoding", "Connection", "Accept"}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/", "only http and https are supported"),
        ("file:///etc/passwd", "only http and https are supported"),
        ("example.com", "only http and https are supported"),
        ("//example.com/", "only http and https are supported"),
        ("http://user:secret@example.com/", "it holds a user name or password"),
        ("http://example.com\\@127.0.0.1/", "it holds a user name or password"),
        ("http://127.0.0.1\\.example.com/", "its host is malformed"),
        ("http:///path", "its host is malformed"),
        ("http://a..b/", "its host is malformed"),
        ("http://a%2eb/", "its host is malformed"),
        ("http://a b/", "its host is malformed"),
        ("http://[::1]x/", "its host is malformed"),
        ("http://[fe80::1%25eth0]/", "its host is malformed"),
        ("http://[::1/", "it is malformed"),
        ("http://[:::]/", "its host is an unusual spelling of an IP address"),
        ("http://2130706433/", "its host is an unusual spelling of an IP address"),
        ("http://0x7f.1/", "its host is an unusual spelling of an IP address"),
        ("http://127.0.0.01/", "its host is an unusual spelling of an IP address"),
        ("http://a.example:0/", "its port is out of range"),
        ("http://a.example:65536/", "its port is out of range"),
        ("http://a.example:80a/", "its host is malformed"),
        ("http://a.example/\r\nHost: b", "it holds control characters"),
        ("ht\ttp://a.example/", "it holds control characters"),
        ("http://a.example/\ud800", "it is malformed"),
        ("http://a.example/" + "x" * 9000, "it is too long"),
    ],
)
async def test_an_address_that_can_be_misread_is_refused(url: str, reason: str) -> None:
    kind, text = failure(await fetch(url))

    assert kind == "invalid_input"
    # Newer versions of the standard library find some of these malformed as a whole.
    assert text in (
        f"The web address cannot be used: {reason}. {ADVICE}",
        f"The web address cannot be used: it is malformed. {ADVICE}",
    )
    assert "secret" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": None}, f"'url' is missing. {ADVICE}"),
        ({"url": " "}, f"'url' is missing. {ADVICE}"),
        ({"url": 5}, f"'url' is missing. {ADVICE}"),
        ({"offset": -1}, "'offset' must be a whole number, 0 or more. Pass such a one or none."),
        ({"limit": 0}, "'limit' must be a whole number, 1 or more. Pass such a one or none."),
        ({"limit": True}, "'limit' must be a whole number, 1 or more. Pass such a one or none."),
        ({"limit": "9"}, "'limit' must be a whole number, 1 or more. Pass such a one or none."),
    ],
)
async def test_wrong_arguments_are_answered_with_what_to_pass(
    arguments: dict[str, Any], message: str
) -> None:
    result = await fetch("http://a.example/", arguments=arguments)

    assert failure(result) == ("invalid_input", message)


async def test_offset_and_limit_cut_the_text_and_not_the_markup() -> None:
    page = "<html><script>" + "x" * 5000 + "</script><p>0123456789</p>"
    async with serve(reply(page, "text/html")) as server:
        first = (await fetch(server.url(), arguments={"limit": 4})).output
        second = (await fetch(server.url(), arguments={"offset": 4, "limit": 100})).output
        past = (await fetch(server.url(), arguments={"offset": 500})).output

    assert (first["content"], first["truncated"], first["total_bytes"]) == ("0123", True, 10)
    assert (first["returned_bytes"], first["limit"]) == (4, 4)
    assert (second["content"], second["truncated"], second["offset"]) == ("456789", False, 4)
    assert (past["content"], past["truncated"], past["returned_bytes"]) == ("", False, 0)


async def test_the_default_limit_holds_if_none_is_given() -> None:
    async with serve(reply("0123456789")) as server:
        output = (await fetch(server.url(), default_limit=3)).output

    assert (output["content"], output["limit"], output["truncated"]) == ("012", 3, True)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(alphabet="a\u00e9\u20ac\U0001f600\n", max_size=12), st.integers(1, 6))
async def test_parts_put_together_are_the_whole_text(text: str, limit: int) -> None:
    parts, offset = [], 0
    async with serve(reply(text, "text/plain; charset=utf-8")) as server:
        while True:
            arguments = {"offset": offset, "limit": limit}
            output = (await fetch(server.url(), arguments=arguments)).output
            parts.append(output["content"])
            offset += output["returned_bytes"]
            assert output["returned_bytes"] == len(output["content"].encode())
            if not output["truncated"]:
                break
            assert output["returned_bytes"] > 0

    assert "".join(parts) == text
    assert offset == output["total_bytes"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0", "image/png"),
        (b"text with\0null", "text/plain"),
    ],
)
async def test_what_is_no_text_is_refused_with_the_way_to_keep_it(
    body: bytes, content_type: str
) -> None:
    async with serve(reply(body, content_type)) as server:
        result = await fetch(server.url())

    assert failure(result) == (
        "not_text",
        f"The content is {content_type!r}, not text. Pass 'save_to_file' to keep it as a file.",
    )


@pytest.mark.parametrize("content_type", ["", "application/octet-stream"])
async def test_content_of_no_stated_type_is_text_if_it_looks_like_it(content_type: str) -> None:
    long = ("\u20ac" * 1000).encode()
    async with serve(
        {"/": reply(long, content_type), "/b": reply(b"\x7fELF\x01\x02", "")}
    ) as server:
        text = await fetch(server.url())
        binary = await fetch(server.url("/b"))

    assert text.output["content"] == "\u20ac" * 1000
    assert failure(binary)[0] == "not_text"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/vnd.api+json",
        "application/xml",
        "image/svg+xml",
        "text/csv",
        "application/javascript",
        "application/x-ndjson",
    ],
)
async def test_textual_types_are_returned_as_they_are(content_type: str) -> None:
    async with serve(reply("<a>  b</a>", content_type)) as server:
        output = (await fetch(server.url())).output

    assert (output["content"], output["content_type"]) == ("<a>  b</a>", content_type)


async def test_pages_stay_markup_if_the_config_says_so() -> None:
    async with serve(reply("<p>a</p>", "text/html")) as server:
        output = (await fetch(server.url(), extract_text=False)).output

    assert output["content"] == "<p>a</p>"


CHARSETS = [
    (b"caf\xe9", "text/plain; charset=ISO-8859-1", "caf\u00e9"),
    (b"\x93caf\xe9\x94", 'text/plain; charset="latin1"', "\u201ccaf\u00e9\u201d"),
    ("\u043f\u0440".encode("koi8-r"), "text/plain; Charset=KOI8-R", "\u043f\u0440"),
    ("\u65e5\u672c".encode("shift_jis"), "text/plain; charset=Shift_JIS", "\u65e5\u672c"),
    ("\ufeffcaf\u00e9".encode(), "text/plain; charset=latin1", "caf\u00e9"),
    ("\ufeffcaf\u00e9".encode("utf-16-le"), "text/plain", "caf\u00e9"),
    ("\ufeffcaf\u00e9".encode("utf-16-be"), "text/plain", "caf\u00e9"),
    ("caf\u00e9".encode(), "text/plain", "caf\u00e9"),
    (b"caf\xe9", "text/plain", "caf\u00e9"),
    (b"caf\xe9", "text/plain; charset=utf-8", "caf\ufffd"),
    ("caf\u00e9".encode(), "text/plain; charset=no-such-thing", "caf\u00e9"),
    ("caf\u00e9".encode(), "text/plain; charset=zip", "caf\u00e9"),
    (b"+AGE-", "text/plain; charset=utf-7", "+AGE-"),
    (b'<meta charset="koi8-r">\xd0', "text/html", "\u043f"),
    (b"<meta http-equiv=x content='text/html; charset=koi8-r'>\xd0", "text/html", "\u043f"),
    (b'<meta charset="koi8-r">caf\xc3\xa9', "text/html; charset=utf-8", "caf\u00e9"),
    (b'<meta charset="utf-16">caf\xc3\xa9', "text/html", "caf\u00e9"),
]


@pytest.mark.parametrize(("body", "content_type", "text"), CHARSETS)
async def test_the_charset_is_taken_from_mark_header_page_or_guess(
    body: bytes, content_type: str, text: str
) -> None:
    async with serve(reply(body, content_type)) as server:
        assert (await fetch(server.url())).output["content"] == text
