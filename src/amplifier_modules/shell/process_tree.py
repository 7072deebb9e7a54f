"""Finds and ends every process that a command started, also those that tried to get away."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

_HAS_PROC = os.path.exists("/proc/self/stat")
_ENDING_FLAG = 0x4
_SWEEP_SECONDS = 2.0
_BETWEEN_SWEEPS = 0.005


class _Process(NamedTuple):
    pid: int
    started: int
    """Ticks since boot: with the pid, it names a process for good."""
    parent: int
    group: int
    session: int
    is_ending: bool
    """On its way out by itself: its descriptors may be closed already."""


class Family:
    """A shell and all that descends from it.

    A process belongs if it is in the shell's session or group, has a member as parent, or
    carries the mark: an environment variable of a name that no other command has. Without
    a /proc file system only the group is known.
    """

    def __init__(self, root: int, mark: str) -> None:
        self.root = root
        self._mark = f"{mark}=".encode()
        first = _read(root)
        # Nobody older than the shell descends from it; this spares most of the reading.
        self._oldest = first.started if first is not None else 0
        self._seen: set[tuple[int, int]] = set()
        self._killed: set[int] = set()

    @property
    def stragglers(self) -> int:
        """How many processes besides the shell had to be killed."""
        return len(self._killed - {self.root})

    def signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.root, number)

    def group_is_gone(self) -> bool:
        try:
            os.killpg(self.root, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        # Zombies still count for killpg, and some containers never collect them.
        members = [each for each in _living(self._oldest) if each.group == self.root]
        return _HAS_PROC and not members

    def look(self) -> list[_Process]:
        """The living members now; they stay members whoever becomes their parent."""
        living = {each.pid: each for each in _living(self._oldest)}
        found = {pid for pid, each in living.items() if self._is_marked(each)}
        grown = True
        while grown:
            children = {pid for pid, each in living.items() if each.parent in found} - found
            found |= children
            grown = bool(children)
        self._seen |= {(pid, living[pid].started) for pid in found}
        return [living[pid] for pid in found]

    async def kill(self) -> None:
        """Kill until nobody is left: a member may fork between the look and the blow."""
        deadline = time.monotonic() + _SWEEP_SECONDS
        while time.monotonic() < deadline:
            found = self.look()
            self.signal_group(signal.SIGKILL)
            self._kill(each for each in found if not each.is_ending)
            if not found:
                return
            await asyncio.sleep(_BETWEEN_SWEEPS)

    def kill_holders(self, pipes: Collection[int]) -> None:
        """Kill whoever still has one of our pipes (by inode) open."""
        names = {f"pipe:[{inode}]" for inode in pipes}
        living = _living(self._oldest)
        self._kill(each for each in living if _can_write(each.pid, names))

    def _kill(self, processes: Iterable[_Process]) -> None:
        for each in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each.pid, signal.SIGKILL)
                self._killed.add(each.pid)

    def _is_marked(self, process: _Process) -> bool:
        return (
            self.root in (process.pid, process.group, process.session)
            or (process.pid, process.started) in self._seen
            or self._mark in _contents(f"/proc/{process.pid}/environ")
        )


def _living(oldest: int) -> list[_Process]:
    """All processes but zombies, ourselves, the first one and those older than `oldest`."""
    names = [name for name in os.listdir("/proc") if name.isdecimal()] if _HAS_PROC else []
    spared = {1, os.getpid()}
    found = (_read(int(name)) for name in names)
    return [e for e in found if e is not None and e.started >= oldest and e.pid not in spared]


def _read(pid: int) -> _Process | None:
    text = _contents(f"/proc/{pid}/stat")
    # A program may have any name, so count from the last bracket.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    parent, group, session, flags, started = (int(fields[i]) for i in (1, 2, 3, 6, 19))
    return _Process(pid, started, parent, group, session, bool(flags & _ENDING_FLAG))


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _can_write(pid: int, pipes: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                path = f"{folder}/{name}"
                # The mode of the link is that of the descriptor. Readers are on our side.
                if os.readlink(path) in pipes and os.lstat(path).st_mode & stat.S_IWUSR:
                    return True
    return False
