"""A session that works until it is killed, and goes on in the next process."""

import asyncio
import itertools
import os
import sys
from pathlib import Path

from helpers_sessions import SESSION, Counter, calls, mount_tools, plan, session_of

from amplifier.sessions.files import FileStore
from amplifier.sessions.loading import load
from amplifier.sessions.resuming import bring_back


class Diary(Counter):
    """An external tool whose every run leaves a line that no crash takes back."""

    def __init__(self, path: Path) -> None:
        super().__init__("external")
        self._path = path

    async def execute(self, input: dict[str, object]) -> object:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{input['run']}\n".encode())
        os.close(handle)
        return await super().execute(input)


async def work(folder: Path) -> None:
    store = FileStore(folder / "sessions")
    known = (await store.tail(SESSION)).next_seq
    state = await load(store, SESSION) if known else None
    script = [calls("external", "external", run=f"{os.getpid()}"), {"text": "One more."}]
    config = plan(*script)
    config["providers"][0]["config"]["on_exhausted"] = "repeat"
    async with session_of(store, config, state) as session:
        await mount_tools(session, [Diary(folder / "diary")])
        if state is not None:
            await bring_back(session, state)
        for turn in itertools.count():
            answer = await session.execute(f"Turn {turn}")
            tell(answer)


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main(folder: Path) -> None:
    """For each line on stdin, a process that works until it is killed.

    They are copies of this one: what it has imported, they need not.
    """
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            tell(f"pid {os.getpid()}")
            asyncio.run(work(folder))
        os.waitpid(pid, 0)
        tell("dead")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
