"""Calls of a tool in another process, beside a bare call of the same server."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

from timing import us_per_await

SERVER = Path(__file__).with_name("echo_server.py")
TURNS = 3
SIZES = {"us": 100, "large_us": 100_000}


class Slots:
    """All of a coordinator that mounting a tool takes."""

    session_id = "benchmark"

    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}

    async def mount(self, point: str, module: Any, name: str) -> None:
        self.tools[name] = module


@contextlib.asynccontextmanager
async def echo_server() -> AsyncIterator[str]:
    server = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVER), stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    port = (await server.stdout.readline()).decode().strip().removeprefix("READY:")
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        await server.wait()


async def grpc_tool_call() -> dict[str, float]:
    """Microseconds of a call through the kernel, and of a bare one, turn and turn about."""
    import grpc
    from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
    from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
    from amplifier_core.loader_grpc import load_grpc_module

    figures: dict[str, float] = {}
    async with echo_server() as endpoint, grpc.aio.insecure_channel(endpoint) as channel:
        slots, meta = Slots(), {"module": {"type": "tool"}, "grpc": {"endpoint": endpoint}}
        mount = await load_grpc_module("tool-echo", {}, meta, slots)
        cleanup = await mount(slots)
        bare, execute = rpc.ToolServiceStub(channel).Execute, slots.tools["echo"].execute
        for name, size in SIZES.items():
            given = {"text": "x" * size}
            request = pb.ToolExecuteRequest(input=json.dumps(given).encode())

            async def call(given: dict[str, Any] = given) -> None:
                await execute(**given)

            turns = [
                (await us_per_await(call), await us_per_await(bare, request)) for _ in range(TURNS)
            ]
            figures[name] = median(ours for ours, _ in turns)
            figures[f"bare_{name}"] = median(theirs for _, theirs in turns)
        await cleanup()
    return figures
