"""Servers on loopback that do as they are told, and tools that may visit them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from amplifier_core import ToolResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.web import tool

CERTIFICATE = Path(__file__).parent / "self_signed.pem"
Reply = bytes | Callable[[], AsyncIterator[bytes]]


def reply(
    body: bytes | str = b"",
    content_type: str = "text/plain",
    status: str = "200 OK",
    **headers: str,
) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    fields = {"content_type": content_type, "content_length": str(len(data)), **headers}
    lines = [f"{name.replace('_', '-')}: {text}" for name, text in fields.items() if text]
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""])
    return head.encode("latin-1") + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return reply(status=status, location=location)


class Server:
    """Answers each path with its reply, and remembers who asked for what."""

    def __init__(self, routes: dict[str, Reply], tls: bool) -> None:
        self.routes = routes
        self.scheme = "https" if tls else "http"
        self.port = 0
        self.requests: list[str] = []
        self.asked = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.tasks: set[asyncio.Task[Any]] = set()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.track(asyncio.current_task())
        sending = None
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(request)
            sending = asyncio.create_task(self._send(request.split(" ")[1], writer))
            self.track(sending)
            self.asked.set()
            # Clients send nothing more, so this waits until they go.
            await reader.read()
        if sending is not None:
            sending.cancel()
        writer.transport.abort()
        self.hung_up.set()

    def track(self, task: asyncio.Task[Any] | None) -> None:
        assert task is not None
        self.tasks.add(task)

    async def _send(self, path: str, writer: asyncio.StreamWriter) -> None:
        answer = self.routes.get(path, reply(status="404 Not Found"))
        with suppress(OSError):
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                async for piece in answer():
                    writer.write(piece)
                    await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
            else:
                writer.close()


@asynccontextmanager
async def serve(
    routes: dict[str, Reply] | Reply, *, tls: bool = False, sni: list[str] | None = None
) -> AsyncIterator[Server]:
    server = Server(routes if isinstance(routes, dict) else {"/": routes}, tls)
    context = _context(sni) if tls else None
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in server.tasks:
            task.cancel()
        await asyncio.gather(*server.tasks, return_exceptions=True)


def _context(names: list[str] | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    def note(_socket: object, name: str | None, _context: ssl.SSLContext) -> None:
        if names is not None:
            names.append(name or "")

    context.sni_callback = note
    return context


@asynccontextmanager
async def mounted(**config: Any) -> AsyncIterator[MockCoordinator]:
    """tool-web in a coordinator; loopback is allowed unless the config says otherwise."""
    coordinator = MockCoordinator()
    settings = {"allow_private": ["127.0.0.1"], "timeout": 5, **config}
    cleanup = await tool.mount(coordinator, settings)
    try:
        yield coordinator
    finally:
        await cleanup()


async def fetch(
    url: str,
    *,
    resolver: Any = None,
    arguments: dict[str, Any] | None = None,
    **config: Any,
) -> ToolResult:
    """What one call of web_fetch answers."""
    async with mounted(**config) as coordinator, asyncio.timeout(10):
        if resolver is not None:
            coordinator.register_capability("web.resolver", resolver)
        web_fetch = coordinator.get("tools", "web_fetch")
        result: ToolResult = await web_fetch.execute({"url": url, **(arguments or {})})
        return result


async def search(query: Any, *, backend: Any = None, **config: Any) -> ToolResult:
    """What one call of web_search answers."""
    async with mounted(**config) as coordinator, asyncio.timeout(10):
        if backend is not None:
            coordinator.register_capability("web.search_backend", backend)
        result: ToolResult = await coordinator.get("tools", "web_search").execute({"query": query})
        return result


def failure(result: ToolResult) -> tuple[str, str]:
    """Kind and text of a failed result."""
    assert not result.success, result.output
    assert result.error is not None
    assert result.output == result.error["message"]
    return result.error["type"], result.error["message"]


def leading_to(*addresses: str) -> Callable[[str], Any]:
    """A resolver that gives the same addresses for every name."""

    async def resolve(host: str) -> list[str]:
        return list(addresses)

    return resolve
