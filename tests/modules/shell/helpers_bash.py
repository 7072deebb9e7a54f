"""A mounted bash tool in a folder of its own, and a look at what runs on the machine."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ToolResult
from amplifier_core.testing import MockCoordinator, wait_for

from amplifier_modules.shell.bash import mount

needs_proc = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are looked up in /proc"
)

_numbers = itertools.count()


class Shell:
    """The tool, with the folder it starts in."""

    def __init__(self, tool: Any, folder: Path, coordinator: MockCoordinator) -> None:
        self.tool = tool
        self.folder = folder
        self.coordinator = coordinator

    async def run(self, command: str, **input: Any) -> ToolResult:
        async with asyncio.timeout(20):
            result: ToolResult = await self.tool.execute({"command": command, **input})
        return result

    async def job(self, action: str, job_id: str | None = None, **input: Any) -> dict[str, Any]:
        async with asyncio.timeout(20):
            result = await self.tool.execute({"action": action, "job_id": job_id, **input})
        assert result.success, result.error
        output: dict[str, Any] = result.output
        return output

    async def start(self, command: str, **input: Any) -> str:
        result = await self.run(command, run_in_background=True, **input)
        assert result.success, result.error
        return str(result.output["job_id"])


@asynccontextmanager
async def shell_in(folder: Path, **config: Any) -> AsyncIterator[Shell]:
    """Mount the tool; at the end do what a session does at its end."""
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", str(folder))
    cleanup = await mount(coordinator, {"safety_profile": "unrestricted", **config})
    try:
        yield Shell(coordinator.get("tools", "bash"), folder, coordinator)
    finally:
        async with asyncio.timeout(20):
            await cleanup()


def long_sleep() -> str:
    """A command that outlasts every test, and is like no other."""
    return f"sleep 9{os.getpid()}.{next(_numbers)}"


def running(command: str) -> list[int]:
    """The processes whose command line contains `command`, besides shells that quote it."""
    wanted = command.encode().replace(b" ", b"\0")
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                if wanted in Path("/proc", entry, "cmdline").read_bytes():
                    found.append(int(entry))
            except OSError:
                continue
    return found


async def until(holds: Callable[[], Any]) -> None:
    assert await wait_for(lambda: bool(holds()), timeout=5)


def message(result: ToolResult) -> str:
    assert not result.success
    assert result.error is not None
    return str(result.error["message"])
