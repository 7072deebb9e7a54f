"""What does a session add to a call of a vendor's SDK, until the first word of the answer is there?

A server on a loopback socket answers both at once: a bare call of the SDK, and a turn of a session
with the bundled loop, context and provider. The calls take turns, so both meet the same machine.
"""

import asyncio
import json
from statistics import median
from time import perf_counter
from typing import Any

from amplifier_core import HookResult
from measure_turns import CONTINUE, opened

ROUNDS = 60
WARM_UP = 5
MODEL, PROMPT, ANSWER = "gpt-4.1", "go", "done"


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _answer() -> bytes:
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "i", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "r", "object": "response", "created_at": 0, "model": MODEL, "output": []}
    place = {"output_index": 0, "item_id": "i", "content_index": 0}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    return (
        _event("response.created", response=response)
        + _event("response.output_item.added", output_index=0, item={**item, "content": []})
        + _event("response.output_text.delta", **place, delta=ANSWER)
        + _event("response.output_item.done", output_index=0, item=item)
        + _event("response.completed", response=done)
    )


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    body = _answer()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n"
    try:
        while asked := await reader.readuntil(b"\r\n\r\n"):
            lines = asked.decode("latin-1").lower().split("\r\n")
            length = next((each for each in lines if each.startswith("content-length:")), ":0")
            await reader.readexactly(int(length.split(":")[1]))
            writer.write(f"{head}\r\n".encode() + body)
            await writer.drain()
    except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _bare(client: Any) -> float:
    started = perf_counter()
    async with await client.responses.create(model=MODEL, input=PROMPT, stream=True) as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                first = perf_counter() - started
    return first


async def first_chunk() -> dict[str, float]:
    """Milliseconds until the first chunk: of a turn, of a bare call, and the difference."""
    from openai import AsyncOpenAI

    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    config = {"api_key": "none", "base_url": url, "default_model": MODEL}
    session = await opened(
        {
            "session": {"orchestrator": "loop-streaming", "context": "context-simple"},
            "providers": [{"module": "provider-openai", "config": config}],
        }
    )
    shown = [0.0]

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        shown[0] = perf_counter()
        return CONTINUE

    session.coordinator.hooks.register("llm:stream_block_delta", listen, name="listener")
    turns, calls = [], []
    async with AsyncOpenAI(api_key="none", base_url=url) as client:
        for _ in range(WARM_UP + ROUNDS):
            calls.append(await _bare(client))
            await session.coordinator.get("context").clear()
            started = perf_counter()
            assert await session.execute(PROMPT) == ANSWER
            turns.append(shown[0] - started)
    await session.cleanup()
    server.close()
    turn, call = (median(each[WARM_UP:]) * 1000 for each in (turns, calls))
    return {"turn_ms": turn, "bare_ms": call, "over_ms": turn - call}
