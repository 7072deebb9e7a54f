"""Real repositories, and the note that a request in them gets."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator

from amplifier_modules.status.hook import mount

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_sh = pytest.mark.skipif(os.name != "posix", reason="stands in for git with a shell script")

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | IDENTITY,
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.stdout


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit that has these files; `_` in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in ({"a_txt": "a\n"} | files).items():
        (folder / name.replace("_", ".")).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=First")
    return folder


class Place:
    """A folder with the module mounted in a session of its own."""

    def __init__(self, folder: Path) -> None:
        self.coordinator = MockCoordinator()
        self.coordinator.register_capability("session.working_dir", str(folder))

    async def emit(self, event: str, **data: Any) -> Any:
        async with asyncio.timeout(20):
            return await self.coordinator.hooks.emit(event, data)

    async def note(self) -> str:
        verdict = await self.emit("provider:request")
        assert verdict.action == "inject_context"
        return str(verdict.context_injection)

    async def lines(self) -> list[str]:
        return (await self.note()).split("\n")


async def place(folder: Path, **config: Any) -> Place:
    # A busy machine must not turn into a missing answer.
    made = Place(folder)
    await mount(made.coordinator, {"git_timeout": 15} | config)
    return made


async def note_in(folder: Path, **config: Any) -> str:
    return await (await place(folder, **config)).note()


def changes_in(note: str) -> list[str]:
    """The lines under "Changes", as git writes them."""
    _, found, rest = note.partition("\nChanges:\n")
    if not found:
        return []
    return [line[2:] for line in rest.split("\n") if line.startswith("  ")]
