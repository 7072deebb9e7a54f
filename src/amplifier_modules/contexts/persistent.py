"""context-persistent: context-simple that also keeps the conversation in a file."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.llm_errors import ContextLengthError

from amplifier_modules.contexts.options import PersistentOptions
from amplifier_modules.contexts.simple import SimpleContext
from amplifier_modules.contexts.tokens import estimate_tokens
from amplifier_modules.contexts.transcript import Transcript

__amplifier_module_type__ = "context"

FILE_NAME = "context-messages.jsonl"

logger = logging.getLogger(__name__)


async def mount(
    coordinator: ModuleCoordinator, config: dict[str, Any] | None = None
) -> Callable[[], None]:
    context = PersistentContext(coordinator, PersistentOptions.read(config, "context-persistent"))
    try:
        await context.start()
    except BaseException:
        context.close()
        raise
    await coordinator.mount("context", context)
    return context.close


class PersistentContext(SimpleContext):
    """A conversation that goes on where its file ends."""

    def __init__(self, coordinator: ModuleCoordinator, options: PersistentOptions) -> None:
        super().__init__(coordinator, options)
        self._memory_files = options.memory_files
        self._max_tokens = options.max_tokens
        given = options.transcript_path
        path = self._path(given) if given is not None else self._session_dir() / FILE_NAME
        self._transcript = Transcript(path)
        self._has_loaded = False

    async def start(self) -> None:
        """Read the file, once; if there is nothing in it, begin with the memory files.

        Raises:
            ContextLengthError: the memory files alone are larger than `max_tokens`.
        """
        loaded = self._transcript.load()
        if loaded:
            self._replace([self._admitted(message) for message in loaded])
            self._has_loaded = True
            return
        memories = [(name, memory) for name in self._memory_files if (memory := self._memory(name))]
        self._refuse_too_many(memories)
        for _, memory in memories:
            self._keep(memory)

    def close(self) -> None:
        self._transcript.close()
        super().close()

    async def add_message(self, message: dict[str, Any]) -> None:
        """Append to the file and to the history; if the file cannot be written, to neither."""
        self._keep(self._admitted(message))

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replace history and file, unless the history came from the file."""
        if self._has_loaded:
            logger.info("The conversation was resumed from %s; not replaced", self._transcript.path)
            return
        admitted = [self._admitted(message) for message in messages]
        self._transcript.replace(admitted)
        self._replace(admitted)

    async def clear(self) -> None:
        """Forget everything, in the file as well."""
        self._transcript.replace(())
        self._has_loaded = False
        self._replace([])

    def _keep(self, message: dict[str, Any]) -> None:
        self._transcript.append(message)
        self._history.append(message)

    def _memory(self, name: str) -> dict[str, Any] | None:
        path = self._path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            logger.warning("Memory file %s is left out: %s", path, error)
            return None
        content = f"[Context from {path.name}]\n\n{text}"
        # Pinned, because a system prompt factory takes the place of other system messages.
        metadata = {"source": "memory", "path": str(path), "pinned": True}
        return self._admitted({"role": "system", "content": content, "metadata": metadata})

    def _refuse_too_many(self, memories: list[tuple[str, dict[str, Any]]]) -> None:
        tokens = [(name, estimate_tokens(memory)) for name, memory in memories]
        total = sum(count for _, count in tokens)
        if total > self._max_tokens:
            each = ", ".join(f"{name}: {count}" for name, count in tokens)
            raise ContextLengthError(
                f"The memory files take about {total} tokens and {self._max_tokens} fit "
                f"({each}). Shorten or drop some of `memory_files`."
            )

    def _session_dir(self) -> Path:
        """The session's own folder, the same that the app uses."""
        capability = self._coordinator.get_capability
        given = capability("session.dir")
        if given is not None:
            return Path(str(given))
        home = os.environ.get("AMPLIFIER_HOME") or Path.home() / ".amplifier"
        project = project_slug(Path(str(capability("session.working_dir") or ".")).resolve())
        session = re.sub(r"[/\\]", "-", self._coordinator.session_id)
        name = "unnamed" if session in ("", ".", "..") else session
        return Path(home, "projects", project, "sessions", name)


def project_slug(folder: Path) -> str:
    """The name of a project's folder: its path, with dashes for separators."""
    slug = re.sub(r"[/\\]", "-", str(folder)).replace(":", "")
    return slug if slug.startswith("-") else f"-{slug}"
