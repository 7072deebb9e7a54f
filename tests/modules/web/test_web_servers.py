"""Servers that misbehave: each gets a bounded amount of patience and one clear sentence."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from helpers_web import CERTIFICATE, Reply, failure, fetch, leading_to, redirect, reply, serve

LATER = "Try again later or use another source."


async def endless() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    while True:
        yield b"x" * 10_000


async def dripping() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.01)


async def silent() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def endless_interim() -> AsyncIterator[bytes]:
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100


def chunked(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + body


def raw(*lines: str) -> bytes:
    return "\r\n".join([*lines, ""]).encode("latin-1")


BOMB = gzip.compress(b"0" * 50_000_000)

BROKEN: dict[str, tuple[Reply, str]] = {
    "no HTTP": (b"SSH-2.0-OpenSSH_9\r\n", "does not begin like HTTP"),
    "HTTP/2": (b"HTTP/2 200 OK\r\n\r\n", "does not begin like HTTP"),
    "nothing": (b"", "ended early"),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Ty", "ended early"),
    "endless header": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "has a line without end"),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500, "has too many headers"),
    "large headers": (
        b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 9000 + b"\r\n") * 9,
        "has too many headers",
    ),
    "interim answers": (endless_interim, "has too many headers"),
    "no colon": (raw("HTTP/1.1 200 OK", "nonsense", ""), "has a malformed header"),
    "space before colon": (
        raw("HTTP/1.1 200 OK", "Content-Length : 3", ""),
        "has a malformed header",
    ),
    "body too short": (reply("abc", content_length="10"), "ended early"),
    "length is a word": (reply("abc", content_length="three"), "has a malformed length"),
    "length is negative": (reply("abc", content_length="-3"), "has a malformed length"),
    "two lengths": (reply("abc", content_length="3, 4"), "has a malformed length"),
    "unknown transfer": (
        reply("abc", content_length="", transfer_encoding="gzip, chunked"),
        "uses an unknown transfer encoding",
    ),
    "bad chunk size": (chunked(b"zz\r\nabc\r\n0\r\n\r\n"), "has a malformed chunk"),
    "negative chunk": (chunked(b"-1\r\nabc\r\n0\r\n\r\n"), "has a malformed chunk"),
    "long chunk": (chunked(b"2\r\nabc\r\n0\r\n\r\n"), "has a malformed chunk"),
    "cut chunk": (chunked(b"5\r\nab"), "ended early"),
    "no last chunk": (chunked(b"2\r\nab\r\n"), "ended early"),
    "not gzip": (reply("abc", content_encoding="gzip"), "is damaged"),
    "cut gzip": (reply(gzip.compress(b"abc" * 99)[:-9], content_encoding="gzip"), "is damaged"),
    "brotli": (reply("abc", content_encoding="br"), "is compressed in an unknown way"),
    "thrice": (reply("abc", content_encoding="gzip, gzip, gzip"), "is compressed too many times"),
    "many members": (
        reply(gzip.compress(b"") * 500, content_encoding="gzip"),
        "is compressed in too many parts",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_answer_is_a_failed_result(name: str) -> None:
    answer, problem = BROKEN[name]
    async with serve(answer) as server:
        result = await fetch(server.url())

    assert failure(result) == ("bad_response", f"The server's answer {problem}. {LATER}")


@pytest.mark.parametrize(
    "answer",
    [
        endless,
        reply("x" * 2000),
        reply("", content_length="999999999999"),
        chunked(b"400\r\n" + b"x" * 1024 + b"\r\n400\r\n"),
        chunked(b"ffffffffffffff\r\n"),
        reply(gzip.compress(gzip.compress(b"0" * 9_000_000)), content_encoding="gzip, gzip"),
        reply(zlib.compress(b"0" * 5_000_000)[:900], content_encoding="deflate"),
    ],
    ids=["endless", "long", "announced", "chunks", "huge chunk", "bomb in bomb", "deflate"],
)
async def test_a_body_over_the_size_limit_is_not_read_to_its_end(answer: Reply) -> None:
    async with serve(answer) as server:
        result = await fetch(server.url(), max_bytes=1500)
        async with asyncio.timeout(5):
            await server.hung_up.wait()

    assert failure(result) == (
        "too_large",
        "The content is larger than 1500 bytes. Look for a smaller page, or raise 'max_bytes' in "
        "the config of 'tool-web'.",
    )


async def test_a_small_body_that_unpacks_to_a_huge_one_is_never_unpacked_whole() -> None:
    async with serve(reply(BOMB, content_encoding="gzip")) as server:
        tracemalloc.start()
        result = await fetch(server.url(), max_bytes=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert len(BOMB) < 100_000
    assert failure(result)[0] == "too_large"
    assert peak < 10_000_000


@pytest.mark.parametrize("answer", [dripping, silent])
async def test_the_time_limit_is_for_the_whole_request(answer: Reply) -> None:
    async with serve(answer) as server:
        result = await fetch(server.url(), timeout=0.2)
        async with asyncio.timeout(5):
            await server.hung_up.wait()

    assert failure(result) == (
        "timeout",
        f"'http://127.0.0.1:{server.port}' took longer than 0.2 seconds. Try again later, or "
        "raise 'timeout' in the config of 'tool-web'.",
    )


async def test_a_resolver_that_hangs_is_under_the_time_limit() -> None:
    async def hang(host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    assert failure(await fetch("http://a.example/", resolver=hang, timeout=0.1))[0] == "timeout"


async def test_a_redirect_loop_ends_at_the_limit() -> None:
    async with serve({"/": redirect("/b"), "/b": redirect("/")}) as server:
        result = await fetch(server.url(), max_redirects=3)

    assert failure(result) == (
        "refused",
        "There were more than 3 redirects. Use the final address if it is known.",
    )
    assert len(server.requests) == 4


@pytest.mark.parametrize("location", ["file:///etc/passwd", "gopher://a.example/", "javascript:x"])
async def test_a_redirect_to_another_scheme_is_refused(location: str) -> None:
    async with serve(redirect(location)) as server:
        kind, text = failure(await fetch(server.url()))

    assert kind == "invalid_input"
    assert "only http and https are supported" in text


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temp", "308 Perm"])
async def test_redirects_are_followed_and_the_final_address_is_told(status: str) -> None:
    routes: dict[str, Reply] = {"/": redirect("sub/p\u00e4ge?x=1#part", status)}
    routes["/sub/p%C3%A4ge?x=1"] = reply("here")
    async with serve(routes) as server:
        result = await fetch(server.url())

    assert result.output["content"] == "here"
    assert result.output["url"] == server.url()
    assert result.output["final_url"] == server.url("/sub/p%C3%A4ge?x=1")


@pytest.mark.parametrize(
    ("status", "named"),
    [
        ("404 Gone fishing", "404 Not Found"),
        ("500 Oops", "500 Internal Server Error"),
        ("204 Empty", "204 No Content"),
        ("302 Nowhere", "302 Found"),
        ("799 Odd", "799"),
    ],
)
async def test_any_status_but_200_is_a_failed_result_with_the_status(
    status: str, named: str
) -> None:
    async with serve(reply("body", status=status)) as server:
        result = await fetch(server.url("/") + "#token")

    assert failure(result) == (
        "http_status",
        f"'http://127.0.0.1:{server.port}' answered {named!r}. Check the address or use another "
        "source.",
    )
    assert result.error is not None
    assert result.error["status"] == int(status[:3])


async def test_a_port_that_nobody_listens_on_is_a_failed_result() -> None:
    async with serve(b"") as server:
        port = server.port

    assert failure(await fetch(f"http://127.0.0.1:{port}/")) == (
        "network",
        f"'http://127.0.0.1:{port}' cannot be reached. Check the address and the network.",
    )


async def test_the_next_address_is_tried_if_one_does_not_answer() -> None:
    async with serve(reply("second")) as server:
        resolver = leading_to("127.0.0.2", "127.0.0.1")
        result = await fetch(
            server.url(host="two.example"), resolver=resolver, allow_private=["two.example"]
        )

    assert result.output["content"] == "second"


@pytest.mark.parametrize(
    "answer",
    [
        reply("hello"),
        reply("hello", content_length="5, 5"),
        reply("hello and more", content_length="5"),
        reply("hello", content_length=""),
        chunked(b"2\r\nhe\r\n3;name=value\r\nllo\r\n0\r\nTrailer: x\r\n\r\n"),
        b"HTTP/1.0 200\nContent-Type: text/plain\n\nhello",
        b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + reply("hello"),
        reply(gzip.compress(b"hello"), content_encoding="GZIP"),
        reply(gzip.compress(b"he") + gzip.compress(b"llo"), content_encoding="gzip"),
        reply(gzip.compress(b"hello") + b"\0\0", content_encoding="gzip"),
        reply(zlib.compress(b"hello"), content_encoding="deflate"),
        reply(zlib.compress(b"hello", wbits=-15), content_encoding="deflate"),
        reply(zlib.compress(gzip.compress(b"hello")), content_encoding="gzip, deflate"),
    ],
)
async def test_unusual_but_sound_answers_are_read(answer: bytes) -> None:
    async with serve(answer) as server:
        result = await fetch(server.url())

    assert result.output["content"] == "hello"


async def test_an_empty_body_is_empty_content_whatever_its_encoding() -> None:
    async with serve(reply("", content_encoding="gzip")) as server:
        result = await fetch(server.url())

    assert (result.output["content"], result.output["total_bytes"]) == ("", 0)


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with serve(reply("secret"), tls=True) as server:
        result = await fetch(server.url())

    assert failure(result) == (
        "refused",
        f"'https://127.0.0.1:{server.port}' cannot be visited safely: its certificate is not "
        "trusted. Use another source.",
    )
    assert server.requests == []


async def test_a_server_that_does_not_encrypt_is_refused_on_https() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        result = await fetch(origin)

    assert failure(result) == (
        "refused",
        f"{origin!r} cannot be visited safely: encryption failed. Use another source.",
    )


async def test_https_asks_for_the_name_at_the_checked_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    names: list[str] = []
    async with serve(reply("secure"), tls=True, sni=names) as server:
        resolver = leading_to("127.0.0.1")
        result = await fetch(server.url(host="site.test"), resolver=resolver)
        wrong = await fetch(server.url(host="other.test"), resolver=resolver)

    assert result.output["content"] == "secure"
    assert names == ["site.test", "other.test"]
    assert "its certificate is not trusted" in failure(wrong)[1]


async def test_a_redirect_away_from_encryption_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    async with serve(redirect("http://site.test/?token=1"), tls=True) as server:
        url = server.url(host="site.test")
        result = await fetch(url, resolver=leading_to("127.0.0.1"))

    assert failure(result) == (
        "refused",
        f"'https://site.test:{server.port}' redirects to 'http://site.test', which is not "
        "encrypted. Fetch that address directly if it is meant.",
    )
