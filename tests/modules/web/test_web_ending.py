"""Whatever ends a call, its connection is closed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from helpers_web import Server, failure, mounted, reply, serve


async def stalled() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbeginning"
    await asyncio.Event().wait()


async def start(coordinator: Any, server: Server) -> asyncio.Task[Any]:
    """A fetch that the server has received and does not finish."""
    execute = coordinator.get("tools", "web_fetch").execute({"url": server.url()})
    task = asyncio.create_task(execute)
    await server.asked.wait()
    return task


async def test_cancelling_the_call_closes_the_connection() -> None:
    async with asyncio.timeout(5), serve(stalled) as server, mounted() as coordinator:
        task = await start(coordinator, server)
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await server.hung_up.wait()


async def test_the_end_of_the_session_closes_the_connection_and_answers_the_call() -> None:
    async with asyncio.timeout(5), serve(stalled) as server:
        async with mounted() as coordinator:
            task = await start(coordinator, server)
        result = await task
        await server.hung_up.wait()

    assert failure(result) == ("network", "The session is closing. Nothing more is fetched.")


async def test_after_the_end_nothing_is_fetched() -> None:
    async with serve(stalled) as server:
        async with mounted() as coordinator:
            fetch = coordinator.get("tools", "web_fetch")
        result = await fetch.execute({"url": server.url()})

    assert failure(result) == ("network", "The session is closing. Nothing more is fetched.")
    assert server.requests == []


async def test_calls_side_by_side_do_not_disturb_each_other() -> None:
    async with asyncio.timeout(5), serve({"/": stalled, "/ok": reply("fine")}) as server:
        async with mounted() as coordinator:
            waiting = await start(coordinator, server)
            execute = coordinator.get("tools", "web_fetch").execute
            results = await asyncio.gather(*(execute({"url": server.url("/ok")}) for _ in "abc"))

            assert [result.output["content"] for result in results] == ["fine"] * 3
            assert not waiting.done()
        assert failure(await waiting)[0] == "network"
