"""Serve a Python module over gRPC: `python -m amplifier_core.transports.serve MODULE`.

Prints `READY:<port>` when it can be called, or `ERROR:<why>`; all else goes to stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from .grpc.kernel_host import TokenCheck
from .serving.callers import Callers
from .serving.served import ServedModule
from .serving.services import add_services
from .serving.session import Kernel

_GRACE_SECONDS = 2.0
_UNLIMITED = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m amplifier_core.transports.serve")
    parser.description = "Serve a Python module over gRPC, to a session or to any other host."
    parser.add_argument("module", help="the module's id")
    parser.add_argument("--path", type=Path, help="its directory, if it is not installed")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=0, help="the port; 0 takes a free one")
    parser.add_argument("--config", default="{}", help="its config as JSON, until a host sends one")
    parser.add_argument(
        "--exit-with-stdin", action="store_true", help="end when stdin does, as hosts want it"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    # Stdout belongs to the handshake: what the module prints must not get between.
    handshake = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        config = json.loads(options.config)
        asyncio.run(_serve(options, config, handshake))
    except (ValueError, OSError, RuntimeError) as error:
        handshake.write(f"ERROR:{' '.join(str(error).split())}\n")
        return 1
    return 0


async def _serve(options: argparse.Namespace, config: dict[str, Any], handshake: Any) -> None:
    token = os.environ.pop("AMPLIFIER_AUTH_TOKEN", "")
    endpoint = os.environ.pop("AMPLIFIER_KERNEL_ENDPOINT", "")
    kernel = Kernel(endpoint, token) if endpoint else None
    module = ServedModule(options.module, options.path, config, kernel)
    callers = Callers()
    checks = [TokenCheck(token)] if token else []
    # Who started it with a session of its own lets it speak with that one alone.
    ways_back = [] if kernel is not None else [callers]
    server = grpc.aio.server(interceptors=[*checks, *ways_back], options=_UNLIMITED)
    add_services(module, server)
    port = server.add_insecure_port(f"{options.host}:{options.port}")
    await server.start()
    handshake.write(f"READY:{port}\n")
    await _until_told_to_stop(options.exit_with_stdin)
    await server.stop(_GRACE_SECONDS)
    await module.cleanup()
    await callers.close()
    if kernel is not None:
        await kernel.close()


async def _until_told_to_stop(watches_stdin: bool) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    if watches_stdin:
        loop.add_reader(0, _note_the_end, told)
    await told.wait()
    if watches_stdin:
        loop.remove_reader(0)


def _note_the_end(told: asyncio.Event) -> None:
    if not os.read(0, 4096):
        told.set()


if __name__ == "__main__":
    sys.exit(main())
