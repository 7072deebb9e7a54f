"""What does a tool in a WebAssembly component cost: to call with little or much, and to load?"""

import gc
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from amplifier_core import _engine
from timing import us_per_await

COMPONENT = Path(__file__).parents[1] / "tests" / "transports" / "wasm_guests" / "tool.wasm"
LOADS = 5


async def calls() -> dict[str, float]:
    """Microseconds for an echo of 1 kB, and milliseconds for one of 100 kB."""
    with _module() as folder:
        tool = _mounted(folder)
        small = await us_per_await(_echo, tool, "x" * 1_000)
        large = await us_per_await(_echo, tool, "x" * 100_000)
    return {"us": small, "large_ms": large / 1_000}


async def loads() -> dict[str, float]:
    """Milliseconds until the tool is there: the first time, and when it was compiled before."""
    with _module() as folder:
        os.environ["AMPLIFIER_HOME"] = str(Path(folder, "home"))
        first = _load_ms(folder)
        again = median([_load_ms(folder) for _ in range(LOADS)])
    return {"cold_ms": first, "cached_ms": again}


def _module() -> Any:
    folder = tempfile.TemporaryDirectory()
    shutil.copy(COMPONENT, Path(folder.name, "module.wasm"))
    return folder


def _mounted(folder: str) -> Any:
    coordinator = _coordinator()
    told = _engine.load_and_mount_wasm(coordinator, folder)
    return coordinator.mount_points["tools"][told["name"]]


def _coordinator() -> Any:
    from amplifier_core.testing import MockCoordinator

    return MockCoordinator()


async def _echo(tool: Any, text: str) -> None:
    await tool.execute({"input": text})


def _load_ms(folder: str) -> float:
    # What is still in this process is no measure of what is on disk.
    gc.collect()
    start = perf_counter()
    _mounted(folder)
    return (perf_counter() - start) * 1_000
