"""web_search gives what an engine found, or says why there is nothing; it makes nothing up."""

import asyncio
import json
from typing import Any

import pytest
from helpers_web import failure, mounted, redirect, reply, search, serve

FOUND = {
    "results": [
        {"title": "One", "url": "https://one.example/", "content": "first", "engine": "x"},
        {"title": "Two", "url": "http://two.example/", "snippet": "second"},
        {"title": "No page"},
        {"title": "Bad page", "url": "javascript:alert(1)"},
        "nonsense",
        {"url": "https://three.example/", "title": None, "description": "third"},
    ]
}
RESULTS = [
    {"title": "One", "url": "https://one.example/", "snippet": "first"},
    {"title": "Two", "url": "http://two.example/", "snippet": "second"},
    {"title": "", "url": "https://three.example/", "snippet": "third"},
]
QUERY = "/search?q=two+w%C3%B6rds&format=json"


def as_json(found: Any) -> bytes:
    return reply(json.dumps(found), "application/json")


async def test_without_an_engine_the_error_says_what_to_set_up() -> None:
    assert failure(await search("anything")) == (
        "not_configured",
        "No search engine is set up. Set 'search_url' in the config of 'tool-web' to a SearXNG "
        "instance, or mount a module that offers the capability 'web.search_backend'.",
    )


async def test_results_of_the_engine_come_in_one_form() -> None:
    async with serve({QUERY: as_json(FOUND)}) as server:
        result = await search("two w\u00f6rds", search_url=server.url("/search"))

    assert result.success
    assert result.output == {"query": "two w\u00f6rds", "results": RESULTS, "count": 3}
    assert "Authorization" not in server.requests[0]


async def test_the_engine_may_be_named_and_its_address_may_have_a_query() -> None:
    async with serve({"/?lang=en&q=a&format=json": as_json(FOUND)}) as server:
        url = server.url("/?lang=en")
        result = await search("a", search_engine="json", search_url=url, max_results=2)

    assert result.output["results"] == RESULTS[:2]
    assert result.output["count"] == 2


async def test_halves_of_characters_in_results_are_replaced() -> None:
    odd = {"title": "a\ud800", "url": "https://one.example/\udfff", "content": "b\ud800"}
    async with serve({QUERY: as_json({"results": [odd]})}) as server:
        result = await search("two wörds", search_url=server.url("/search"))

    assert result.output["results"] == [
        {"title": "a?", "url": "https://one.example/?", "snippet": "b?"}
    ]


async def test_no_results_are_no_failure() -> None:
    async with serve({"/?q=a&format=json": as_json({"results": []})}) as server:
        result = await search("a", search_url=server.url())

    assert result.output == {"query": "a", "results": [], "count": 0}


@pytest.mark.parametrize(
    ("header", "line"),
    [("Authorization", "Authorization: Bearer s3cret"), ("X-Api-Key", "X-Api-Key: s3cret")],
)
async def test_the_key_travels_in_its_header(header: str, line: str) -> None:
    async with serve({"/?q=a&format=json": as_json(FOUND)}) as server:
        config = {"search_url": server.url(), "api_key": "s3cret", "api_key_header": header}
        assert (await search("a", **config)).success

    assert line in server.requests[0].split("\r\n")
    assert "s3cret" not in server.requests[0].split("\r\n")[0]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (
            reply("<html>", "text/html"),
            "search_failed",
            "The search engine's answer is not JSON. Check 'search_url'.",
        ),
        (
            as_json(["a"]),
            "search_failed",
            "The search engine's answer holds no list of results. Check 'search_url'.",
        ),
        (
            as_json({"results": {"title": "a"}}),
            "search_failed",
            "The search engine's answer holds no list of results. Check 'search_url'.",
        ),
        (reply("[" * 100_000, "application/json"), "search_failed", None),
        (reply("", status="403 Forbidden"), "http_status", None),
        (reply("", content_length="99"), "bad_response", None),
    ],
)
async def test_a_failure_of_the_engine_is_a_failed_result(
    answer: bytes, kind: str, text: str | None
) -> None:
    async with serve({"/?q=a&format=json": answer}) as server:
        found = failure(await search("a", search_url=server.url(), api_key="s3cret"))

    assert found[0] == kind
    assert text in (None, found[1])
    assert "s3cret" not in found[1]


async def test_a_redirect_does_not_carry_the_key_away() -> None:
    async with serve(as_json(FOUND)) as other, serve({}) as server:
        server.routes["/?q=a&format=json"] = redirect(other.url())
        result = await search("a", search_url=server.url(), api_key="s3cret")

    assert failure(result) == (
        "refused",
        "There were more than 0 redirects. Use the final address if it is known.",
    )
    assert other.requests == []


async def test_the_engine_may_be_private_though_pages_may_not() -> None:
    async with serve({"/?q=a&format=json": as_json(FOUND)}) as server:
        config = {"search_url": server.url(), "allow_private": False, "timeout": 5}
        async with mounted(**config) as coordinator:
            found = await coordinator.get("tools", "web_search").execute({"query": "a"})
            page = await coordinator.get("tools", "web_fetch").execute({"url": server.url()})

    assert found.success
    assert failure(page)[0] == "refused"


async def test_a_backend_of_another_module_wins_even_if_it_comes_later() -> None:
    asked: list[tuple[str, int]] = []

    async def backend(query: str, max_results: int) -> list[Any]:
        asked.append((query, max_results))
        return FOUND["results"]

    async with serve(as_json({"results": []})) as server:
        config = {"search_url": server.url(), "max_results": 3}
        result = await search("a", backend=backend, **config)

    assert result.output == {"query": "a", "results": RESULTS, "count": 3}
    assert asked == [("a", 3)]
    assert server.requests == []


async def test_a_backend_that_raises_is_a_failed_result_without_its_words() -> None:
    async def backend(query: str, max_results: int) -> list[Any]:
        raise RuntimeError("key s3cret was refused")

    assert failure(await search("a", backend=backend)) == (
        "search_failed",
        "The search failed with RuntimeError. Try again later.",
    )


async def test_a_backend_that_gives_no_list_is_a_failed_result() -> None:
    async def backend(query: str, max_results: int) -> Any:
        return {"results": []}

    assert failure(await search("a", backend=backend)) == (
        "search_failed",
        "The search backend gave no list of results. Check the module that offers it.",
    )


async def test_a_backend_that_hangs_is_under_the_time_limit() -> None:
    async def backend(query: str, max_results: int) -> list[Any]:
        await asyncio.Event().wait()
        return []

    assert failure(await search("a", backend=backend, timeout=0.1)) == (
        "timeout",
        "The search took longer than 0.1 seconds. Try again later.",
    )


async def test_a_timeout_of_the_backend_itself_is_told_apart_from_ours() -> None:
    async def backend(query: str, max_results: int) -> list[Any]:
        raise TimeoutError

    assert failure(await search("a", backend=backend)) == (
        "search_failed",
        "The search failed with TimeoutError. Try again later.",
    )


@pytest.mark.parametrize("query", [None, "", "  ", 5, ["a"]])
async def test_a_query_is_needed(query: Any) -> None:
    assert failure(await search(query)) == (
        "invalid_input",
        "'query' is missing. Pass the words to search for.",
    )


async def test_a_query_has_a_limit() -> None:
    assert failure(await search("x" * 2001)) == (
        "invalid_input",
        "'query' is longer than 2000 characters. Use fewer words.",
    )


async def test_cancelling_a_search_cancels_it() -> None:
    started = asyncio.Event()

    async def backend(query: str, max_results: int) -> list[Any]:
        started.set()
        await asyncio.Event().wait()
        return []

    async with asyncio.timeout(5):
        task = asyncio.create_task(search("a", backend=backend))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
