"""Web addresses, read so strictly that nobody can read them in another way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, cast
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from amplifier_modules.web.addresses import Address, read_address
from amplifier_modules.web.failures import WebError

MOST_CHARACTERS = 8192
PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(?P<port>[0-9]{0,5}))?")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")
_UNQUOTED = "/:@!$&'()*+,;=~-._%"


@dataclass(frozen=True)
class Target:
    """One address to visit, in canonical form."""

    scheme: Literal["http", "https"]
    host: str
    """A lower-case ASCII name without trailing dot, or an IP address without brackets."""
    port: int
    path: str
    """Path and query, as they go over the wire."""

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The address without path and query, which may hold secrets."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def address(self) -> Address | None:
        """The address, if the host is one and no name."""
        return read_address(self.host) if _is_address(self.host) else None

    def follow(self, location: str) -> Target:
        """Where a redirect from here leads."""
        try:
            joined = urljoin(self.url, location)
        except ValueError:
            raise _unreadable("it is malformed") from None
        return read_target(joined)


def read_target(url: str) -> Target:
    """The target that `url` names.

    Raises:
        WebError: it is no http(s) address, holds credentials, or can be read in several ways.
    """
    parts = _split(url.strip(" "))
    if parts.scheme not in PORTS:
        raise _unreadable("only http and https are supported")
    if "@" in parts.netloc:
        raise _unreadable("it holds a user name or password")
    match = _AUTHORITY.fullmatch(parts.netloc)
    if match is None:
        raise _unreadable("its host is malformed")
    port = int(match["port"] or PORTS[parts.scheme])
    if not 0 < port < 65536:
        raise _unreadable("its port is out of range")
    path = quote(parts.path or "/", safe=_UNQUOTED)
    query = f"?{quote(parts.query, safe=_UNQUOTED + '?')}" if parts.query else ""
    scheme = cast(Literal["http", "https"], parts.scheme)
    return Target(scheme, read_host(match["host"]), port, path + query)


def _split(url: str) -> SplitResult:
    if len(url) > MOST_CHARACTERS:
        raise _unreadable("it is too long")
    if _UNSAFE.search(url):
        raise _unreadable("it holds control characters")
    try:
        parts = urlsplit(url)
        url.encode()
    except ValueError:
        raise _unreadable("it is malformed") from None
    return parts


def read_host(text: str) -> str:
    """The canonical form of a host.

    Numbers other than the plain four (`127.1`, `0x7f000001`, `0177.0.0.1`) are refused: some
    programs read them as addresses, and not all of them as the same one.
    """
    if text.startswith("["):
        return str(_address(text[1:-1], IPv6Address))
    try:
        name = text.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        raise _unreadable("its host is malformed") from None
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return str(_address(name, IPv4Address))
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise _unreadable("its host is malformed")
    return name


def _address(text: str, kind: type[Address]) -> Address:
    try:
        return kind(text)
    except ValueError:
        raise _unreadable("its host is an unusual spelling of an IP address") from None


def _is_address(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def _unreadable(reason: str) -> WebError:
    advice = "Pass a full address such as 'https://example.com/page'."
    return WebError("invalid_input", f"The web address cannot be used: {reason}. {advice}")
