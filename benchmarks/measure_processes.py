"""What does a whole process cost: to import the kernel, to run a command, and to end cleanly?"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
from time import perf_counter
start = perf_counter()
from amplifier_core import AmplifierSession, ChatRequest, HookResult
print((perf_counter() - start) * 1000)
"""

EMIT_AND_END = """
import asyncio
from amplifier_core import HookRegistry, HookResult

async def main():
    hooks = HookRegistry()
    async def observe(event, data):
        return HookResult(action="continue")
    hooks.register("tool:pre", observe)
    for _ in range(50):
        await hooks.emit("tool:pre", {"tool_name": "read"})

asyncio.run(main())
print("done", flush=True)
"""


def import_time(runs: int) -> dict[str, float]:
    """Milliseconds to import three names in a cold process, the interpreter's own start left out.

    `-S` keeps the two environments alike: what else is installed cannot run at start-up.
    """
    spec = find_spec("amplifier_core")
    assert spec is not None
    assert spec.origin is not None
    paths = [str(Path(spec.origin).parents[1]), sysconfig.get_path("purelib")]
    command = [sys.executable, "-I", "-S", "-c", IMPORT, *paths]

    def once() -> float:
        return float(printed_by(command)[1])

    once()
    return {"ms": median(once() for _ in range(runs))}


def command_line(runs: int) -> dict[str, float]:
    """Milliseconds from start to end of the `amplifier` command, its bytecode compiled already."""
    amplifier = str(Path(sysconfig.get_path("scripts"), "amplifier"))
    return {
        "help_ms": median_ms(runs, [amplifier, "--help"]),
        "run_ms": median_ms(runs, [amplifier, "run", "--provider", "mock", "Hello"]),
    }


def median_ms(runs: int, command: list[str]) -> float:
    """Milliseconds that a command takes for a user without files or settings of their own."""

    def once() -> float:
        start = perf_counter()
        status, _ = printed_by(command, cwd=home, env=env)
        assert status == 0, f"{command} ended with status {status}"
        return (perf_counter() - start) * 1_000

    with tempfile.TemporaryDirectory() as home:
        # As after an installation: compiled, whatever the variables of this shell say about it.
        env = {**os.environ, "HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        once()
        return median(once() for _ in range(runs))


def clean_exit(runs: int) -> dict[str, float]:
    """How many of `runs` processes did their work and then did not end with status 0."""
    command = [sys.executable, "-c", EMIT_AND_END]
    with ThreadPoolExecutor(max_workers=2) as pool:
        statuses = [status for status, _ in pool.map(printed_by, [command] * runs)]
    return {"bad": sum(status != 0 for status in statuses), "runs": runs}


def printed_by(command: list[str], **where: Any) -> tuple[int, str]:
    """Exit status and output of a process; one that printed nothing did not do its work."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **where,
    )
    if not done.stdout:
        *_, last = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(last)
    return done.returncode, done.stdout
