"""Ctrl-C: the first lets the running step finish, the second ends the turn at once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from amplifier_core import CancellationToken

from amplifier.exits import INTERRUPTED
from amplifier.output import note

if TYPE_CHECKING:
    from amplifier.asking import PersonAtTerminal

SECONDS_TO_CLEAN_UP = 2.0


class Interrupts:
    """Turns signals into requests to stop."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self.cancellation: CancellationToken | None = None
        """The session's token; without one there is no step to wait for."""
        self.person: PersonAtTerminal | None = None
        """Who may be looking at a question."""
        self.aside: Callable[[], AbstractContextManager[None]] = nullcontext
        """Makes room for a line on the screen."""

    def interrupt(self) -> None:
        if self.person is not None:
            self._task.get_loop().call_soon_threadsafe(self.person.give_up)
        if self.cancellation is not None and self.cancellation.request_graceful():
            with self.aside():
                note("Stopping after this step. Press Ctrl-C again to stop now.")
            return
        if self.cancellation is not None:
            self.cancellation.request_immediate()
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)
        # A module that blocks, or a thread it left behind, must not keep the process.
        last_resort = threading.Timer(SECONDS_TO_CLEAN_UP, os._exit, (INTERRUPTED,))
        last_resort.daemon = True
        last_resort.start()


@contextmanager
def watched_interrupts() -> Iterator[Interrupts]:
    """Ctrl-C reaches the running task in steps while this is open."""
    task = asyncio.current_task()
    assert task is not None
    interrupts = Interrupts(task)
    # Not the event loop's own way to handle signals, which Windows does not have.
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.interrupt())
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
