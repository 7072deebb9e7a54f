"""How many requests a process may have under way with one vendor."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(eq=False)
class _Waiter:
    most: int
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    is_granted: bool = False


class Gate:
    """Lets so many in at a time, in the order of arrival, across threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self.active = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def try_enter(self, most: int) -> bool:
        """Go in if that needs no waiting; `most` of 0 is no limit."""
        with self._lock:
            is_free = not most or (self.active < most and not self._waiting)
            self.active += is_free
            return is_free

    async def wait(self, most: int) -> None:
        """Go in when it is our turn; a wait that is cancelled leaves no trace."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(most, loop, loop.create_future())
        with self._lock:
            self._waiting.append(waiter)
        self._admit()
        try:
            await waiter.turn
        except BaseException:
            self._give_up(waiter)
            raise

    def leave(self) -> None:
        with self._lock:
            self.active -= 1
        self._admit()

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.is_granted:
                self.active -= 1
            else:
                self._waiting.remove(waiter)
        self._admit()

    def _admit(self) -> None:
        with self._lock:
            while self._waiting and self.active < self._waiting[0].most:
                waiter = self._waiting.popleft()
                if _wake(waiter):
                    waiter.is_granted = True
                    self.active += 1


def _wake(waiter: _Waiter) -> bool:
    try:
        waiter.loop.call_soon_threadsafe(_take_turn, waiter.turn)
    except RuntimeError:
        # Its event loop was closed: nobody waits any more.
        return False
    return True


def _take_turn(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


_gates: dict[Hashable, Gate] = {}
_gates_lock = threading.Lock()


def gate_of(vendor: Hashable) -> Gate:
    """The one gate of this process to `vendor`."""
    with _gates_lock:
        return _gates.setdefault(vendor, Gate())
