"""Crashes: every place in a session's writing where one can happen, and real ones."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import helpers_killing
import pytest
from helpers_crashing import crash, fast_folder
from helpers_sessions import SESSION
from helpers_validity import problems

from amplifier.sessions.files import FileStore
from amplifier.sessions.loading import load_to_go_on

KILLS = 30
SECONDS = 180


@pytest.mark.slow
async def test_a_session_survives_a_crash_at_any_point_of_its_writing() -> None:
    assert await crash(every_byte=False) >= 1_000


def kill_one(launcher: subprocess.Popen[str], chance: random.Random) -> int:
    """Let a process work until it is killed; how many answers it gave."""
    assert launcher.stdin is not None
    assert launcher.stdout is not None
    launcher.stdin.write("go\n")
    launcher.stdin.flush()
    pid = int(launcher.stdout.readline().removeprefix("pid "))
    assert launcher.stdout.readline() == "One more.\n"
    time.sleep(chance.random() * 0.03)
    os.kill(pid, signal.SIGKILL)
    answers = 1
    while launcher.stdout.readline() != "dead\n":
        answers += 1
    return answers


@pytest.mark.slow
def test_thirty_killed_processes_lose_nothing_and_repeat_nothing() -> None:
    # What a dead process leaves behind is in the memory of the system, also on a disk.
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        kill_thirty(Path(folder))


def kill_thirty(folder: Path) -> None:
    chance = random.Random(20)
    command = [sys.executable, helpers_killing.__file__, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as launcher:
        deadline = threading.Timer(SECONDS, launcher.kill)
        deadline.start()
        answers = sum(kill_one(launcher, chance) for _ in range(KILLS))
        deadline.cancel()

    store = FileStore(folder / "sessions")
    state, _ = asyncio.run(load_to_go_on(store, SESSION))
    ended = [each for each in state.turns if each.status == "success"]
    assert len(ended) >= answers >= KILLS
    assert not problems(state.messages)
    runs = Counter((folder / "diary").read_text().split())
    begun: Counter[str] = Counter()
    for call in state.calls:
        begun[call.input["run"]] += call.state in ("started", "finished")
    assert all(runs[process] <= begun[process] for process in runs)
