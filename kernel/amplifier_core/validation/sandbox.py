"""Where a module under examination runs: apart from the program that examines it.

Its import is taken back, its output does not reach stdout, and its coroutines run on a
loop and a thread of their own, so that even a mount that blocks cannot hold up the caller.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from .base import import_module_from_path

__all__ = ["Outcome", "PrivateLoop", "Spill", "alone", "module_apart", "stdout_to_stderr"]

_POLL_SECONDS = 0.005
_GRACE_SECONDS = 1.0
_KEPT_OUTPUT = 200

_turn = threading.Lock()


@asynccontextmanager
async def alone() -> AsyncIterator[None]:
    """One examination at a time in this process: imports and stdout are shared by all."""
    # Not an asyncio.Lock: callers may sit on different loops and threads.
    while not _turn.acquire(blocking=False):  # noqa: ASYNC110
        await asyncio.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        _turn.release()


@contextmanager
def module_apart(path: Path) -> Iterator[ModuleType]:
    """Import the module at `path` for the time of the block.

    Afterwards `sys.path` is as before and the module's own packages are forgotten, so that
    another one of the same name can follow. Its dependencies stay imported: many cannot be
    imported twice. A module already loaded from this very file is used as it is.
    """
    name = path.stem if path.is_file() else path.name
    if _is_loaded_from(name, path):
        yield import_module_from_path(path)
        return
    paths = list(sys.path)
    aside = _set_aside(name)
    known = set(sys.modules)
    try:
        yield import_module_from_path(path)
    finally:
        own = {name} if str(path.parent) in paths else {name, *_siblings(path.parent, known)}
        for key in [each for each in sys.modules if each.partition(".")[0] in own]:
            del sys.modules[key]
        sys.modules.update(aside)
        sys.path[:] = paths


def _is_loaded_from(name: str, path: Path) -> bool:
    file = path if path.is_file() else path / "__init__.py"
    origin = getattr(sys.modules.get(name), "__file__", None)
    return isinstance(origin, str) and Path(origin).resolve() == file


def _set_aside(name: str) -> dict[str, ModuleType]:
    # The standard library serves the examiner too; the import then refuses the name.
    if name in sys.stdlib_module_names:
        return {}
    keys = [key for key in sys.modules if key == name or key.startswith(f"{name}.")]
    return {key: sys.modules.pop(key) for key in keys}


def _siblings(folder: Path, known: set[str]) -> set[str]:
    """Top-level modules found next to the package, through its place on `sys.path`."""
    found = set()
    for key in sys.modules.keys() - known:
        origin = getattr(sys.modules[key], "__file__", None)
        places = (folder / f"{key}.py", folder / key / "__init__.py")
        if isinstance(origin, str) and Path(origin).resolve() in places:
            found.add(key)
    return found


class Spill(io.BufferedIOBase):
    """Sends what is written to stderr, and remembers how it began."""

    def __init__(self) -> None:
        self.beginning = ""

    def write(self, data: Any) -> int:
        text = bytes(data).decode(errors="replace")
        self.beginning = (self.beginning + text)[:_KEPT_OUTPUT]
        sys.stderr.write(text)
        return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return sys.stderr.fileno()


@contextmanager
def stdout_to_stderr() -> Iterator[Spill]:
    """Keep stdout clean: it may be carrying a report that a program reads."""
    spill = Spill()
    stream = io.TextIOWrapper(spill, encoding="utf-8", write_through=True)  # type: ignore[type-var]
    with redirect_stdout(stream):
        yield spill


@dataclass(frozen=True)
class Outcome:
    """How a call into a module ended."""

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False


class PrivateLoop:
    """An event loop on a thread of its own; one that a call blocks for good is left behind."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, name="module-trial", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, _GRACE_SECONDS)

    async def call(self, function: Callable[[], Any], timeout: float) -> Outcome:
        """Run `function()` there, sync or async, for at most `timeout` seconds."""
        future = asyncio.run_coroutine_threadsafe(_settle(function), self._loop)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout)
        except TimeoutError:
            return Outcome(timed_out=True)

    def _serve(self) -> None:
        # A background task of the module that calls sys.exit() ends nothing but itself.
        while self._is_open:
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
        with suppress(SystemExit, KeyboardInterrupt):
            self._loop.run_until_complete(_cancel_all(self._loop))
        self._loop.close()


async def _settle(function: Callable[[], Any]) -> Outcome:
    try:
        value = function()
        return Outcome(await value if inspect.isawaitable(value) else value)
    except BaseException as error:
        return Outcome(error=error)


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
