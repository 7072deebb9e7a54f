"""Decides which hosts may be visited, and at which of their addresses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from amplifier_modules.web.addresses import Address, read_address, special_kind
from amplifier_modules.web.failures import WebError
from amplifier_modules.web.hosts import NO_HOSTS, HostList
from amplifier_modules.web.targets import Target

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the addresses of a host name."""


async def system_resolver(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in found]


@dataclass(frozen=True)
class Guard:
    """The rules for every single connection, also those that redirects ask for."""

    allowed: HostList = NO_HOSTS
    """If empty, every public host."""
    blocked: HostList = NO_HOSTS
    private: HostList = NO_HOSTS
    """Hosts whose addresses need not be public."""

    async def admit(self, target: Target, resolve: Resolver) -> list[str]:
        """The addresses at which `target` may be visited.

        They are looked up here and nowhere else: whoever connects uses these very addresses,
        so that a name cannot lead elsewhere a moment later.

        Raises:
            WebError: the host has no address, or one of its addresses is off limits.
        """
        self._check_name(target)
        texts = await _lookup(target, resolve)
        addresses = _read_all(target, texts)
        if any(self.blocked.holds(address) for address in addresses):
            raise _blocked(target)
        self._check_allowed(target, addresses)
        for address in addresses:
            self._check_public(target, address)
        return texts

    def _check_name(self, target: Target) -> None:
        if self.blocked.names(target.host):
            raise _blocked(target)
        # A name that no rule can admit is not looked up: even the question would tell something.
        if self.allowed and not self.allowed.networks and not self.allowed.names(target.host):
            raise _not_allowed(target)

    def _check_allowed(self, target: Target, addresses: list[Address]) -> None:
        if not self.allowed or self.allowed.names(target.host):
            return
        if not all(self.allowed.holds(address) for address in addresses):
            raise _not_allowed(target)

    def _check_public(self, target: Target, address: Address) -> None:
        kind = special_kind(address)
        if kind and not self.private.names(target.host) and not self.private.holds(address):
            raise WebError(
                "refused",
                f"{target.host!r} leads to a {kind} address, which is off limits. Add the host "
                "to 'allow_private' in the config of 'tool-web' if that is meant.",
            )


async def _lookup(target: Target, resolve: Resolver) -> list[str]:
    if target.address is not None:
        return [target.host]
    try:
        return list(dict.fromkeys(await resolve(target.host)))
    except (OSError, UnicodeError) as error:
        raise _unknown(target) from error


def _read_all(target: Target, texts: list[str]) -> list[Address]:
    try:
        addresses = [read_address(text) for text in texts]
    except ValueError as error:
        raise _unknown(target) from error
    if not addresses:
        raise _unknown(target)
    return addresses


def _blocked(target: Target) -> WebError:
    text = f"{target.host!r} is blocked by 'blocked_domains'. Use another source."
    return WebError("refused", text)


def _not_allowed(target: Target) -> WebError:
    text = f"{target.host!r} is not among the 'allowed_domains'. Use one of those."
    return WebError("refused", text)


def _unknown(target: Target) -> WebError:
    text = f"No address was found for {target.host!r}. Check the spelling and the network."
    return WebError("network", text)
