"""Searches in a process of its own, which can be stopped at any moment.

A regular expression can take years, and no thread can be stopped. The process gets one request
on its standard input, as JSON, and answers on its standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier_modules.files.policy import Policy
from amplifier_modules.files.refusals import Refused

if TYPE_CHECKING:
    from amplifier_modules.files.globbing import GlobRequest
    from amplifier_modules.files.grepping import GrepRequest

_HOME = str(Path(__file__).resolve().parents[2])
_START = (
    "import sys; sys.path.append(sys.argv[1]);"
    "from amplifier_modules.files.worker import main; main()"
)


async def search(
    request: GrepRequest | GlobRequest, policy: Policy, seconds: float
) -> dict[str, Any]:
    """What the search finds.

    Raises:
        Refused: it was refused, or took longer than `seconds`.
    """
    kind = type(request).__name__
    question = json.dumps({"kind": kind, "request": request._asdict(), "policy": policy._asdict()})
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-W", "ignore", "-c", _START, _HOME),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            answer, trouble = await process.communicate(question.encode())
    except TimeoutError:
        text = f"The search took over {seconds:g} s. Narrow 'path', 'glob' or 'pattern'."
        raise Refused(text, "SearchTimeout") from None
    finally:
        if process.returncode is None:
            _kill(process)
            await process.wait()
    return _read(answer, trouble)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the process, and ripgrep with it."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _read(answer: bytes, trouble: bytes) -> dict[str, Any]:
    try:
        read = json.loads(answer)
    except ValueError:
        last = trouble.decode("utf-8", "replace").strip().rpartition("\n")[2]
        text = f"The search broke off: {last or 'no reason given'}. Try a simpler one."
        raise Refused(text, "SearchFailed") from None
    if "refused" in read:
        raise Refused(read["refused"], read["kind"])
    found: dict[str, Any] = read["found"]
    return found
