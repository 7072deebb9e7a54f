"""A chat in this process: keys go into a pipe, and what is written is text."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from amplifier.chat.chat import Chat, Move
from amplifier.grants import Grants
from amplifier.sessions.live import RecordedSession, Recording

SECONDS = 30.0
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def plan(*script: dict[str, Any], tools: tuple[str, ...] = (), **config: Any) -> dict[str, Any]:
    """A session whose model plays a script."""
    guard = {"audit": {"enabled": False}, "allow": [{"tool": "delegate"}]}
    return {
        "session": {
            "orchestrator": {"module": "loop-streaming"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"script": list(script), **config}}],
        "tools": [{"module": tool} for tool in tools],
        "hooks": [{"module": "hooks-approval", "config": guard}],
    }


class Talk:
    """A person at a chat."""

    def __init__(self, chat: Chat, keys: PipeInput, paper: io.StringIO) -> None:
        self.chat = chat
        self.keys = keys
        self._paper = paper
        self.task: asyncio.Task[Move | None] = asyncio.create_task(chat.talk())

    @property
    def written(self) -> str:
        return CODES.sub("", self._paper.getvalue())

    async def say(self, text: str, *answers: str) -> str:
        """Send a line, and wait for all of `answers`; what was written since."""
        before = len(self.written)
        self.keys.send_text(f"{text}\r")
        return await self.wait_for(*answers, since=before)

    async def wait_for(self, *texts: str, since: int = 0) -> str:
        async with asyncio.timeout(SECONDS):
            while not all(text in self.written[since:] for text in texts):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return self.written[since:]

    async def left(self) -> Move | None:
        async with asyncio.timeout(SECONDS):
            return await self.task


@asynccontextmanager
async def talking(
    mounts: dict[str, Any], folder: Path, recording: Recording | None = None, columns: int = 100
) -> AsyncIterator[Talk]:
    """A person who talks with a session made from a plan."""
    paper = io.StringIO()
    output = Vt100_Output(
        paper, lambda: Size(rows=50, columns=columns), term="xterm", enable_cpr=False
    )
    session = RecordedSession(mounts)
    session.recording = recording
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        async with session:
            chat = Chat(session, folder, history=None, grants=Grants(folder / "approvals.json"))
            talk = Talk(chat, keys, paper)
            await talk.wait_for("Ctrl-D ends.")
            yield talk
            if not talk.task.done():
                keys.send_text("\x03\x04")
                await talk.left()
