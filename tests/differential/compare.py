"""Both kernels' answers to every script, and how they differ."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
DEADLINE = 120

Answers = dict[str, dict[str, Any]]


def peer_python() -> Path | None:
    """The interpreter of the public kernel: the one in `.peer`, or what AMPLIFIER_PEER names."""
    named = os.environ.get("AMPLIFIER_PEER")
    if named:
        return Path(named)
    made = REPO / ".peer"
    return made / "bin" / "python" if (made / "ready").exists() else None


def answers_of_both(peer: Path, names: list[str]) -> tuple[Answers, Answers]:
    """What our kernel says, and what the public one says."""
    with ThreadPoolExecutor(2) as pool:
        ours = pool.submit(answers, Path(sys.executable), names)
        theirs = pool.submit(answers, peer, names)
        return ours.result(), theirs.result()


def answers(python: Path, names: list[str]) -> Answers:
    """Run the scripts in one process, or in as many as it takes if one brings it down."""
    found: Answers = {}
    left = list(names)
    while left:
        finished, died_in = _one_process(python, left)
        found.update(finished)
        if died_in is not None:
            found[died_in] = {"facts": {"(process)": "the interpreter died"}}
        elif not finished:
            raise RuntimeError(f"{python} runs no script. Is the kernel installed there?")
        left = [name for name in left if name not in found]
    return found


def _one_process(python: Path, names: list[str]) -> tuple[Answers, str | None]:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        environment.pop("AMPLIFIER_MODULES", None)
        command = [str(python), str(HERE / "driver.py"), str(results), *names]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                cwd=folder,
                env=environment,
                timeout=DEADLINE,
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return _read(results)


def _read(results: Path) -> tuple[Answers, str | None]:
    """The finished scripts, and the one that was running when the process ended."""
    finished: Answers = {}
    running: str | None = None
    for line in results.read_text().splitlines(keepends=True) if results.exists() else ():
        if not line.endswith("\n"):
            break  # the process ended while it wrote
        answer = json.loads(line)
        name = answer.pop("script")
        running = None if answer else name
        if answer:
            finished[name] = answer
    return finished, running


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    """The names of the facts in which two answers differ."""
    missing = object()
    return {
        fact
        for fact in ours.keys() | theirs.keys()
        if ours.get(fact, missing) != theirs.get(fact, missing)
    }
