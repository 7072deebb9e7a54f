"""The engine: one thread per loaded model, which all sessions of the process share.

The engine is llama.cpp inside this process. Its calls block, so they are made on a thread of
their own, one at a time; what they produce is handed to the event loop that asked.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import queue
import secrets
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amplifier_core.llm_errors import AbortError, ConfigurationError, ProviderUnavailableError

from .failures import as_llm_error
from .options import MOUNT_NAME
from .weights import ENGINE_PACKAGE, INSTALL_ENGINE

logger = logging.getLogger(__name__)

Chunk = dict[str, Any]

_LOOK_SECONDS = 0.05
# A stop is noticed between batches of the prompt: small ones cost nothing on a processor.
_BATCH_TOKENS = 64
_SILENT = -1


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What makes two loaded models different."""

    path: Path
    context_window: int
    threads: int


class Generation:
    """One request on its way through the engine, awaited on the loop that made it."""

    def __init__(self, body: dict[str, Any], looser_body: dict[str, Any] | None = None) -> None:
        self.body = body
        self._looser_body = looser_body
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
        self._is_stopped = False

    async def chunks(self, look: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        """What the engine produces; leaving the iteration early stops the engine.

        `look` is called all the time and ends the iteration by raising.
        """
        try:
            while (chunk := await self._next(look)) is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
            if self._is_stopped:
                raise AbortError("The session was closed before the answer.", provider=MOUNT_NAME)
        finally:
            self.stop()

    async def _next(self, look: Callable[[], None]) -> Chunk | Exception | None:
        while True:
            look()
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    return await self._arrived.get()
            except TimeoutError:
                continue

    def stop(self) -> None:
        """Let the engine drop this request at its next token, or before it begins."""
        self._is_stopped = True

    # -- on the engine's thread -------------------------------------------------------

    def run(self, server: Any) -> None:
        try:
            if not self._is_stopped:
                self._generate(server)
        except Exception as error:
            self.deliver(as_llm_error(error))
        else:
            self.deliver(None)

    def _generate(self, server: Any) -> None:
        try:
            server.handle_chat_completions(self.body, self._take)
        except ValueError as error:
            if self._looser_body is None:
                raise
            logger.warning("The engine cannot enforce a tool's parameters: %s", error)
            server.handle_chat_completions(self._looser_body, self._take)

    def _take(self, chunk: Chunk) -> bool:
        """Called by the engine with each chunk; True makes it stop."""
        if not self._is_stopped:
            self.deliver(chunk)
        return self._is_stopped

    def deliver(self, item: Chunk | Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, item)
        except RuntimeError:  # The loop was closed; nobody waits any more.
            self.stop()


class Engine:
    """A model that is loaded at its first use and stays until the process ends."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._waiting: queue.SimpleQueue[Generation | None] = queue.SimpleQueue()
        self._running: Generation | None = None
        self._is_closing = False
        self._server: Any = None
        self._thread = threading.Thread(
            target=self._serve, name=f"model {options.path.stem}", daemon=True
        )
        self._thread.start()

    def submit(self, generation: Generation) -> None:
        self._waiting.put(generation)

    def close(self) -> None:
        """Stop what runs and free the model. Called when the interpreter ends."""
        self._is_closing = True
        self._waiting.put(None)
        if self._running is not None:
            self._running.stop()
        self._thread.join()

    def _serve(self) -> None:
        self._warm_up()
        while (generation := self._waiting.get()) is not None:
            self._running = generation
            if self._is_closing:
                break
            try:
                server = self._loaded()
            except Exception as error:
                generation.deliver(error)
            else:
                generation.run(server)
            self._running = None
        # Freed here and now: at a later point the interpreter may be gone.
        self._server = None

    def _warm_up(self) -> None:
        try:
            self._loaded()
        except Exception as error:
            logger.debug("Warming up failed; the first call will tell: %s", error)

    def _loaded(self) -> Any:
        if self._server is None:
            self._server = _load(self._options)
        return self._server


def _load(options: EngineOptions) -> Any:
    try:
        library = import_module(ENGINE_PACKAGE)
    except ImportError as error:
        raise ProviderUnavailableError(
            f"The engine for local models cannot be imported: {error}. Run `{INSTALL_ENGINE}`.",
            provider=MOUNT_NAME,
            retryable=False,
        ) from error
    # The engine insists on a door of its own. It gets a private one, walled up once it is open.
    with TemporaryDirectory(prefix="amplifier-") as folder:
        params = _parameters(library, options)
        if os.name == "posix":
            params.hostnames = [f"{folder}/engine.sock"]
        try:
            server = library.Server(params)
        except RuntimeError as error:
            raise ConfigurationError(
                f"The model {str(options.path)!r} cannot be loaded: {error} "
                f"Check that the file is complete and that memory suffices.",
                provider=MOUNT_NAME,
            ) from error
        # One token warms the caches; and a server that never worked hangs when it is freed.
        server.handle_completions({"prompt": " ", "n_predict": 1})
        return server


def _parameters(library: Any, options: EngineOptions) -> Any:
    params = library.CommonParams()
    params.model.path = str(options.path)
    params.n_ctx = options.context_window
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = 0
    params.warmup = False
    params.verbosity = _SILENT
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_urlsafe()]
    return params


_engines: dict[EngineOptions, Engine] = {}
_changing = threading.Lock()


def shared_engine(options: EngineOptions) -> Engine:
    """The process's one engine for `options`; a new one begins to load at once."""
    with _changing:
        if options not in _engines:
            _engines[options] = Engine(options)
        return _engines[options]


@atexit.register
def _close_all() -> None:
    while _engines:
        _engines.popitem()[1].close()


_left_behind: list[dict[EngineOptions, Engine]] = []


def _start_afresh() -> None:
    """A forked child lacks the threads of its parent, and cannot even free what they held."""
    _left_behind.append(dict(_engines))
    _engines.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
