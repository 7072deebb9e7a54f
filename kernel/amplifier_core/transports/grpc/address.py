"""Where a gRPC module is: the forms of an endpoint, and the channel that leads there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc

from ..settings import CallSettings

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")
_PORTS = {"http": 80, "https": 443}


class InvalidEndpoint(ValueError):
    """An endpoint that is written in no known form."""


@dataclass(frozen=True)
class Address:
    """A target as gRPC writes it."""

    target: str
    is_tls: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine is on the way."""
        host = self.target.rpartition(":")[0]
        return self.target.startswith("unix:") or host in _LOCAL_HOSTS


def parse_endpoint(text: str) -> Address:
    """The address in `host:port`, `http://...`, `https://...` or `unix:...`.

    Raises:
        InvalidEndpoint: it is none of these.
    """
    scheme, separator, _ = text.partition("://")
    if separator and scheme in _PORTS:
        return _from_url(text)
    if text.startswith(("unix:", "dns:", "ipv4:", "ipv6:")):
        return Address(text)
    host, _, port = text.rpartition(":")
    if not host or separator or not port.isdecimal():
        raise InvalidEndpoint(
            f"The endpoint {text!r} is none. Write it as `host:port`, `https://host:port` or "
            f"`unix:/path`."
        )
    return Address(text)


def _from_url(text: str) -> Address:
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except ValueError as error:
        raise InvalidEndpoint(f"The endpoint {text!r} is none: {error}. Correct it.") from error
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        raise InvalidEndpoint(
            f"The endpoint {text!r} has more than a host and a port. Write `https://host:port`."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Address(f"{host}:{port}", is_tls=parts.scheme == "https")


def open_channel(address: Address, settings: CallSettings, folder: Path) -> grpc.aio.Channel:
    """A channel to `address`; connects when first used."""
    options = channel_options(settings, is_local=address.is_local)
    if not address.is_tls:
        return grpc.aio.insecure_channel(address.target, options=options)
    credentials = grpc.ssl_channel_credentials(
        _read(folder, settings.ca), _read(folder, settings.key), _read(folder, settings.cert)
    )
    return grpc.aio.secure_channel(address.target, credentials, options=options)


def channel_options(settings: CallSettings, *, is_local: bool) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", int(settings.max_message_mb * 1024 * 1024)),
        ("grpc.max_send_message_length", -1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        # Sessions must not wait for each other's backoff.
        ("grpc.use_local_subchannel_pool", 1),
        # A connection that is gone then means a server that is gone, and its config with it.
        ("grpc.client_idle_timeout_ms", 2**31 - 1),
        ("grpc.enable_http_proxy", 0 if is_local else 1),
    ]


def _read(folder: Path, name: str | None) -> bytes | None:
    return None if name is None else (folder / os.path.expanduser(name)).read_bytes()
