"""Commands that run in the background: started, read, killed, and gone with the session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Literal, NamedTuple

from amplifier_modules.shell.output import Printed
from amplifier_modules.shell.process import Ending, ShellCommand

_MOST_FINISHED = 50
"""How many jobs that are over can still be asked about."""

JobState = Literal["running", "ended"]


class News(NamedTuple):
    """What a job printed since it was last read."""

    stdout: Printed
    stderr: Printed


class Job:
    """One command in the background."""

    def __init__(self, id: str, text: str, command: ShellCommand) -> None:
        self.id = id
        self.text = text
        self.command = command
        self.ending: Ending | None = None
        self._started_at = time.monotonic()
        self._seconds: float | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> JobState:
        return "running" if self.ending is None else "ended"

    @property
    def seconds(self) -> float:
        """For how long it has run, or ran."""
        return self._seconds if self._seconds is not None else time.monotonic() - self._started_at

    def follow(self, timeout: float | None) -> None:
        self._task = asyncio.create_task(self._follow(timeout), name=f"bash {self.id}")

    async def _follow(self, timeout: float | None) -> None:
        try:
            self.ending = await self.command.finish(timeout)
        finally:
            self._seconds = time.monotonic() - self._started_at
            self.command.news.set()

    async def news(self, wait: float) -> News:
        """What is new; waits up to `wait` seconds for output or the end."""
        if wait > 0 and self.ending is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.command.news.wait(), wait)
        over = self.ending is not None
        if not over:
            self.command.news.clear()
        streams = (self.command.stdout, self.command.stderr)
        return News(*(each.capture.take(final=over) for each in streams))

    async def kill(self) -> None:
        """End it and all it started; returns when that is done."""
        self.command.stop()
        if self._task is not None:
            await asyncio.wait([self._task])


class Jobs:
    """The jobs of one session."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._numbers = count(1)

    def all(self) -> list[Job]:
        return list(self._jobs.values())

    def get(self, id: str) -> Job | None:
        return self._jobs.get(id)

    @property
    def running(self) -> int:
        return sum(job.state == "running" for job in self._jobs.values())

    async def start(
        self,
        command: ShellCommand,
        text: str,
        folder: str,
        environ: Mapping[str, str],
        timeout: float | None,
    ) -> Job:
        """Launch `command` as a job.

        Raises:
            OSError: it cannot be started.
        """
        await command.launch(folder, environ)
        job = Job(f"job-{next(self._numbers)}", text, command)
        self._jobs[job.id] = job
        job.follow(timeout)
        self._forget_old()
        return job

    async def kill_all(self) -> None:
        await asyncio.gather(*(job.kill() for job in self._jobs.values()))

    def _forget_old(self) -> None:
        ended = [id for id, job in self._jobs.items() if job.state == "ended"]
        for id in ended[:-_MOST_FINISHED]:
            del self._jobs[id]
