"""Mounts bundled modules on the kernel of this interpreter and prints, as JSON, what went wrong.

    python probe.py MODULE...

Each module joins a real session, as found by its entry point; a loop, context or provider also
runs a turn.
"""

import asyncio
import json
import logging
import os
import sys
from typing import Any

from amplifier_core import AmplifierSession

DECLINED = ("did not install", "is not installed. Run")


def plan_with(module_id: str) -> dict[str, Any]:
    """A small plan that has the module in its place."""
    kind = module_id.partition("-")[0]
    parts = {"loop": "loop-basic", "context": "context-simple", kind: module_id}
    plan: dict[str, Any] = {
        "session": {
            "orchestrator": {"module": parts["loop"]},
            "context": {"module": parts["context"]},
        },
        "providers": [{"module": "provider-mock"}],
    }
    if kind == "provider" and module_id != "provider-mock":
        plan["providers"].append({"module": module_id})
    elif kind == "tool":
        plan["tools"] = [{"module": module_id}]
    elif kind in ("hook", "hooks"):
        plan["hooks"] = [{"module": module_id}]
    return plan


async def mounted(module_id: str) -> None:
    problems = Problems()
    logging.getLogger("amplifier_core").addHandler(problems)
    async with asyncio.timeout(20):
        session = AmplifierSession(plan_with(module_id))
        await session.initialize()
        try:
            assert not problems.texts, problems.texts[0]
            assert await session.execute("Hello")
        finally:
            await session.cleanup()


class Problems(logging.Handler):
    """Keeps what the kernel says about modules that failed: it does not raise for all of them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def problem_of(module_id: str) -> str:
    try:
        asyncio.run(mounted(module_id))
    except BaseException as error:
        is_declined = any(each in str(error) for each in DECLINED)
        return "declined" if is_declined else f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    print(json.dumps({name: problem_of(name) for name in sys.argv[1:]}), flush=True)
    # The public kernel may abort on the way out of the interpreter; nothing is left to do there.
    os._exit(0)
