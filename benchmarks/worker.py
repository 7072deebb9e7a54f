"""Measures one row in whichever interpreter runs it, and prints the figures as one JSON object.

`python worker.py ROW [--size N] [--profile]`. The driver starts it once per row, round and kernel.
"""

import argparse
import asyncio
import cProfile
import importlib
import inspect
import json
import pstats
import sys
import tempfile
from pathlib import Path
from typing import Any

ROWS = {
    "emit-0": "measure_hooks:emit_to_nobody",
    "emit-20": "measure_hooks:emit_to_twenty",
    "modify-20": "measure_hooks:modify_by_twenty",
    "payload": "measure_hooks:emit_large",
    "session": "measure_sessions:lifecycle",
    "memory-resident": "measure_sessions:memory_resident",
    "memory-traced": "measure_sessions:memory_traced",
    "concurrency": "measure_sessions:concurrency",
    "context-add": "measure_contexts:adding",
    "context-compact": "measure_contexts:compacting",
    "context-ask": "measure_contexts:asking",
    "import": "measure_processes:import_time",
    "exit": "measure_processes:clean_exit",
}


def measure(row: str, size: int | None) -> dict[str, float]:
    module, function = ROWS[row].split(":")
    result: Any = getattr(importlib.import_module(module), function)(*([size] if size else []))
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def offer_standins(folder: str) -> None:
    """Make the stand-in modules an installed distribution, as far as entry points can tell."""
    metadata = Path(folder) / "standins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: standins\nVersion: 1.0\n")
    names = ("loop", "context", "provider", "tool")
    lines = [f"{name}-standin = standins:mount_{name}" for name in names]
    (metadata / "entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines, ""]))
    sys.path.append(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--size", type=int, help="sessions or processes, for the rows that count")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        offer_standins(folder)
        if options.profile:
            profile = cProfile.Profile()
            figures = profile.runcall(measure, options.row, options.size)
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(30)
        else:
            figures = measure(options.row, options.size)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
