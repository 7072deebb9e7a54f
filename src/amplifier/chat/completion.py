"""Completes what is being typed: commands after `/`, files, mentions and agents after `@`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document

from .texts import one_line

MOST_COMPLETIONS = 50
MOST_FILES = 5_000
SECONDS_TO_KEEP = 10.0
LONGEST_META = 60
SHORTEST_TO_SEARCH = 2
NOT_SEARCHED = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
_ROOTS: dict[str, tuple[str, ...]] = {"user:": ("~", ".amplifier"), "project:": (".amplifier",)}


class Command(Protocol):
    """What is known of a slash command."""

    @property
    def about(self) -> str: ...


class ChatCompleter(Completer):
    """Slash commands at the start, and what can be mentioned anywhere."""

    def __init__(
        self,
        commands: Mapping[str, Command],
        folder: Path,
        agents: Callable[[], Mapping[str, str]],
    ) -> None:
        self._commands = commands
        self._folder = folder
        self._agents = agents
        self._files: list[str] = []
        self._files_read = -SECONDS_TO_KEEP

    def get_completions(self, document: Document, _event: Any) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text and "\n" not in text:
            for name, command in self._commands.items():
                if f"/{name}".startswith(text):
                    yield Completion(f"/{name}", -len(text), display_meta=command.about)
            return
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        if word.startswith("@"):
            yield from list(self._mentions(word[1:]))[:MOST_COMPLETIONS]

    def _mentions(self, start: str) -> Iterable[Completion]:
        for name, about in sorted(self._agents().items()):
            if name.startswith(start):
                yield _completion(name, start, f"agent: {about}")
        for root in _ROOTS:
            if start and root.startswith(start):
                yield _completion(root, start)
        files = list(self._files_at(start))
        if not files and len(start) >= SHORTEST_TO_SEARCH and ":" not in start:
            files = [each for each in self._all_files() if start.lower() in each.lower()]
        for each in files:
            yield _completion(each, start)

    def _files_at(self, start: str) -> Iterable[str]:
        """Files that a path leads to, as far as it is typed."""
        parent, _, prefix = start.rpartition("/")
        before = f"{parent}/" if parent or start.startswith("/") else ""
        root = next((each for each in _ROOTS if start.startswith(each)), "")
        if root and not before:
            before, prefix = root, start.removeprefix(root)
        folder = self._folder.joinpath(*_ROOTS.get(root, ())) / before.removeprefix(root)
        try:
            found = sorted(folder.expanduser().iterdir())
        except (OSError, RuntimeError):
            return
        for each in found:
            if each.name.startswith(prefix) and (prefix or not each.name.startswith(".")):
                yield f"{before}{each.name}{'/' if each.is_dir() else ''}"

    def _all_files(self) -> list[str]:
        """Files of the project, as many as can be listed in no time."""
        if time.monotonic() - self._files_read > SECONDS_TO_KEEP:
            self._files = list(_walked(self._folder))
            self._files_read = time.monotonic()
        return self._files


def _completion(name: str, start: str, about: str = "") -> Completion:
    return Completion(
        f"@{name}", -len(start) - 1, display_meta=one_line(about, LONGEST_META) if about else None
    )


def _walked(root: Path) -> Iterable[str]:
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and each not in NOT_SEARCHED
        )
        for each in sorted(files):
            seen += 1
            if seen > MOST_FILES:
                return
            yield os.path.relpath(os.path.join(folder, each), root)
