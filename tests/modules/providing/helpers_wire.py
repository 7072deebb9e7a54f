"""A web server of our own on a loopback socket, and a mounted provider that talks to it."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.models import HookResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.providing.announcing import OWN_EVENTS

WAIT = 5.0
KEY = "sk-secret-0123456789"
QUICK = {
    "min_retry_delay": 0.001,
    "max_retry_delay": 1.0,
    "retry_jitter": False,
    "overloaded_delay_multiplier": 1.0,
    "connect_timeout": 2.0,
    "first_byte_timeout": 4.0,
    "idle_timeout": 4.0,
    "timeout": 4.0,
}
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


@dataclass
class Heard:
    """A request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


class Line:
    """The server's end of one connection."""

    def __init__(
        self, server: WireServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server, self.reader, self.writer = server, reader, writer

    async def head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        self.writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode())
        await self.writer.drain()

    async def chunk(self, part: bytes) -> None:
        if part:
            self.writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await self.writer.drain()

    async def until_hung_up(self) -> None:
        """Keep silent until the client closes the connection."""
        try:
            while await self.reader.read(1024):
                pass
        except ConnectionError:
            pass
        self.server.hung_up.set()

    def reset(self) -> None:
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Play = Callable[[Line], Awaitable[None]]


def answers(status: int, body: Any = b"", headers: dict[str, str] | None = None) -> Play:
    """One whole answer; anything but bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def play(line: Line) -> None:
        length = {"content-length": str(len(data))}
        await line.head(status, {**JSON, **length, **(headers or {})})
        line.writer.write(data)
        await line.writer.drain()

    return play


def streams(*parts: bytes, headers: dict[str, str] | None = None) -> Play:
    return _streaming(parts, lambda line: line.chunk(b""), headers, ends=True)


def resets_after(*parts: bytes) -> Play:
    async def reset(line: Line) -> None:
        # What was sent before a reset may be lost on the way; the client must have read it.
        await line.server.may_go_on.wait()
        line.reset()

    return _streaming(parts, reset)


def pauses(seconds: float, *parts: bytes) -> Play:
    """The first half, a pause, and the rest."""
    half = len(parts) // 2

    async def go_on(line: Line) -> None:
        await asyncio.sleep(seconds)
        for part in parts[half:]:
            await line.chunk(part)

    return _streaming(parts[:half], go_on, ends=True)


def stalls_after(*parts: bytes) -> Play:
    return _streaming(parts, Line.until_hung_up)


async def says_nothing(line: Line) -> None:
    await line.until_hung_up()


def _streaming(
    parts: tuple[bytes, ...],
    then: Play,
    headers: dict[str, str] | None = None,
    *,
    ends: bool = False,
) -> Play:
    async def play(line: Line) -> None:
        await line.head(200, {**SSE, "transfer-encoding": "chunked", **(headers or {})})
        for part in parts:
            await line.chunk(part)
        await then(line)
        if ends:
            line.writer.write(b"0\r\n\r\n")
            await line.writer.drain()

    return play


class WireServer:
    """Plays one play for each request, in order, and keeps what it heard."""

    def __init__(self) -> None:
        self.plays: list[Play] = []
        self.heard: list[Heard] = []
        self.busy = 0
        self.busiest = 0
        self.spoken_to = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.url = ""

    def will(self, *plays: Play) -> None:
        self.plays += plays

    @property
    def body(self) -> dict[str, Any]:
        return self.heard[-1].json

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heard = await _read(reader)
            if heard is None:
                self.hung_up.set()
            else:
                await self._play(heard, Line(self, reader, writer))
        except ConnectionError:
            self.hung_up.set()
        finally:
            writer.close()

    async def _play(self, heard: Heard, line: Line) -> None:
        self.heard.append(heard)
        self.spoken_to.set()
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            play = self.plays.pop(0) if self.plays else answers(418, {"error": "no play left"})
            await play(line)
        finally:
            self.busy -= 1


async def _read(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Heard(method, path, headers, body)


@asynccontextmanager
async def serving() -> AsyncIterator[WireServer]:
    wire = WireServer()
    listener = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        wire.may_go_on.set()
        listener.close()


def free_url() -> str:
    """An address on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


# -- providers -------------------------------------------------------------------------------


class Wire(Protocol):
    """How one vendor's API looks; each provider's tests have one.

    One whose vendor does not need a key has also `needs_key = False`.
    """

    module: str
    """The import name of the provider."""
    mount_name: str
    sdk: str
    extra: str
    key_variable: str
    model: str
    required: dict[str, Any]
    """What its config needs besides a key; nothing listens there."""
    lists_models: bool
    """Whether the vendor can be asked which models it has."""

    async def mount(self, coordinator: Any, config: dict[str, Any]) -> Any: ...

    def text(self, *fragments: str) -> list[bytes]:
        """The parts of a stream that says `fragments`, each in a delta of its own."""
        ...

    def whole(self, text: str) -> dict[str, Any]:
        """The same without streaming."""
        ...

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]: ...

    def nothing(self) -> list[bytes]:
        """An answer without any content."""
        ...

    def malformed(self) -> bytes:
        """An event that is none."""
        ...

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """The body of an error."""
        ...

    def models(self, *names: str) -> dict[str, Any]: ...


class Desk:
    """A mounted provider, the server behind it, and what its session was told."""

    def __init__(self, coordinator: MockCoordinator, provider: Any, cleanup: Any) -> None:
        self.coordinator, self.provider, self.cleanup = coordinator, provider, cleanup
        self.seen: list[tuple[str, dict[str, Any]]] = []
        for event in (LLM_REQUEST, LLM_RESPONSE, *OWN_EVENTS):
            coordinator.hooks.register(event, self._listen)

    async def _listen(self, event: str, data: dict[str, Any]) -> HookResult:
        self.seen.append((event, data))
        return HookResult(action="continue")

    def of(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.seen if name == event]

    async def ask(self, *messages: Any, **fields: Any) -> Any:
        async with asyncio.timeout(WAIT):
            return await self.provider.complete(asking(*messages, **fields))


@asynccontextmanager
async def desk(wire: Wire, server: WireServer, **config: Any) -> AsyncIterator[Desk]:
    coordinator = MockCoordinator()
    given = {"api_key": KEY, "base_url": server.url, "max_retries": 0, **QUICK, **config}
    cleanup = await wire.mount(coordinator, given)
    provider = coordinator.get("providers", wire.mount_name)
    # An import takes longer than most tests, and longer than some may wait.
    await provider.sdk.load()
    opened = Desk(coordinator, provider, cleanup)
    try:
        yield opened
    finally:
        await cleanup()


def asking(*messages: dict[str, Any] | str, **fields: Any) -> ChatRequest:
    given = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return ChatRequest(
        messages=[
            Message.model_validate(each) for each in given or [{"role": "user", "content": "Hi"}]
        ],
        **fields,
    )


def sse(event: str | None, data: Any) -> bytes:
    """One server-sent event."""
    written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {written}\n\n".encode()
