"""Runs one shell command from its start to the end of the last process that it started."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import uuid4

from amplifier_modules.shell.output import Capture
from amplifier_modules.shell.process_tree import Family

GRACE_SECONDS = 0.5
_LAST_WAIT_SECONDS = 5.0
_POLL_SECONDS = 0.01
_LEASH_FROM = 240
"""Scripts pick low numbers for descriptors of their own."""
_LONGEST_PATH = 8192

Cause = Literal["exit", "timeout", "stopped"]
T = TypeVar("T")


class Ending(NamedTuple):
    """How a command ended."""

    returncode: int | None
    """Negative for a signal, as in `subprocess`; None if even SIGKILL did not end it."""
    cause: Cause
    limit: float | None
    """The seconds it was given."""
    stragglers: int
    """Processes that were still running after the shell, and were killed."""
    folder: str | None
    """Where the shell was at its end, if it could say."""


class _Pipe(asyncio.Protocol):
    """Feeds what comes through one pipe to a capture."""

    def __init__(self, capture: Capture, on_news: Callable[[], None]) -> None:
        self.capture = capture
        self.closed = asyncio.get_running_loop().create_future()
        self._on_news = on_news
        self._transport: asyncio.BaseTransport | None = None
        self.inode = 0

    async def open(self) -> int:
        """Begin to read; gives the descriptor to write to."""
        read_end, write_end = os.pipe()
        self.inode = os.fstat(read_end).st_ino
        file = FileIO(read_end, "rb")
        try:
            await asyncio.get_running_loop().connect_read_pipe(lambda: self, file)
        except BaseException:
            file.close()
            os.close(write_end)
            raise
        return write_end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.capture.feed(data)
        self._on_news()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class ShellCommand:
    """One command. `launch()` it, then `finish()` it: nothing it started outlives that."""

    def __init__(self, bash: str, command: str, limit: int) -> None:
        self._bash = bash
        self._command = command
        self.news = asyncio.Event()
        """Set when there is output that nobody has seen."""
        self.stdout = _Pipe(Capture(limit), self.news.set)
        self.stderr = _Pipe(Capture(limit), self.news.set)
        # Every descendant inherits it: the shell reports its folder, and its closing says
        # that nobody is left.
        self._leash = _Pipe(Capture(_LONGEST_PATH), lambda: None)
        self._process: asyncio.subprocess.Process | None = None
        self._family: Family | None = None
        self._stop = asyncio.Event()

    @property
    def pid(self) -> int:
        return self._started.pid

    @property
    def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("The command has not been launched. Call launch() first.")
        return self._process

    async def launch(self, folder: str, environ: Mapping[str, str]) -> None:
        """Start the shell.

        Raises:
            OSError: it cannot be started.
        """
        try:
            await to_the_end(self._launch(folder, environ))
        except BaseException:
            await to_the_end(self._tear_down("stopped"))
            raise

    async def _launch(self, folder: str, environ: Mapping[str, str]) -> None:
        # Not at the top: this file is imported on Windows too, to say what is missing there.
        import fcntl

        mark = f"AMPLIFIER_BASH_{uuid4().hex}"
        with ExitStack() as ours:
            ends = []
            for pipe in (self.stdout, self.stderr, self._leash):
                ends.append(await pipe.open())
                ours.callback(os.close, ends[-1])
            leash = fcntl.fcntl(ends[2], fcntl.F_DUPFD_CLOEXEC, _LEASH_FROM)
            ours.callback(os.close, leash)
            self._process = await asyncio.create_subprocess_exec(
                *self._argv(leash),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=ends[0],
                stderr=ends[1],
                cwd=folder,
                env={**environ, "PWD": folder, mark: "1"},
                start_new_session=True,
                pass_fds=(leash,),
            )
        self._family = Family(self._process.pid, mark)

    def _argv(self, leash: int) -> Sequence[str]:
        # On the first line, so that line numbers in the shell's messages are right.
        return (self._bash, "-c", f"trap 'builtin pwd >&{leash}' EXIT; {self._command}")

    def stop(self) -> None:
        """Ask for the end; `finish()` sees to it."""
        self._stop.set()

    async def finish(self, timeout: float | None) -> Ending:
        """Wait for the end and clean up, also when the waiting is cancelled."""
        cause: Cause = "stopped"
        try:
            cause = await self._ended(timeout)
        finally:
            returncode = await to_the_end(self._tear_down(cause))
        stragglers = self._family.stragglers if self._family is not None else 0
        folder = self._leash.capture.printed().text.removesuffix("\n") or None
        return Ending(returncode, cause, timeout, stragglers, folder)

    async def _ended(self, timeout: float | None) -> Cause:
        exit = asyncio.ensure_future(self._started.wait())
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((exit, stop), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if exit.done():
                return "exit"
            return "stopped" if stop.done() else "timeout"
        finally:
            exit.cancel()
            stop.cancel()

    async def _tear_down(self, cause: Cause) -> int | None:
        pipes = (self.stdout, self.stderr, self._leash)
        try:
            if self._process is None or self._family is None:
                return None
            if cause == "exit":
                # What runs in a process substitution may still have something to say.
                await _closed(pipes, GRACE_SECONDS)
            else:
                await self._ask_to_end(self._family)
            await self._family.kill()
            if not await _closed(pipes, GRACE_SECONDS):
                self._family.kill_holders([pipe.inode for pipe in pipes])
                await _closed(pipes, GRACE_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _LAST_WAIT_SECONDS)
            return self._process.returncode
        finally:
            for pipe in pipes:
                pipe.close()

    async def _ask_to_end(self, family: Family) -> None:
        family.look()
        family.signal_group(signal.SIGTERM)
        for _ in range(round(GRACE_SECONDS / _POLL_SECONDS)):
            if family.group_is_gone():
                return
            await asyncio.sleep(_POLL_SECONDS)


async def _closed(pipes: Sequence[_Pipe], timeout: float) -> bool:
    waiting = [pipe.closed for pipe in pipes]
    _, pending = await asyncio.wait(waiting, timeout=timeout)
    return not pending


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` even if the running task is cancelled meanwhile; raise that afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()
