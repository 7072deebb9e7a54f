"""A project with hook files, and a coordinator that hooks-shell is mounted on."""

import json
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from amplifier_core.testing import MockContextManager, MockCoordinator

from amplifier_modules.hook_commands.shell import mount

GUARDS = {
    "PreToolUse": "tool:pre",
    "UserPromptSubmit": "prompt:submit",
    "PermissionRequest": "approval:required",
    "Stop": "prompt:complete",
}
OBSERVERS = {
    "PostToolUse": "tool:post",
    "SessionStart": "session:start",
    "SessionEnd": "session:end",
    "PreCompact": "context:pre_compact",
    "Notification": "user:notification",
    "SubagentStart": "task:agent_spawned",
    "SubagentStop": "delegate:agent_completed",
}


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **fields}


def python(code: str) -> str:
    """A shell command that runs Python code."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def says(**answer: Any) -> str:
    """A shell command that prints an answer."""
    return f"printf %s {shlex.quote(json.dumps(answer))}"


def group(*hooks: Any, **fields: Any) -> dict[str, Any]:
    made = [command(each) if isinstance(each, str) else each for each in hooks]
    return {"hooks": made, **fields}


def write_hooks(project: Path, name: str = "hooks.json", **events: Any) -> Path:
    """A hook file with a group, or a list of them, for each event."""
    path = project / ".amplifier" / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sets = {event: made if isinstance(made, list) else [made] for event, made in events.items()}
    path.write_text(json.dumps({"hooks": sets}))
    return path


class Display:
    """Remembers what the user was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def show_message(self, text: str, level: str, source: str = "") -> None:
        self.shown.append((text, level))


@asynccontextmanager
async def shell(project: Path, **config: Any) -> AsyncIterator[MockCoordinator]:
    """A coordinator with hooks-shell for a project."""
    coordinator = MockCoordinator()
    coordinator.display_system = Display()
    coordinator.mount_points["context"] = MockContextManager()
    coordinator.register_capability("session.working_dir", str(project))
    stop: Callable[[], None] | None = await mount(coordinator, config)
    try:
        yield coordinator
    finally:
        if stop is not None:
            stop()


async def answer(
    project: Path, event: str, data: dict[str, Any] | None = None, **config: Any
) -> Any:
    """What hooks-shell says to one event."""
    async with shell(project, **config) as coordinator:
        return await coordinator.hooks.emit(event, data or {})


async def on_tool(project: Path, tool: str = "bash", **config: Any) -> Any:
    return await answer(project, "tool:pre", {"tool_name": tool, "tool_input": {}}, **config)
