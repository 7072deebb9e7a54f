"""Runs the hooks that an event calls for, and adds up what they say."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from amplifier_modules.hook_commands import process
from amplifier_modules.hook_commands.answers import Failure, Said, cut, from_command, from_model
from amplifier_modules.hook_commands.environment import masked, scrubbed
from amplifier_modules.hook_commands.hook_events import KINDS, HookEvent, subject_of
from amplifier_modules.hook_commands.hook_files import hooks_folder
from amplifier_modules.hook_commands.hook_sets import CommandHook, Group, PromptHook, Source
from amplifier_modules.hook_commands.judging import judged
from amplifier_modules.hook_commands.options import ShellSettings

logger = logging.getLogger(__name__)

AnyHook = CommandHook | PromptHook
_LONGEST_LABEL = 120


@dataclass(slots=True)
class Outcome:
    """What all hooks of one event said."""

    reason: str | None = None
    """Why the event is denied; None if it is not."""
    messages: list[str] = field(default_factory=list)
    level: Literal["info", "warning"] = "info"
    injections: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        self.messages.append(text)
        self.level = "warning"


class Runner:
    """Runs hooks for one session."""

    def __init__(self, coordinator: Any, settings: ShellSettings, project: Path) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self._project = project

    async def run(
        self, name: HookEvent, data: dict[str, Any], sources: Iterable[Source]
    ) -> Outcome:
        """Run what matches, group by group; the first refusal ends it.

        An injection does not: it would let a helpful hook switch off a guard behind it.
        """
        outcome, subject = Outcome(), subject_of(name, data)
        for source in sources:
            for group in source.hooks.hooks.get(name, ()):
                if group.matches(subject):
                    await self._run_group(group, name, data, source, outcome)
                if outcome.reason is not None:
                    return outcome
        return outcome

    async def _run_group(
        self, group: Group, name: HookEvent, data: dict[str, Any], source: Source, outcome: Outcome
    ) -> None:
        if group.parallel:
            async with asyncio.TaskGroup() as tasks:
                waiting = [
                    tasks.create_task(self._said(hook, name, data, source)) for hook in group.hooks
                ]
            for task in waiting:
                _add(task.result(), name, outcome)
            return
        for hook in group.hooks:
            _add(await self._said(hook, name, data, source), name, outcome)
            if outcome.reason is not None:
                return

    async def _said(
        self, hook: AnyHook, name: HookEvent, data: dict[str, Any], source: Source
    ) -> Said | Failure:
        """What a hook said; a failure of a guard is a refusal."""
        try:
            return await self._ask(hook, data, source)
        except Failure as failure:
            text = f"The {name} hook {label_of(hook)!r} of {source.name!r} failed. {failure}"
            logger.warning("%s", text)
            if not (KINDS[name].blocks and self._settings.fail_closed):
                return Failure(text)
            return Said(blocks=True, reason=f"{text} A guard that fails denies.")

    async def _ask(self, hook: AnyHook, data: dict[str, Any], source: Source) -> Said:
        told = self._told(data)
        try:
            if isinstance(hook, CommandHook):
                return from_command(await self._finished(hook, told, source.folder))
            async with asyncio.timeout(hook.timeout):
                providers = self._coordinator.get("providers")
                answer = await judged(providers, hook.prompt, told)
            return from_model(answer)
        except TimeoutError:
            raise Failure(f"It gave no answer within {hook.timeout:g} s.") from None
        except OSError as error:
            raise Failure(f"It cannot be started: {error.strerror or error}.") from error

    async def _finished(self, hook: CommandHook, told: str, folder: Path) -> process.Finished:
        return await process.run(
            hook.command,
            told.encode(),
            folder=folder,
            environment=self._environment(),
            timeout=hook.timeout,
            limit=self._settings.max_output,
        )

    def _environment(self) -> dict[str, str]:
        return {
            **scrubbed(os.environ, self._settings.env_passthrough),
            "AMPLIFIER_PROJECT_DIR": str(self._project),
            "AMPLIFIER_HOOKS_DIR": str(hooks_folder(self._project)),
            "AMPLIFIER_SESSION_ID": self._coordinator.session_id,
        }

    def _told(self, data: dict[str, Any]) -> str:
        about = {
            "session_id": self._coordinator.session_id,
            "timestamp": datetime.now(UTC).isoformat(),
            "cwd": str(self._project),
            **data,
        }
        try:
            return json.dumps(about, default=str, skipkeys=True)
        except (ValueError, RecursionError) as error:
            raise Failure(f"The event cannot be written as JSON: {error}.") from error


def label_of(hook: AnyHook) -> str:
    return cut(masked(hook.label), _LONGEST_LABEL)


def _add(said: Said | Failure, name: HookEvent, outcome: Outcome) -> None:
    kind = KINDS[name]
    if isinstance(said, Failure):
        outcome.warn(str(said))
        return
    if said.message:
        outcome.messages.append(said.message)
    if said.blocks and not kind.blocks:
        outcome.warn(f"A {name} hook cannot block, but wanted to: {said.reason}")
    elif said.blocks and outcome.reason is None:
        outcome.reason = said.reason
    if said.injection and kind.injects:
        outcome.injections.append(said.injection)
    elif said.injection:
        outcome.warn(f"A {name} hook cannot add to the conversation; its text is dropped.")
