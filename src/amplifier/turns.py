"""Brings a session up, runs one turn in it and takes it down again."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import Any

from amplifier_core import AmplifierSession

from amplifier.views import View

DONE, FAILED, INTERRUPTED = 0, 1, 130


def run_turn(plan: dict[str, Any], prompt: str, view: View, *, allow_partial: bool) -> int:
    """Run `prompt` in a new session; the result is the exit code."""
    return asyncio.run(_run(plan, prompt, view, allow_partial))


async def _run(plan: dict[str, Any], prompt: str, view: View, allow_partial: bool) -> int:
    try:
        async with AmplifierSession(plan) as session:
            missing = _missing(session)
            if missing and not allow_partial:
                return view.failed(missing)
            view.attach(session)
            return await _turn(session, prompt, view)
    except Exception as error:
        return view.failed(str(error) or type(error).__name__)


def _missing(session: AmplifierSession) -> str | None:
    """What of the plan did not come up, in words."""
    failed = session.status.failed_modules or []
    if failed:
        parts = "; ".join(f"{each['module_id']!r}: {each['error']}" for each in failed)
        return f"Not everything could be loaded: {parts} Use --allow-partial to start without."
    if not session.coordinator.get("providers"):
        module = session.config["providers"][0]["module"]
        return f"Provider {module!r} has nothing to work with; the log says what it needs."
    return None


async def _turn(session: AmplifierSession, prompt: str, view: View) -> int:
    turn = asyncio.ensure_future(session.execute(prompt))
    _stop_on_ctrl_c(session, turn)
    try:
        answer = await turn
    except asyncio.CancelledError:
        view.failed("Interrupted.")
        return INTERRUPTED
    if session.coordinator.cancellation.is_cancelled:
        view.failed("Interrupted.")
        return INTERRUPTED
    view.answered(answer)
    return DONE


def _stop_on_ctrl_c(session: AmplifierSession, turn: asyncio.Future[str]) -> None:
    """The first Ctrl-C asks the turn to end after its step, the second ends it at once."""

    def interrupt() -> None:
        if session.coordinator.cancellation.request_graceful():
            print("\nStopping after this step. Press Ctrl-C again to stop now.", file=sys.stderr)
        else:
            session.coordinator.cancellation.request_immediate()
            turn.cancel()

    with suppress(NotImplementedError):  # event loops on Windows leave signals to Python
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
