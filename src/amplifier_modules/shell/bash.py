"""`tool-bash`: runs shell commands, each with a deadline and nothing left behind."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from pydantic import Field

from amplifier_modules.settings import Settings
from amplifier_modules.shell.environment import find_bash, scrubbed, secrets_in
from amplifier_modules.shell.jobs import Jobs
from amplifier_modules.shell.output_results import (
    job_list,
    job_result,
    refused,
    result_of,
    started_job,
)
from amplifier_modules.shell.process import ShellCommand
from amplifier_modules.shell.safety import Profile, Safety

__amplifier_module_type__ = "tool"

_TOO_LONG = (
    "The command is too long for the system ({size} bytes). "
    "Write it to a file first and run that file."
)


class Overrides(Settings):
    """Patterns on top of the profile."""

    allow: list[str] = Field(default_factory=list)
    block: list[str] = Field(default_factory=list)


class BashSettings(Settings):
    """Keys of tool-bash."""

    working_dir: str | None = None
    """Where the first command starts; otherwise the session's working folder."""
    timeout: float = Field(30, gt=0)
    require_approval: bool = True
    max_output_bytes: int = Field(100_000, ge=1)
    safety_profile: Profile = "strict"
    allowed_commands: list[str] = Field(default_factory=list)
    denied_commands: list[str] = Field(default_factory=list)
    safety_overrides: Overrides = Field(default_factory=Overrides)
    max_concurrent: int | None = Field(None, ge=1)
    env_passthrough: list[str] = Field(default_factory=list)
    """Variables that commands see although they look like secrets."""


class BadInput(ValueError):
    """The model passed something unusable; the text tells it what."""


class BashTool:
    """Runs commands in bash. `cd` lasts; variables and functions do not."""

    name = "bash"
    description = (
        "Runs a command in bash and returns stdout, stderr and the return code. Each command "
        "has its own shell: `cd` carries over to the next command, variables and functions do "
        "not. There is no terminal and nothing to read on stdin. What a command leaves running "
        "is killed when it ends; for a server or a long build set run_in_background and use "
        "action with job_id to read its new output or to kill it."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "The command to run. Leave it empty when `action` is given.",
            },
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "description": "Seconds until the command is stopped. With action `read`: how "
                "long to wait for new output.",
            },
            "run_in_background": {
                "type": "boolean",
                "default": False,
                "description": "Return at once with a job_id and let the command run on.",
            },
            "action": {
                "type": "string",
                "enum": ["read", "kill", "list"],
                "description": "What to do with background jobs, instead of a command.",
            },
            "job_id": {
                "type": "string",
                "description": "The job that `read` or `kill` is about.",
            },
        },
        "required": ["command"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "external"}

    def __init__(
        self, settings: BashSettings, bash: str, folder: str, environ: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._bash = bash
        self._first_folder = self._folder = folder
        self._environ = environ
        self._safety = Safety(
            settings.safety_profile,
            [*settings.allowed_commands, *settings.safety_overrides.allow],
            {
                "denied_commands": settings.denied_commands,
                "safety_overrides.block": settings.safety_overrides.block,
            },
            os.path.expanduser("~"),
        )
        most = settings.max_concurrent
        self._free: AbstractAsyncContextManager[None] = (
            asyncio.Semaphore(most) if most is not None else nullcontext()
        )
        self.jobs = Jobs()

    @property
    def folder(self) -> str:
        """Where the next command starts; approval rules on paths are judged from there."""
        return self._folder if os.path.isdir(self._folder) else self._first_folder

    @property
    def require_approval(self) -> bool:
        return self._settings.require_approval

    def get_metadata(self) -> dict[str, Any]:
        """What approval hooks want to know."""
        return {"require_approval": self.require_approval, "risk_level": "high"}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            if input.get("action") is not None:
                return await self._about_jobs(input)
            return await self._run(input)
        except BadInput as error:
            return refused(str(error), "invalid_input")

    # -- commands -----------------------------------------------------------------------

    async def _run(self, input: dict[str, Any]) -> ToolResult:
        text, timeout = _command(input), _timeout(input)
        if _flag(input, "run_in_background"):
            return await self._run_behind(text, timeout)
        # Before the wait: a call runs where it was approved, wherever others go meanwhile.
        folder, note = self._start_folder()
        async with self._free:
            return await self._run_here(text, timeout or self._settings.timeout, folder, note)

    async def _run_here(
        self, text: str, timeout: float, folder: str, note: str | None
    ) -> ToolResult:
        if refusal := self._safety.refusal(text, folder):
            return refused(refusal, "blocked")
        command = self._new_command(text)
        try:
            await command.launch(folder, self._environ)
        except OSError as error:
            return refused(self._launch_failure(error, text, folder), "not_started")
        ending = await command.finish(timeout)
        if ending.folder is not None and ending.folder != folder:
            self._folder = ending.folder
        return result_of(command, ending, note)

    async def _run_behind(self, text: str, timeout: float | None) -> ToolResult:
        folder, _ = self._start_folder()
        if refusal := self._safety.refusal(text, folder) or self._full():
            return refused(refusal, "blocked")
        command = self._new_command(text)
        try:
            job = await self.jobs.start(command, text, folder, self._environ, timeout)
        except OSError as error:
            return refused(self._launch_failure(error, text, folder), "not_started")
        return started_job(job)

    def _new_command(self, text: str) -> ShellCommand:
        return ShellCommand(self._bash, text, self._settings.max_output_bytes)

    def _full(self) -> str | None:
        most = self._settings.max_concurrent
        if most is None or self.jobs.running < most:
            return None
        return (
            f"No more than {most} background jobs may run at a time. "
            "Kill one, or wait until one ends."
        )

    def _start_folder(self) -> tuple[str, str | None]:
        """Where the next command starts, and what to tell if that is not where it should."""
        if os.path.isdir(self._folder):
            return self._folder, None
        lost, self._folder = self._folder, self._first_folder
        return self._folder, f"The folder {lost!r} is gone, so this ran in {self._folder!r}."

    def _launch_failure(self, error: OSError, text: str, folder: str) -> str:
        if error.errno == errno.E2BIG:
            return _TOO_LONG.format(size=len(text.encode(errors="replace")))
        if not os.path.isdir(folder):
            return f"The working folder {folder!r} is not there. Set 'working_dir' to one that is."
        return f"The command cannot be started: {error}. Check that {self._bash!r} can be run."

    # -- jobs ---------------------------------------------------------------------------

    async def _about_jobs(self, input: dict[str, Any]) -> ToolResult:
        action = input["action"]
        if action not in ("read", "kill", "list"):
            raise BadInput(f"There is no action {action!r}. Use 'read', 'kill' or 'list'.")
        if action == "list":
            return job_list(self.jobs.all())
        job = self.jobs.get(str(input.get("job_id") or ""))
        if job is None:
            known = ", ".join(job.id for job in self.jobs.all()) or "none"
            raise BadInput(
                f"There is no background job {input.get('job_id')!r}. Known jobs: {known}."
            )
        wait = _timeout(input) or 0
        if action == "kill":
            await job.kill()
        return job_result(job, await job.news(wait))


def _command(input: dict[str, Any]) -> str:
    text = input.get("command")
    if not isinstance(text, str) or not text.strip():
        raise BadInput("There is no command. Pass the text to run as 'command'.")
    if "\0" in text:
        raise BadInput("The command contains a NUL character. Leave it out.")
    return text


def _timeout(input: dict[str, Any]) -> float | None:
    given = input.get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise BadInput(f"'timeout' cannot be {given!r}. Pass a number of seconds above 0.")
    return float(given)


def _flag(input: dict[str, Any], name: str) -> bool:
    given = input.get(name)
    if given is not None and not isinstance(given, bool):
        raise BadInput(f"{name!r} cannot be {given!r}. Pass true or false.")
    return bool(given)


async def mount(
    coordinator: Any, config: dict[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    settings = BashSettings.read(config, "tool-bash")
    bash = find_bash(os.environ, sys.platform)
    folder = settings.working_dir or coordinator.get_capability("session.working_dir")
    environ = scrubbed(
        os.environ, settings.env_passthrough, secrets_in(getattr(coordinator, "config", None))
    )
    tool = BashTool(settings, bash, os.path.abspath(folder or os.getcwd()), environ)
    await coordinator.mount("tools", tool, name=tool.name)
    return tool.jobs.kill_all
