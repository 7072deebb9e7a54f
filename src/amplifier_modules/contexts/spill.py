"""Cuts tool results that are far too long, and keeps their full text in a file."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from amplifier_modules.contexts.messages import metadata_of, text_of

logger = logging.getLogger(__name__)


class Spill:
    """Where full texts go: the folder that `locate()` names, or a private temporary one.

    The folder is looked for when the first text comes. Only a temporary one is removed at
    the end; others belong to the session.
    """

    def __init__(self, max_bytes: int, locate: Callable[[], Path | None]) -> None:
        self._max_bytes = max_bytes
        self._locate = locate
        self._folder: Path | None = None
        self._temporary: Path | None = None

    def capped(self, message: dict[str, Any]) -> dict[str, Any]:
        """`message` itself, or one with the beginning of its text and where the rest is."""
        content, metadata = message.get("content"), metadata_of(message)
        if "spill" in metadata:
            return message
        text = text_of(content)
        encoded = text.encode("utf-8", "surrogatepass")
        if len(encoded) <= self._max_bytes:
            return message
        path = self._save(encoded)
        head = encoded[: self._max_bytes].decode("utf-8", "ignore")
        marker = _marker(self._max_bytes, len(encoded), path)
        where = {"path": str(path) if path else None, "bytes": len(encoded)}
        shorter = {**message, "content": _cut(content, f"{head}\n{marker}")}
        return {**shorter, "metadata": {**metadata, "spill": where}}

    def _save(self, text: bytes) -> Path | None:
        try:
            path = self._home() / f"tool-result-{uuid4().hex[:12]}.txt"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text)
        except OSError as error:
            logger.warning("The full text of a tool result could not be kept: %s", error)
            return None
        return path

    def _home(self) -> Path:
        if self._folder is None:
            folder = self._locate()
            if folder is None:
                folder = self._temporary = Path(tempfile.mkdtemp(prefix="amplifier-"))
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = folder.resolve()
        return self._folder

    def close(self) -> None:
        """Remove what is only temporary."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._folder = self._temporary = None


def _marker(kept: int, total: int, path: Path | None) -> str:
    where = f"The full text is in {str(path)!r}; read the part that you need." if path else ""
    return f"[Cut after {kept} of {total} bytes. {where or 'The rest could not be kept.'}]"


def _cut(content: Any, text: str) -> Any:
    """`text` in the shape of the content it comes from."""
    answered = [
        block
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    if not answered:
        return text
    emptied = [{**block, "output": ""} for block in answered[1:]]
    return [{**answered[0], "output": text}, *emptied]
