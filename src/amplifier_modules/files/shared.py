"""What the three file tools of one session have in common."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from amplifier_core.events import ARTIFACT_READ, ARTIFACT_WRITE
from pydantic import Field

from amplifier_modules.files.memory import Memory
from amplifier_modules.files.policy import Policy
from amplifier_modules.files.workspace import Workspace
from amplifier_modules.settings import PROTECTED_PATHS, Settings

READ_KEYS = ("allowed_read_paths", "denied_read_paths")
WRITE_KEYS = ("allowed_write_paths", "denied_write_paths")


class FilesystemSettings(Settings):
    """Keys of tool-filesystem."""

    working_dir: str | None = None
    """Where relative paths start; otherwise the session's working folder."""
    allowed_read_paths: list[str] | None = None
    """None means everywhere."""
    denied_read_paths: tuple[str, ...] = ()
    allowed_write_paths: list[str] | None = None
    """None means the working folder."""
    denied_write_paths: tuple[str, ...] = ()
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Parts of paths that are not written in any folder."""
    max_file_size: int = Field(64 * 1024 * 1024, ge=1)
    """Bytes; a larger file is read in parts only, and not changed."""


class FileTools:
    """Settings, policies and memory of one session."""

    def __init__(self, coordinator: Any, settings: FilesystemSettings) -> None:
        self._hooks = coordinator.hooks
        self._settings = settings
        self.workspace = Workspace(coordinator, settings.working_dir)
        self.memory = Memory()
        self.max_file_size = settings.max_file_size
        # Made once per folder: allowed paths are fixed when they are first resolved.
        self._policies = lru_cache(maxsize=4)(self._policies_at)
        self._policies(self.workspace.base)

    def reading(self) -> Policy:
        return self._policies(self.workspace.base)[0]

    def writing(self) -> Policy:
        return self._policies(self.workspace.base)[1]

    def _policies_at(self, base: str) -> tuple[Policy, Policy]:
        own = self._settings
        writable = ["."] if own.allowed_write_paths is None else own.allowed_write_paths
        return (
            Policy.of("Reading", own.allowed_read_paths, own.denied_read_paths, base, READ_KEYS),
            Policy.of(
                "Writing",
                writable,
                own.denied_write_paths,
                base,
                WRITE_KEYS,
                protected=own.protected_paths,
            ),
        )

    async def tell_read(self, path: str, size: int) -> None:
        await self._hooks.emit(ARTIFACT_READ, {"path": path, "bytes": size})

    async def tell_written(self, path: str, size: int) -> None:
        # `size` is what the kernel's list of events calls it.
        await self._hooks.emit(ARTIFACT_WRITE, {"path": path, "bytes": size, "size": size})
