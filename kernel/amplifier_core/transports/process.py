"""A module's own process: started with little, watched, and never left behind.

It says `READY:<port>` on a line of its stdout when it can be called, or `ERROR:<why>`;
everything else that it prints is read and put into the log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .settings import ProcessSettings

logger = logging.getLogger("amplifier_core.sidecar")

_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_HARMLESS = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_HARMLESS_PREFIX = "LC_"
_LAST_LINES = 5
_LONGEST_LINE = 300
_CHUNK = 64 * 1024


class ProcessFailed(RuntimeError):
    """A module's process did not come up."""


class ModuleProcess:
    """One run of a program; `start` it once, and `stop` it whatever happens."""

    def __init__(
        self, module_id: str, command: Sequence[str], settings: ProcessSettings, folder: Path | None
    ) -> None:
        self.module_id = module_id
        self._command = list(command)
        self._settings = settings
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._greeting: asyncio.Future[str] | None = None
        self._said: deque[str] = deque(maxlen=_LAST_LINES)

    async def exit_code(self, patience: float) -> int | None:
        """How it ended, if it did or does within `patience` seconds."""
        assert self._process is not None
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait([ended], timeout=patience)
        finally:
            ended.cancel()
        return self._process.returncode

    # -- starting ---------------------------------------------------------------------

    async def start(self, environment: Mapping[str, str]) -> int:
        """The port on which it serves.

        Raises:
            ProcessFailed: it ended, reported an error, or said nothing in time.
        """
        self._greeting = asyncio.get_running_loop().create_future()
        try:
            await self._spawn(environment)
            async with asyncio.timeout(self._settings.start_timeout):
                return _port(self.module_id, await self._greeting)
        except TimeoutError:
            await self.stop()
            raise ProcessFailed(
                f"The process of module {self.module_id!r} did not send READY within "
                f"{self._settings.start_timeout:g} s.{self._last_words()} "
                f"Let it print `READY:<port>` once it serves, or raise `start_timeout`."
            ) from None
        except BaseException:
            await self.stop()
            raise

    async def _spawn(self, environment: Mapping[str, str]) -> None:
        launcher = [sys.executable, "-I", "-S", _LAUNCHER, str(os.getpid())]
        self._process = await asyncio.create_subprocess_exec(
            *launcher,
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(environment),
            cwd=self._folder,
            start_new_session=True,
        )
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            asyncio.create_task(self._read_greeting(process.stdout)),
            asyncio.create_task(self._drain(process.stderr, b"")),
        ]

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        wanted = {*_HARMLESS, *self._settings.env}
        return {
            **{
                name: value
                for name, value in os.environ.items()
                if name in wanted or name.startswith(_HARMLESS_PREFIX)
            },
            "AMPLIFIER_PYTHON": sys.executable,
            **own,
        }

    async def _read_greeting(self, stream: asyncio.StreamReader) -> None:
        """Look for the line that says how it went; then drain the rest."""
        assert self._greeting is not None
        pending = b""
        while not self._greeting.done():
            chunk = await stream.read(_CHUNK)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                self._hear(line)
            pending = pending[-_CHUNK:]
        else:
            await self._drain(stream, pending)
        if not self._greeting.done():
            self._hear(pending)
        if not self._greeting.done():
            code = await self.exit_code(1.0)
            ending = "closed its output" if code is None else f"exited early with code {code}"
            text = f"The process of module {self.module_id!r} {ending} without READY."
            self._greeting.set_exception(
                ProcessFailed(f"{text}{self._last_words()} Run it by hand to see why.")
            )

    def _hear(self, line: bytes) -> None:
        text = line.decode(errors="replace").strip()
        assert self._greeting is not None
        if text.startswith(("READY:", "ERROR:")) and not self._greeting.done():
            self._greeting.set_result(text)
        elif text:
            self._note(text)

    async def _drain(self, stream: asyncio.StreamReader, pending: bytes) -> None:
        """Read all that it prints, so that it never waits for a reader."""
        while chunk := await stream.read(_CHUNK):
            *lines, pending = (pending + chunk).split(b"\n")
            pending = pending[-_CHUNK:]
            for line in lines[-_LAST_LINES:]:
                self._note(line.decode(errors="replace").strip())

    def _note(self, text: str) -> None:
        if text:
            self._said.append(text[:_LONGEST_LINE])
            logger.debug("%s: %s", self.module_id, text[:_LONGEST_LINE])

    def _last_words(self) -> str:
        return f" It last printed {self._said[-1]!r}." if self._said else ""

    # -- stopping ---------------------------------------------------------------------

    async def stop(self) -> None:
        """End it and all of its group: asked by TERM, then made to by KILL."""
        process = self._process
        if process is None:
            return
        try:
            self._signal(signal.SIGTERM)
            if process.stdin is not None:
                process.stdin.close()
            await self.exit_code(self._settings.stop_timeout)
        finally:
            self._signal(signal.SIGKILL)
            await asyncio.shield(self._finish(process))

    async def _finish(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        if self._greeting is not None and self._greeting.done():
            with suppress(BaseException):
                self._greeting.exception()
        # Its pipes would otherwise stay open until the garbage collector comes by.
        transport = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _port(module_id: str, greeting: str) -> int:
    word, _, rest = greeting.partition(":")
    if word == "ERROR":
        reason = rest.strip().rstrip(".") or "it gives no reason"
        raise ProcessFailed(f"Module {module_id!r} could not start: {reason}.")
    if not rest.strip().isdecimal() or not 0 < int(rest) < 65536:
        raise ProcessFailed(
            f"The process of module {module_id!r} sent a malformed READY ({greeting[:80]!r}). "
            f"Let it print `READY:<port>`."
        )
    return int(rest)
