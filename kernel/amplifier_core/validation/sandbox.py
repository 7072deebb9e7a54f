"""Where a module under examination runs: apart from the program that examines it.

Its import is taken back, its output does not reach stdout, and its coroutines run on a
loop and a thread of their own, so that even a mount that blocks cannot hold up the caller.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import io
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from .base import import_module_from_path

__all__ = ["Load", "Outcome", "PrivateLoop", "Spill", "alone", "apart", "stdout_to_stderr"]

_POLL_SECONDS = 0.005
_GRACE_SECONDS = 1.0
_KEPT_OUTPUT = 200

_turn = threading.Lock()

Load = Callable[[], ModuleType]


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
def apart(target: Path | str) -> Iterator[Load]:
    """Gives a function that imports a module, by its path or dotted name; then takes it back.

    Afterwards `sys.path` is as before, and so is every module that was there. The new one
    and what belongs to it are forgotten, so that another one of the same name can follow;
    its dependencies stay imported, because many cannot be imported twice. A module already
    loaded from the very same file is used as it is.
    """
    path, places, known = sys.path, list(sys.path), dict(sys.modules)
    try:
        if isinstance(target, str):
            yield lambda: importlib.import_module(target)
        else:
            _set_namesakes_aside(target)
            yield lambda: import_module_from_path(target)
    finally:
        for key in _new_and_own(target, known, places):
            sys.modules.pop(key, None)
        sys.modules.update(known)
        path[:] = places
        sys.path = path


def _set_namesakes_aside(path: Path) -> None:
    name = _name(path)
    if name in sys.stdlib_module_names:
        text = f"{name!r} is the name of a module of the standard library."
        raise ImportError(f"{text} Rename the package.")
    if not _is_loaded_from(path, sys.modules):
        for key in [each for each in sys.modules if _belongs_to(each, name)]:
            del sys.modules[key]


def _new_and_own(
    target: Path | str, known: Mapping[str, ModuleType], places: list[str]
) -> list[str]:
    new = sys.modules.keys() - known.keys()
    if isinstance(target, str):
        top = target.partition(".")[0]
        own = {target if top in known else top}
    elif _is_loaded_from(target, known):
        own = set()
    elif str(target.parent) in places:
        own = {_name(target)}
    else:
        own = {_name(target), *_siblings(target.parent, new)}
    return [key for key in new if any(_belongs_to(key, name) for name in own)]


def _name(path: Path) -> str:
    return path.stem if path.is_file() else path.name


def _belongs_to(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def _is_loaded_from(path: Path, modules: Mapping[str, ModuleType]) -> bool:
    file = path if path.is_file() else path / "__init__.py"
    return _origin(modules.get(_name(path))) == file


def _siblings(folder: Path, new: Iterable[str]) -> set[str]:
    """Top-level modules found next to the package, through its place on `sys.path`."""
    return {
        key
        for key in new
        if _origin(sys.modules.get(key)) in (folder / f"{key}.py", folder / key / "__init__.py")
    }


def _origin(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


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
