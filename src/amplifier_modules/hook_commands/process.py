"""Runs one command to its end, and nothing of it survives: neither processes nor pipes."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# A process that left its group may hold the outputs open; nobody waits longer for it.
_SECONDS_FOR_REST = 0.5
_SECONDS_TO_DIE = 5.0


class Finished(NamedTuple):
    """How a command ended and what it wrote, up to the limit."""

    exit_code: int
    stdout: str
    stderr: str
    too_long: bool
    """Whether there was more on stdout."""


class _Output(asyncio.Protocol):
    """Reads to the end, but keeps only so much."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.too_long = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        room = self._limit - len(self._kept)
        self._kept += data[:room]
        self.too_long = self.too_long or len(data) > room

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace")


async def run(
    command: str,
    told: bytes,
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
    limit: int,
) -> Finished:
    """Run `command` in a shell with `told` on its stdin.

    Raises:
        OSError: it cannot be started.
        TimeoutError: it took longer than `timeout` seconds; its process group is dead.
    """
    async with asyncio.timeout(timeout):
        out, err = _Output(limit), _Output(limit)
        with tempfile.TemporaryFile() as stdin:
            # A file cannot block us when the command does not read what it is told.
            stdin.write(told)
            stdin.seek(0)
            process, pipes = await _start(command, stdin.fileno(), out, err, folder, environment)
        try:
            exit_code = await process.wait()
        finally:
            await _end(process)
            try:
                await asyncio.wait([out.ended, err.ended], timeout=_SECONDS_FOR_REST)
            finally:
                for pipe in pipes:
                    pipe.close()
    return Finished(exit_code, out.text, err.text, out.too_long)


async def _start(
    command: str,
    stdin: int,
    out: _Output,
    err: _Output,
    folder: Path,
    environment: Mapping[str, str],
) -> tuple[asyncio.subprocess.Process, list[asyncio.BaseTransport]]:
    pipes: list[asyncio.BaseTransport] = []
    ends: list[int] = []
    try:
        for output in (out, err):
            reading, writing = os.pipe()
            ends.append(writing)
            pipes.append(await _connected(reading, output))
        process = await asyncio.create_subprocess_shell(
            command,
            stdin=stdin,
            stdout=ends[0],
            stderr=ends[1],
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except BaseException:
        for pipe in pipes:
            pipe.close()
        raise
    finally:
        for end in ends:
            os.close(end)
    return process, pipes


async def _connected(reading: int, output: _Output) -> asyncio.BaseTransport:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: output, os.fdopen(reading, "rb", 0))
    return transport


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the whole group; also what a command that is done has left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        await asyncio.shield(asyncio.wait_for(process.wait(), _SECONDS_TO_DIE))
