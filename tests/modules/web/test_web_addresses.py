"""No spelling of an address, no name and no redirect leads web_fetch off the public internet."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

import pytest
from helpers_web import failure, fetch, leading_to, redirect, reply, serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SPECIAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
SPECIAL_V6 = [
    "::/96",
    "100::/64",
    "2001::/32",
    "2001:db8::/32",
    "2002::/16",
    "64:ff9b:1::/48",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def within(network: str) -> st.SearchStrategy[int]:
    found = ip_network(network)
    return st.integers(int(found[0]), int(found[-1]))


special_v4 = st.one_of([within(network) for network in SPECIAL]).map(IPv4Address)
special_v6 = st.one_of([within(network) for network in SPECIAL_V6]).map(IPv6Address)


def wrapped(network: str, address: IPv4Address, shift: int = 0) -> str:
    return str(IPv6Address(int(IPv6Network(network)[0]) | int(address) << shift))


def spellings(address: IPv4Address) -> list[str]:
    """Ways of writing an address that some program or other understands."""
    number, parts = int(address), str(address).split(".")
    wide = str(address).translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})
    return [
        str(address),
        f"{address}.",
        str(number),
        hex(number),
        hex(number).upper(),
        f"0{number:o}",
        ".".join(f"0{int(part):o}" for part in parts),
        ".".join(hex(int(part)) for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
        wide,
        str(address).replace(".", "\u3002"),
        "".join(f"%{ord(char):02x}" for char in str(address)),
        *(
            f"[{each}]"
            for each in (
                f"::ffff:{address}",
                f"::{address}",
                f"64:ff9b::{address}",
                wrapped("::ffff:0:0/96", address).upper(),
                wrapped("2002::/16", address, shift=80),
            )
        ),
    ]


@QUICK
@given(special_v4.flatmap(lambda address: st.sampled_from(spellings(address))))
async def test_every_spelling_of_a_special_address_is_refused(host: str) -> None:
    kind, text = failure(await fetch(f"http://{host}/", allow_private=False, timeout=1))

    assert kind in ("refused", "invalid_input"), text


@QUICK
@given(special_v6)
async def test_every_special_ipv6_address_is_refused(address: IPv6Address) -> None:
    kind, text = failure(await fetch(f"http://[{address}]/", allow_private=False, timeout=1))

    assert kind == "refused", text


@QUICK
@given(special_v4 | special_v6, st.integers(0, 2))
async def test_a_name_is_refused_if_any_of_its_addresses_is_special(
    address: IPv4Address | IPv6Address, place: int
) -> None:
    addresses = ["203.1.113.1", "2600::1"]
    addresses.insert(place, str(address))

    resolver = leading_to(*addresses)
    result = await fetch("http://name.example/", resolver=resolver, allow_private=False)

    assert failure(result)[0] == "refused"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("0.0.0.0", "local"),
        ("10.1.2.3", "private"),
        ("172.31.0.1", "private"),
        ("169.254.169.254", "link-local"),
        ("100.100.100.200", "carrier-shared"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("[::1]", "loopback"),
        ("[::]", "local"),
        ("[fd00:ec2::254]", "private"),
        ("[fe80::1]", "link-local"),
        ("[::ffff:10.0.0.1]", "private"),
        ("[64:ff9b::7f00:1]", "loopback"),
        ("[2002:7f00:1::]", "tunnel"),
        ("[4000::1]", "reserved"),
    ],
)
async def test_the_refusal_says_which_kind_of_address_it_is(address: str, kind: str) -> None:
    host = str(IPv6Address(address[1:-1])) if address.startswith("[") else address

    assert failure(await fetch(f"http://{address}/", allow_private=False)) == (
        "refused",
        f"{host!r} leads to a {kind} address, which is off limits. Add the host to "
        "'allow_private' in the config of 'tool-web' if that is meant.",
    )


async def test_localhost_is_refused_by_the_machines_own_resolver() -> None:
    kind, text = failure(await fetch("http://localhost./", allow_private=False))

    assert kind == "refused"
    assert text.startswith("'localhost' leads to a loopback address")


async def test_a_redirect_to_a_private_address_is_not_followed() -> None:
    async with (
        serve(reply("secret")) as inner,
        serve(redirect(inner.url(host="127.1.2.3"))) as outer,
    ):
        kind, text = failure(await fetch(outer.url()))

    assert kind == "refused"
    assert text.startswith("'127.1.2.3' leads to a loopback address")
    assert inner.requests == []


async def test_a_name_that_changes_its_address_after_the_check_gains_nothing() -> None:
    asked: list[str] = []

    async def rebinding(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.9.9.9"]

    async with serve(reply("from the checked address")) as server:
        url = server.url(host="rebind.example")
        result = await fetch(url, resolver=rebinding)

    assert result.output["content"] == "from the checked address"
    assert asked == ["rebind.example"]
    assert f"Host: rebind.example:{server.port}\r\n" in server.requests[0]


async def test_a_name_is_looked_up_and_checked_again_for_every_redirect() -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def rebinding(host: str) -> list[str]:
        return next(answers)

    async with serve(redirect("/again")) as server:
        kind, text = failure(await fetch(server.url(host="rebind.example"), resolver=rebinding))

    assert kind == "refused"
    assert text.startswith("'rebind.example' leads to a private address")
    assert len(server.requests) == 1


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(reply("direct")) as server, serve(reply("proxy")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        result = await fetch(server.url())

    assert result.output["content"] == "direct"
    assert proxy.requests == []


async def test_a_listed_host_may_have_a_private_address() -> None:
    async with serve(reply("intranet")) as server:
        url, resolver = server.url(host="wiki.corp.example"), leading_to("127.0.0.1")
        allowed = await fetch(url, resolver=resolver, allow_private=["corp.example"])
        other = await fetch(url, resolver=resolver, allow_private=["*.other.example"])

    assert allowed.output["content"] == "intranet"
    assert failure(other)[0] == "refused"


async def test_a_listed_network_may_be_visited() -> None:
    async with serve(reply("lab")) as server:
        result = await fetch(server.url(), allow_private=["127.0.0.0/8"])

    assert result.output["content"] == "lab"
