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
from importlib.metadata import entry_points
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
    "step": "measure_turns:step",
    "step:semantic-kernel": "measure_semantic_kernel:step",
    "hooked-turn": "measure_turns:hooked_turn",
    "concurrency": "measure_turns:concurrency",
    "stream": "measure_turns:stream",
    "first-chunk": "measure_providers:first_chunk",
    "context-add": "measure_contexts:adding",
    "context-compact": "measure_contexts:compacting",
    "context-ask": "measure_contexts:asking",
    "grpc": "measure_transports:grpc_tool_call",
    "wasm-call": "measure_wasm:calls",
    "wasm-load": "measure_wasm:loads",
    "journal": "measure_journal:journal",
    "resume": "measure_journal:resuming",
    "import": "measure_processes:import_time",
    "cli": "measure_processes:command_line",
    "exit": "measure_processes:clean_exit",
}
STANDINS = {
    "loop-standin": "standins:mount_loop",
    "context-standin": "standins:mount_context",
    "provider-standin": "standins:mount_provider",
    "provider-streaming": "standins:mount_streaming",
    "tool-standin": "standins:mount_tool",
}
BUNDLED = {
    "loop-basic": "amplifier_modules.loops.basic:mount",
    "loop-streaming": "amplifier_modules.loops.streaming:mount",
    "context-simple": "amplifier_modules.contexts.simple:mount",
    "provider-openai": "amplifier_modules.provider_openai.provider:mount",
}
SOURCE = Path(__file__).resolve().parents[1] / "src"


def measure(row: str, size: int | None) -> dict[str, float]:
    module, function = ROWS[row].split(":")
    result: Any = getattr(importlib.import_module(module), function)(*([size] if size else []))
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def offer_modules(folder: str) -> None:
    """Make the stand-ins an installed distribution, as far as entry points can tell.

    The bundled modules come along where they are not installed, as beside the public kernel.
    """
    installed = {point.name for point in entry_points(group="amplifier.modules")}
    offered = STANDINS | {name: BUNDLED[name] for name in BUNDLED.keys() - installed}
    metadata = Path(folder) / "standins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: standins\nVersion: 1.0\n")
    lines = [f"{name} = {mount}" for name, mount in sorted(offered.items())]
    (metadata / "entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines, ""]))
    sys.path += [folder, str(SOURCE)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--size", type=int, help="sessions or processes, for the rows that count")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        offer_modules(folder)
        if options.profile:
            profile = cProfile.Profile()
            figures = profile.runcall(measure, options.row, options.size)
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(30)
        else:
            figures = measure(options.row, options.size)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
