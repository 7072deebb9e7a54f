"""Runs an ordinary Python module in a process of its own: `isolation: process` in a plan.

It is served there over gRPC, and mounted here through the same adapters as any sidecar.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from .._mount_plan import Entry
from ..loader import ModuleLoader, MountFunction, _checked
from ..module_sources import ModuleLoadError, find_directory, local_path
from . import entry_points
from .settings import CallSettings, ProcessSettings, problem

SERVED_CONFIG = "@json"
"""Where the whole config is, so that nothing is lost on the way."""


class Isolation(ProcessSettings):
    """What an entry's `isolation` may say: a mode, or a mapping with more."""

    mode: Literal["process"] = "process"
    start_timeout: float = Field(30.0, gt=0)
    timeout: float | None = Field(None, gt=0)
    """Seconds that one call may take."""


class Apart:
    """Loads one entry of a plan like a loader, into a process of its own."""

    def __init__(self, entry: Entry, loader: Any) -> None:
        self._loader = loader
        self._settings = _read(entry)

    async def load(
        self, module_id: str, config: dict[str, Any], source_hint: Any, coordinator: Any
    ) -> MountFunction:
        """Raises: ModuleLoadError: gRPC is not installed."""
        try:
            from .sidecar import ProcessConnection, mount_process
        except ModuleNotFoundError as error:
            raise ModuleLoadError(
                f"Module {module_id!r} cannot have a process of its own: {error.name!r} is not "
                f"installed. Run `pip install 'amplifier-core[grpc]'`."
            ) from error
        path = await self._path(module_id, source_hint, coordinator)
        settings = self._settings
        calls = (
            CallSettings() if settings.timeout is None else CallSettings(timeout=settings.timeout)
        )
        sent = {SERVED_CONFIG: json.dumps(config, default=str)}

        def command(port: int) -> list[str]:
            serve = [sys.executable, "-P", "-m", f"{__package__}.serve", "--exit-with-stdin"]
            place = [] if path is None else ["--path", str(path.absolute())]
            return [*serve, "--port", str(port), *place, module_id]

        async def mount(coordinator: Any) -> Any:
            process = ProcessConnection(module_id, command, settings, calls, sent, None)
            process.own_environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
            return await mount_process(process, None, coordinator, config)

        return _checked(module_id, mount)

    async def _path(self, module_id: str, hint: Any, coordinator: Any) -> Path | None:
        """Where the module is; None if it is installed."""
        if not isinstance(self._loader, ModuleLoader):
            return local_path(hint)
        source = await self._loader._source(module_id, hint, coordinator)
        if source is None and entry_points.installed.find(module_id) is None:
            return find_directory(module_id, self._loader._search_paths)
        return source


def _read(entry: Entry) -> Isolation:
    given = entry.raw["isolation"]
    try:
        return Isolation.model_validate({"mode": given} if isinstance(given, str) else given)
    except ValidationError as error:
        raise ValueError(f"{entry.where}.isolation: {problem(Isolation, error)}") from None
