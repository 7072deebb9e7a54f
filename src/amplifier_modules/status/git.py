"""Asks git what it knows without letting a repository run anything.

A repository's own config can name programs: file system monitors, hooks, filters, signature
checkers, ways to fetch what is missing. It was not written by the user, so none of them runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from asyncio.subprocess import Process
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

MOST_BYTES = 256 * 1024
OLDEST_VERSION = (2, 31)
"""The first that takes config from the environment, which filters are switched off with."""

_SECONDS_TO_DIE = 1.0
_CHUNK = 64 * 1024
_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "color.ui": "false",
    "log.showSignature": "false",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_SURROUNDINGS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_OURS = ("system", "global", "command")
_VERSION = re.compile(rb"(\d+)\.(\d+)")


class Git:
    """One git program, asked about one folder."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self._config = dict(_HARMLESS)

    async def is_recent(self) -> bool:
        found = _VERSION.search(await self.ask("version") or b"")
        return found is not None and (int(found[1]), int(found[2])) >= OLDEST_VERSION

    async def switch_off_filters(self) -> bool:
        """Whether it could be done: git runs filters when it compares files.

        Those of the user's own config stay.
        """
        listed = await self.ask("config", "--list", "--show-scope", "--name-only", "-z")
        if listed is None:
            return False
        words = listed.split(b"\0")
        for scope, key in zip(words[::2], words[1::2], strict=False):
            name = key.decode(errors="surrogateescape")
            if scope.decode(errors="replace") not in _OURS and name.startswith("filter."):
                self._config[name] = "false" if name.endswith(".required") else ""
        return True

    async def ask(self, *arguments: str) -> bytes | None:
        """What git prints, cut after `MOST_BYTES`; None if it fails."""
        try:
            process = await _whole(self._start(arguments))
        except (OSError, ValueError) as error:
            logger.debug("Cannot run git: %s", error)
            return None
        try:
            output = await _read(process)
            code = await process.wait()
        finally:
            if process.returncode is None:
                await _end(process)
        return output if code == 0 or len(output) >= MOST_BYTES else None

    async def _start(self, arguments: Iterable[str]) -> Process:
        return await asyncio.create_subprocess_exec(
            self.program,
            "--no-pager",
            "--no-optional-locks",
            *arguments,
            cwd=self.folder,
            env=_environment(self._config),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )


def _environment(config: dict[str, str]) -> dict[str, str]:
    """Ours without what steers git, and with `config`, in which a key may hold any character."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    pairs = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | _SURROUNDINGS | pairs


async def _whole(start: Coroutine[Any, Any, Process]) -> Process:
    """The process that is being started.

    If the start were cut off in the middle, what git itself has started would live on.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        if starting.exception() is None:
            await _end(starting.result())
        raise


async def _read(process: Process) -> bytes:
    """All that the process prints; it is killed when that is too much."""
    assert process.stdout is not None
    output = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        if len(output) < MOST_BYTES:
            output += chunk
        if len(output) >= MOST_BYTES:
            _kill(process)
    return bytes(output[:MOST_BYTES])


async def _end(process: Process) -> None:
    """Kill the process and whatever it started, and let its pipe run dry."""
    _kill(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_DIE):
            await _read(process)
            await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
