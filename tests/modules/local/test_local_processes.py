"""provider-local at the ends of a process: when it forks, and when it is over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import asyncio, atexit, os, sys
from pathlib import Path

# Whoever is registered first comes last: after the engine was closed.
atexit.register(lambda: report())
report = lambda: None

from helpers_local import ENGINE, Endless, FakeEngine, asking, desk, gguf_file, says

engine = sys.modules[ENGINE] = FakeEngine()
model = str(gguf_file(Path(sys.argv[1])))

async def answer():
    at = await desk(engine, model_path=model)
    return (await at.provider.complete(asking())).content[0].text
"""

FORK = """
engine.will(says("parent"), says("child"))
assert asyncio.run(answer()) == "parent"
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(answer()) == "child" and len(engine.loads) == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
"""

EXIT = """
story = Endless()
engine.will(story)
report = lambda: print("stopped" if story.ended.is_set() else "still talking")

async def begin():
    at = await desk(engine, model_path=model)
    chunks = at.provider.stream_complete(asking())
    await anext(chunks)
    return chunks

# Nothing here is closed or cancelled: the program just ends.
loop = asyncio.new_event_loop()
kept = loop.run_until_complete(begin())
"""


def run(script: str, folder: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", START + script, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_loads_a_model_of_its_own(tmp_path: Path) -> None:
    assert run(FORK, tmp_path) == ""


def test_the_end_of_the_process_stops_the_model(tmp_path: Path) -> None:
    assert run(EXIT, tmp_path) == "stopped"
