"""What does it cost to write a session down, and to read it again?"""

import asyncio
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from standins import plan

from amplifier.sessions import events
from amplifier.sessions.disk import Disk
from amplifier.sessions.files import FileStore
from amplifier.sessions.journal import Journal
from amplifier.sessions.live import RecordedSession, Recording
from amplifier.sessions.loading import load_to_go_on
from amplifier.sessions.masking import Masker
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.resuming import bring_back

STEPS = 20
ROUNDS = 15
TEXT = "Some words of a message, as people and models write them. " * 70
"""About 4 kB."""


async def journal() -> dict[str, float]:
    """Microseconds that a step of a turn takes longer if it is recorded.

    Beside it: as many bare appends of as many bytes, each synced, in the same folder. All of
    them take turns, so that what else the machine does meets them alike.
    """
    plain, relaxed, full, bare = [], [], [], []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for number in range(ROUNDS):
            plain.append(await _steps(None))
            relaxed.append(await _steps(FileStore(Path(folder, f"r-{number}"), "relaxed")))
            disk = CountingDisk()
            full.append(await _steps(FileStore(Path(folder, f"f-{number}"), "full", disk), disk))
            bare.append(_bare_appends(Path(folder, f"b-{number}"), disk))
    return {
        "full_us": median(full) - median(plain),
        "bare_us": median(bare),
        "relaxed_us": min(relaxed) - min(plain),
    }


class CountingDisk(Disk):
    """Knows what was written and synced since it was last asked to forget."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def append(self, handle: int, content: bytes) -> None:
        self.written.append(len(content))
        super().append(handle, content)


def _bare_appends(path: Path, disk: CountingDisk) -> float:
    """Microseconds for the writes and syncs of one step, and nothing else."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    lines = [b"x" * size for size in disk.written]
    try:
        begin = perf_counter()
        for line in lines:
            os.write(handle, line)
            os.fdatasync(handle)
        return (perf_counter() - begin) / STEPS * 1e6
    finally:
        os.close(handle)


async def _steps(store: FileStore | None, disk: CountingDisk | None = None) -> float:
    """Microseconds that one step takes, in the second turn of a session."""
    config = plan("loop-basic", "context-simple", steps=STEPS)
    session = RecordedSession(config, session_id="measured")
    session.recording = None if store is None else Recording(store)
    async with session:
        await session.execute("Warm up.")
        if disk is not None:
            disk.written.clear()
        begin = perf_counter()
        await session.execute("Go.")
        return (perf_counter() - begin) / STEPS * 1e6


async def resuming() -> dict[str, float]:
    """Milliseconds until a session of 10,000 messages of 4 kB can take a prompt."""
    with tempfile.TemporaryDirectory() as folder:
        await _write_messages(FileStore(Path(folder), "relaxed"), 10_000)
        size = Path(folder, "measured", "events.jsonl").stat().st_size
        times = [await _resume(FileStore(Path(folder), "relaxed")) for _ in range(3)]
    return {"ms": median(times) * 1_000, "times_content": size / (10_000 * len(TEXT))}


async def _write_messages(store: FileStore, count: int) -> None:
    log = Journal(store, "measured", 0, Masker())
    await log.claim({})
    log.note(events.CREATED, {"session_id": "measured"})
    usage = {"input_tokens": 12_000, "output_tokens": 900, "total_tokens": 12_900}
    for number in range(count // 4):
        seq = log.note("prompt:submit", {"prompt": TEXT})
        log.note(events.MESSAGE, {"message": {"role": "user"}, "content_of": seq})
        call = {"id": f"call-{number}", "tool": "read_file", "arguments": {"file_path": "a.txt"}}
        content = [{"type": "text", "text": TEXT}]
        reply = {"role": "assistant", "content": content, "tool_calls": [call]}
        about = {"provider": "mock", "model": "mock-model", "usage": usage}
        log.note(events.MESSAGE, {"message": reply, **about})
        ids = {"tool_call_id": call["id"], "tool_name": "read_file"}
        log.note("tool:pre", {**ids, "effect": "external"})
        result = {"success": True, "output": TEXT, "error": None}
        seq = log.note("tool:post", {**ids, "result": result})
        answer = {"role": "tool", "tool_call_id": call["id"], "name": "read_file"}
        log.note(events.MESSAGE, {"message": answer, "content_of": seq, "part": "output"})
        final = {"role": "assistant", "content": [{"type": "text", "text": TEXT}]}
        log.note(events.MESSAGE, {"message": final, **about})
        log.note(events.TURN_END, {"status": "success"})
    await log.close()


async def _resume(store: FileStore) -> float:
    config: dict[str, Any] = {
        "session": {
            "orchestrator": {"module": "loop-basic"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock"}],
    }
    warm = RecordedSession(config, session_id="warm")
    warm.recording = Recording(MemoryStore())
    async with warm:
        await warm.execute("Hello.")
    begin = perf_counter()
    state, _ = await load_to_go_on(store, "measured")
    session = RecordedSession(config, session_id="measured", is_resumed=True)
    session.recording = Recording(store, {}, state)
    async with session:
        await bring_back(session, state)
        return perf_counter() - begin


if __name__ == "__main__":
    print(asyncio.run(journal()), asyncio.run(resuming()))
