"""Which IP addresses belong to the public internet.

The tables are spelled out, because what the standard library calls private or global differs
between its versions. For IPv6 everything outside the one public block is refused, so that a
new kind of special address is refused before anyone has heard of it.
"""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SPECIAL_V4 = {
    IPv4Network(network): kind
    for network, kind in {
        "0.0.0.0/8": "local",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "carrier-shared",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "cloud-internal",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "documentation",
        "192.88.99.0/24": "reserved",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "benchmarking",
        "198.51.100.0/24": "documentation",
        "203.0.113.0/24": "documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
}
PUBLIC_V6 = IPv6Network("2000::/3")
SPECIAL_V6 = {
    IPv6Network(network): kind
    for network, kind in {
        "::/128": "local",
        "::1/128": "loopback",
        "2001::/23": "reserved",
        "2001:db8::/32": "documentation",
        "2002::/16": "tunnel",
        "3ffe::/16": "reserved",
        "3fff::/20": "documentation",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "ff00::/8": "multicast",
    }.items()
}
NAT64 = IPv6Network("64:ff9b::/96")


def read_address(text: str) -> Address:
    """The address that `text` stands for, an IPv4 one if it is only wrapped in IPv6.

    Raises:
        ValueError: it is no address.
    """
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def special_kind(address: Address) -> str | None:
    """What makes an address unfit for the public internet; None if nothing does."""
    if isinstance(address, IPv4Address):
        return next((kind for net, kind in SPECIAL_V4.items() if address in net), None)
    listed = next((kind for net, kind in SPECIAL_V6.items() if address in net), None)
    return listed or (None if address in PUBLIC_V6 else "reserved")
