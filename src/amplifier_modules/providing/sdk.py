"""A vendor's SDK: imported when it is first used, or in the background before that."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amplifier_core.llm_errors import ConfigurationError

logger = logging.getLogger(__name__)

_loaded: dict[str, Any] = {}
_tls_contexts: dict[str, ssl.SSLContext] = {}
_loading = threading.Lock()


@dataclass(frozen=True)
class Sdk:
    """The package `name`, which comes with the extra `extra` and speaks HTTP through `http`."""

    name: str
    extra: str
    http: str = "httpx2"
    parts: tuple[str, ...] = ()
    """Modules that it would import only in the first call."""
    rehearse: Callable[[Any, Any], None] | None = None
    """Given the package and `http`: does once what would make the first call slow."""

    def check(self) -> None:
        """
        Raises:
            ConfigurationError: the package is not installed.
        """
        if not self._is_installed():
            raise ConfigurationError(
                f"The package {self.name!r} is not installed. "
                f"Run `pip install 'amplifier[{self.extra}]'`.",
                provider=self.extra,
            )

    def warm(self) -> None:
        """Begin to load it; whoever needs it meanwhile waits for that."""
        if self.name not in _loaded and self._is_installed():
            name = f"import-{self.name}"
            threading.Thread(target=self._load_quietly, name=name, daemon=True).start()

    async def load(self) -> Any:
        """The package; the event loop goes on while it is being imported."""
        self.check()
        if self.name not in _loaded:
            await asyncio.to_thread(self._load)
        return _loaded[self.name]

    def tls(self) -> ssl.SSLContext:
        """One context for all clients of a process: reading the certificates takes 0.1 s."""
        return _tls_contexts[self.http]

    def _is_installed(self) -> bool:
        try:
            return importlib.util.find_spec(self.name) is not None
        except ModuleNotFoundError:
            # It is a part of a package of which nothing is there.
            return False

    def _load(self) -> None:
        with _loading:
            if self.name not in _loaded:
                http = importlib.import_module(self.http)
                _tls_contexts.setdefault(self.http, http.create_ssl_context())
                # Else the HTTP client imports what it needs of `anyio` in the first request.
                importlib.import_module("anyio").run(_nothing)
                package = importlib.import_module(self.name)
                for part in self.parts:
                    importlib.import_module(part)
                self._rehearse(package, http)
                _loaded[self.name] = package

    def _rehearse(self, package: Any, http: Any) -> None:
        try:
            if self.rehearse is not None:
                self.rehearse(package, http)
        except Exception:
            # Then the first call is slow, and no worse.
            logger.debug("The SDK %r cannot be rehearsed", self.name, exc_info=True)

    def _load_quietly(self) -> None:
        try:
            self._load()
        except Exception:
            # The first call meets the same error and can tell the user.
            logger.debug("The SDK %r cannot be imported", self.name, exc_info=True)


async def _nothing() -> None:
    pass
