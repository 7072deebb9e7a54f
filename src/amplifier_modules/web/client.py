"""Fetches one address: checked, bounded in size, time and redirects, and leaving nothing open.

No proxy, cookie or stored login of the machine is ever used, whatever the environment says.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import StreamReader
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from amplifier_modules.web import wire
from amplifier_modules.web.failures import WebError
from amplifier_modules.web.guard import Guard, Resolver
from amplifier_modules.web.targets import Target

REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Limits:
    """How much one fetch may cost in all, redirects included."""

    seconds: float
    bytes: int
    redirects: int


@dataclass(frozen=True)
class Answer:
    """What a server sent with status 200; the body still has its content encoding."""

    target: Target
    head: wire.Head
    body: bytes


class Client:
    """Makes requests until it is closed; closing ends those that are under way."""

    def __init__(self, guard: Guard, limits: Limits, resolver: Callable[[], Resolver]) -> None:
        self._guard = guard
        self._limits = limits
        self._resolver = resolver
        self._running: set[asyncio.Task[Answer]] = set()
        self._closed = False
        self._tls: ssl.SSLContext | None = None

    async def get(self, target: Target, headers: dict[str, str]) -> Answer:
        """The answer to a GET of `target`, after redirects.

        Raises:
            WebError: it was refused, failed, or took too much of anything.
        """
        if self._closed:
            raise _closing()
        task = asyncio.create_task(self._get_in_time(target, headers))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._closed and not (current and current.cancelling()):
                raise _closing() from None
            raise

    async def close(self) -> None:
        self._closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _get_in_time(self, target: Target, headers: dict[str, str]) -> Answer:
        seconds = self._limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(target, headers)
        except TimeoutError:
            text = (
                f"{target.origin!r} took longer than {seconds:g} seconds. Try again later, or "
                "raise 'timeout' in the config of 'tool-web'."
            )
            raise WebError("timeout", text) from None

    async def _follow(self, target: Target, headers: dict[str, str]) -> Answer:
        for _ in range(self._limits.redirects + 1):
            found = await self._visit(target, headers)
            if isinstance(found, Answer):
                return found
            _check_redirect(target, found)
            target = found
        most = self._limits.redirects
        text = f"There were more than {most} redirects. Use the final address if it is known."
        raise WebError("refused", text)

    async def _visit(self, target: Target, headers: dict[str, str]) -> Answer | Target:
        """The answer, or where the server says to look instead."""
        addresses = await self._guard.admit(target, self._resolver())
        try:
            async with self._exchange(target, addresses, headers) as reader:
                head = await wire.read_head(reader)
                location = head.get("location")
                if head.status in REDIRECTS and location:
                    return target.follow(_utf8(location))
                if head.status != HTTPStatus.OK:
                    raise _bad_status(target, head.status)
                body = await wire.read_body(reader, head, self._limits.bytes)
        except OSError as error:
            text = f"The connection to {target.origin!r} broke. Try again later."
            raise WebError("network", text) from error
        return Answer(target, head, body)

    @asynccontextmanager
    async def _exchange(
        self, target: Target, addresses: list[str], headers: dict[str, str]
    ) -> AsyncIterator[StreamReader]:
        reader, writer = await self._connect(target, addresses)
        try:
            writer.write(wire.request_bytes(target, headers))
            await writer.drain()
            yield reader
        finally:
            # A polite close would wait for a peer that may never answer.
            writer.transport.abort()

    async def _connect(
        self, target: Target, addresses: list[str]
    ) -> tuple[StreamReader, asyncio.StreamWriter]:
        for address in addresses:
            try:
                # One address that swallows packets must not use up the time of the others.
                async with asyncio.timeout(self._limits.seconds / len(addresses)):
                    return await self._open(target, address)
            except ssl.SSLError as error:
                raise _insecure(target, error) from error
            except OSError:
                continue
        text = f"{target.origin!r} cannot be reached. Check the address and the network."
        raise WebError("network", text)

    async def _open(
        self, target: Target, address: str
    ) -> tuple[StreamReader, asyncio.StreamWriter]:
        limit = wire.LONGEST_LINE
        if target.scheme == "http":
            return await asyncio.open_connection(address, target.port, limit=limit)
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return await asyncio.open_connection(
            address, target.port, ssl=self._tls, server_hostname=target.host, limit=limit
        )


def _check_redirect(source: Target, target: Target) -> None:
    if source.scheme == "https" and target.scheme == "http":
        raise WebError(
            "refused",
            f"{source.origin!r} redirects to {target.origin!r}, which is not encrypted. Fetch "
            "that address directly if it is meant.",
        )


def _utf8(header: str) -> str:
    """A header as the UTF-8 that servers send in spite of the standard."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _bad_status(target: Target, status: int) -> WebError:
    known = {each.value: each.phrase for each in HTTPStatus}
    answer = f"{status} {known.get(status, '')}".strip()
    text = f"{target.origin!r} answered {answer!r}. Check the address or use another source."
    return WebError("http_status", text, status=status)


def _insecure(target: Target, error: ssl.SSLError) -> WebError:
    untrusted = isinstance(error, ssl.SSLCertVerificationError)
    reason = "its certificate is not trusted" if untrusted else "encryption failed"
    text = f"{target.origin!r} cannot be visited safely: {reason}. Use another source."
    return WebError("refused", text)


def _closing() -> WebError:
    return WebError("network", "The session is closing. Nothing more is fetched.")
