"""Compiled components on disk, so that each is compiled once by a user of this machine.

What is read from here runs as native code. So nobody else may have been able to write it:
the folder and its files belong to this user and are closed to others, links are not
followed, and a file that was cut short or altered is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

from wasmtime import Engine, WasmtimeError
from wasmtime.component import Component

_MOST_ENTRIES = 64
_DIGEST = hashlib.sha256().digest_size

logger = logging.getLogger(__name__)


class CompileCache:
    """One folder with a file for each component and version of the engine."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or _default_folder()

    def component(self, engine: Engine, digest: str, code: bytes) -> Component:
        """Compile `code`, or take what was compiled from it earlier."""
        built_by = f"wasmtime{version('wasmtime')}-{platform.system()}-{platform.machine()}"
        entry = self.folder / f"{digest}-{built_by}.cwasm"
        usable = _is_private(self.folder)
        earlier = _read(entry) if usable else None
        if earlier is not None:
            with contextlib.suppress(WasmtimeError):
                return Component.deserialize(engine, earlier)
        component = Component(engine, code)
        if usable:
            self._keep(entry, bytes(component.serialize()))
        return component

    def _keep(self, entry: Path, compiled: bytes) -> None:
        try:
            descriptor, draft = tempfile.mkstemp(dir=self.folder, suffix=".draft")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(compiled).digest() + compiled)
                os.replace(draft, entry)
            except BaseException:
                os.unlink(draft)
                raise
            self._forget_oldest()
        except OSError as error:
            logger.info("A compiled component was not kept for the next time: %s", error)

    def _forget_oldest(self) -> None:
        entries = sorted(self.folder.glob("*.cwasm"), key=lambda each: each.stat().st_mtime)
        for each in entries[:-_MOST_ENTRIES]:
            each.unlink(missing_ok=True)


def _default_folder() -> Path:
    home = os.environ.get("AMPLIFIER_HOME")
    if home:
        return Path(home, "cache", "wasm")
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        # A user without a home has no cache: nothing can be made below a file.
        caches = os.devnull
    return Path(caches, "amplifier", "wasm")


def _is_private(folder: Path) -> bool:
    """Whether the folder is there, made if need be, and nobody else can write into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        logger.info("Components are compiled anew each time: %s", error)
        return False
    if stat.S_ISDIR(found.st_mode) and _is_ours(found):
        return True
    logger.warning(
        "Components are compiled anew each time, because others can write into %s. "
        "Run `chmod 700` on it.",
        folder,
    )
    return False


def _is_ours(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        # There, a user's own folders are closed to others by default.
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(entry: Path) -> bytes | None:
    """What was kept, if it is whole and can only be from this user."""
    try:
        descriptor = os.open(entry, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or not _is_ours(found):
                logger.warning("%s could have been written by others and is not used", entry)
                return None
            digest, compiled = file.read(_DIGEST), file.read()
    except OSError:
        return None
    if hashlib.sha256(compiled).digest() != digest:
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)
    return compiled
