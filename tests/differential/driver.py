"""Runs scripts against the kernel of this interpreter and writes one JSON line for each.

    python driver.py RESULTS SCRIPT...

A line is written before a script starts and after it ends, so that whoever reads the file
knows which one brought the process down.
"""

import asyncio
import contextvars
import importlib
import inspect
import json
import logging
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, TextIO

from normalise import plain

SECONDS_PER_SCRIPT = 10


async def _within_time(script: Any) -> Any:
    async with asyncio.timeout(SECONDS_PER_SCRIPT):
        return await script()


def _facts_of(name: str) -> dict[str, Any]:
    module, function = name.split(".")
    script = getattr(importlib.import_module(f"scripts.{module}"), function)
    if inspect.iscoroutinefunction(script):
        facts = asyncio.run(_within_time(script))
    else:
        facts = contextvars.copy_context().run(script)
    return {key: plain(value) for key, value in facts.items()}


def _run(name: str) -> dict[str, Any]:
    try:
        return {"facts": _facts_of(name)}
    except BaseException:
        return {"broke": traceback.format_exc()}


def _write(results: TextIO, line: dict[str, Any]) -> None:
    results.write(json.dumps(line) + "\n")
    results.flush()


def main(path: str, names: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with Path(path).open("w") as results:
        for name in names:
            _write(results, {"script": name})
            _write(results, {"script": name, **_run(name)})
    # The public kernel may abort on the way out of the interpreter; nothing is left to do there.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
