"""Lists of hosts in the config: names with everything under them, addresses and networks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Self

from amplifier_modules.web.addresses import Address, Network
from amplifier_modules.web.failures import WebError
from amplifier_modules.web.targets import read_host


@dataclass(frozen=True)
class HostList:
    """Hosts by name or address.

    `example.com` stands for itself and all names under it, `*.example.com` only for those
    under it, `192.0.2.1` and `10.0.0.0/8` for addresses, also those that a name leads to.
    """

    domains: frozenset[str] = frozenset()
    parents: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, patterns: Iterable[str]) -> Self:
        """Raises ValueError for a pattern that is none."""
        domains, parents, networks = set(), set(), []
        for pattern in patterns:
            text = pattern.strip()
            network = _network(text)
            if network is not None:
                networks.append(network)
            elif text.startswith("*."):
                parents.add(_name(text[2:], pattern))
            else:
                domains.add(_name(text, pattern))
        return cls(frozenset(domains), frozenset(parents), tuple(networks))

    def __bool__(self) -> bool:
        return bool(self.domains or self.parents or self.networks)

    def names(self, host: str) -> bool:
        """Whether a host name is on the list."""
        labels = host.split(".")
        above = {".".join(labels[start:]) for start in range(1, len(labels))}
        return host in self.domains or not above.isdisjoint(self.domains | self.parents)

    def holds(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


NO_HOSTS = HostList()


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _name(text: str, pattern: str) -> str:
    try:
        return read_host(text)
    except WebError:
        raise ValueError(
            f"{pattern!r} is no host, address or network; write it like 'example.com', "
            "'*.example.com', '192.0.2.1' or '10.0.0.0/8', without scheme and port"
        ) from None
