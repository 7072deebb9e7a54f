"""Allowed and blocked domains match whole labels, addresses and networks."""

import pytest
from helpers_web import failure, fetch, leading_to, reply, serve

BLOCKED = "{!r} is blocked by 'blocked_domains'. Use another source."
NOT_ALLOWED = "{!r} is not among the 'allowed_domains'. Use one of those."


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("example.com", "example.com", True),
        ("example.com", "EXAMPLE.com.", True),
        ("Example.COM.", "www.example.com", True),
        ("example.com", "badexample.com", False),
        ("example.com", "example.com.evil.test", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "example.com", False),
        ("b\u00fccher.example", "xn--bcher-kva.example", True),
        ("xn--bcher-kva.example", "B\u00dcCHER.example", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.0/8", "anything.example", True),
        ("10.0.0.0/8", "10.example", False),
        ("2600::/16", "anything.example", False),
    ],
)
async def test_a_pattern_allows_and_blocks_the_same_hosts(
    pattern: str, host: str, matches: bool
) -> None:
    async with serve(reply("page")) as server:
        url, resolver = server.url(host=host), leading_to("127.0.0.1")
        allowed = await fetch(url, resolver=resolver, allowed_domains=[pattern])
        blocked = await fetch(url, resolver=resolver, blocked_domains=[pattern])

    assert (allowed.success, blocked.success) == (matches, not matches)
    assert len(server.requests) == 1


async def test_the_refusals_name_the_host_and_the_list() -> None:
    allowed = await fetch("http://other.example/", allowed_domains=["example.com"])
    blocked = await fetch("http://www.example.com/", blocked_domains=["example.com"])

    assert failure(allowed) == ("refused", NOT_ALLOWED.format("other.example"))
    assert failure(blocked) == ("refused", BLOCKED.format("www.example.com"))


async def test_blocked_beats_allowed() -> None:
    lists = {"allowed_domains": ["example.com"], "blocked_domains": ["bad.example.com"]}

    result = await fetch("http://bad.example.com/", **lists)

    assert failure(result) == ("refused", BLOCKED.format("bad.example.com"))


async def test_a_name_is_blocked_if_one_of_its_addresses_is() -> None:
    resolver = leading_to("93.184.215.14", "93.184.215.15")

    result = await fetch(
        "http://a.example/", resolver=resolver, blocked_domains=["93.184.215.15/32"]
    )

    assert failure(result) == ("refused", BLOCKED.format("a.example"))


async def test_a_name_is_allowed_only_if_all_its_addresses_are() -> None:
    resolver = leading_to("93.184.215.14", "93.184.215.15")

    result = await fetch("http://a.example/", resolver=resolver, allowed_domains=["93.184.215.15"])

    assert failure(result) == ("refused", NOT_ALLOWED.format("a.example"))


async def test_a_name_that_cannot_be_allowed_is_not_even_looked_up() -> None:
    asked: list[str] = []

    async def resolve(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    await fetch("http://a.example/", resolver=resolve, allowed_domains=["b.example"])
    await fetch("http://a.example/", resolver=resolve, blocked_domains=["a.example"])

    assert asked == []


async def test_an_allowed_name_still_must_not_have_a_private_address() -> None:
    resolver = leading_to("10.0.0.1")

    result = await fetch("http://a.example/", resolver=resolver, allowed_domains=["a.example"])

    assert failure(result)[0] == "refused"


@pytest.mark.parametrize("addresses", [(), ("not an address",)])
async def test_a_name_without_usable_address_is_a_failed_result(addresses: tuple[str]) -> None:
    result = await fetch("http://a.example/", resolver=leading_to(*addresses))

    assert failure(result) == (
        "network",
        "No address was found for 'a.example'. Check the spelling and the network.",
    )


async def test_a_resolver_that_fails_is_a_failed_result() -> None:
    async def broken(host: str) -> list[str]:
        raise OSError("no network")

    assert failure(await fetch("http://a.example/", resolver=broken))[0] == "network"
