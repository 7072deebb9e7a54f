"""Mounts a subject in a real session, and speaks to it in the way of its kind."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.message_models import ChatRequest, Message
from built_examples import built
from subjects import MODULE_IDS, PROGRAMS, Subject

PYTHON = Path(__file__).with_name("python")
CONFIG: dict[str, dict[str, Any]] = {
    "tool": {"prefix": "» ", "unknown": {"deep": [1]}},
    "provider": {"prefix": "» ", "model": "echo-2"},
    "orchestrator": {"prefix": "» ", "max_steps": 4},
    "context": {"max_messages": 40},
    "hook": {"forbid": "verboten", "priority": 7},
    "approval": {"forbid": "verboten"},
}
MEASURED = ["COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"]
"""Lets coverage look into the process, where it is measured at all."""
PATIENCE = 60.0


class Failed(Exception):
    """The module failed in the way of its kind; this is what it said."""


def children(pid: int | None = None) -> set[int]:
    """The processes that one has started, this one by default, and that are still there."""
    here = Path(f"/proc/{pid or os.getpid()}/task")
    return {int(pid) for file in here.glob("*/children") for pid in file.read_text().split()}


def open_files() -> list[str]:
    """What the open files of this process are."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found


@dataclass
class Mounted:
    """A subject in its session."""

    subject: Subject
    session: AmplifierSession
    restart: Callable[[], Awaitable[None]] | None = None
    """Starts its server again, where that is somebody else's business than the session's."""

    @property
    def coordinator(self) -> Any:
        return self.session.coordinator

    async def say(self, text: str) -> str:
        """What the module answers to `text`.

        Raises:
            Failed: it did not.
        """
        try:
            said: str = await asyncio.wait_for(_SAYERS[self.subject.kind](self, text), PATIENCE)
        except (Failed, TimeoutError):
            raise
        except Exception as error:
            raise Failed(str(error)) from error
        return said

    async def revive(self) -> None:
        """After a crash: what a person would do, if anything."""
        if self.restart is not None:
            await self.restart()


# -- speaking -------------------------------------------------------------------------


async def _tool(it: Mounted, text: str) -> str:
    result = await it.coordinator.get("tools", "echo").execute({"text": text})
    if not result.success:
        raise Failed(result.error["message"])
    return str(result.output["text"])


async def _provider(it: Mounted, text: str) -> str:
    request = ChatRequest(messages=[Message(role="user", content=text)])
    response = await it.coordinator.get("providers", "echo").complete(request)
    return "".join(block.text for block in response.content)


async def _orchestrator(it: Mounted, text: str) -> str:
    return await it.session.execute(text)


async def _context(it: Mounted, text: str) -> str:
    context = it.coordinator.get("context")
    await context.add_message({"role": "user", "content": text})
    content = (await context.get_messages())[-1]["content"]
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


async def _hook(it: Mounted, text: str) -> str:
    """What it made of the text; to be seen, the usual is asked for as a change."""
    asked = text if text.startswith("!") else f"!modify {text}"
    result = await it.coordinator.hooks.emit("tool:pre", {"tool_input": {"text": asked}})
    if result.action == "deny":
        if "failed on" in result.reason:
            raise Failed(result.reason)
        return str(result.reason)
    return str(result.data["tool_input"]["text"])


async def _approval(it: Mounted, text: str) -> str:
    request = ApprovalRequest(
        tool_name="echo", action=text, details={}, risk_level="low", timeout=None
    )
    response = await it.coordinator.approval_system.request_approval(request)
    if not response.approved:
        raise Failed(response.reason)
    return str(response.reason)


_SAYERS = {
    "tool": _tool,
    "provider": _provider,
    "orchestrator": _orchestrator,
    "context": _context,
    "hook": _hook,
    "approval": _approval,
}

USUALLY = {
    "tool": "» {}",
    "provider": "» {}",
    "orchestrator": "» {}",
    "context": "{}",
    "hook": "{}",
    "approval": "approved: {}",
}
"""What each kind answers to a text, with the config above."""


# -- mounting -------------------------------------------------------------------------


@asynccontextmanager
async def mounted(
    subject: Subject, folder: Path, config: dict[str, Any] | None = None
) -> AsyncIterator[Mounted]:
    """The subject in a session whose other parts are plain; `folder` is for its files."""
    async with AsyncExitStack() as stack:
        server = None
        config = CONFIG[subject.kind] if config is None else config
        if subject.transport == "grpc":
            server = await stack.enter_async_context(serving(subject))
        session = AmplifierSession(plan_with(subject, config, placed(subject, folder, server)))
        await stack.enter_async_context(session)
        failed = session.status.failed_modules
        if failed:
            raise Failed(failed[0]["error"])
        yield Mounted(subject, session, server.restart if server is not None else None)


def plan_with(subject: Subject, config: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """A plan with the subject in its place, and modules of the suite in the others."""
    kind, entry = subject.kind, {"module": subject.module_id, "config": config, **place}
    plan: dict[str, Any] = {
        "session": {"orchestrator": {"module": "loop-basic"}, "context": _plain("context")},
        "providers": [_plain("provider")],
        "tools": [_plain("tool")],
        "hooks": [],
    }
    if kind in ("orchestrator", "context", "approval"):
        plan["session"][kind] = entry
    else:
        plan[f"{kind}s"] = [entry]
    return plan


def _plain(kind: str) -> dict[str, Any]:
    return {"module": MODULE_IDS[kind], "source": str(PYTHON)}


def placed(subject: Subject, folder: Path, server: "Server | None" = None) -> dict[str, Any]:
    """Where the subject is, and how it is run."""
    if subject.transport == "python":
        return {"source": str(PYTHON)}
    if subject.transport == "process":
        isolation = {"mode": "process", "env": MEASURED}
        return {"source": str(PYTHON), "isolation": isolation}
    if server is not None:
        return at_port(subject.kind, folder, server.port)
    if subject.transport == "sidecar":
        return beside(subject, folder)
    return {"source": str(_built(subject))}


def beside(subject: Subject, folder: Path) -> dict[str, Any]:
    """As its author ships it, or its program in a folder with a manifest of ours."""
    if subject.example is not None and subject.example.startswith("sidecar-"):
        return {"source": str(_built(subject))}
    program, *arguments = command_of(subject)
    if arguments:
        serve = folder / "serve"
        serve.write_text(f'#!/bin/sh\nexec {program} {" ".join(arguments)} "$@"\n')
        serve.chmod(0o755)
    else:
        shutil.copy(program, folder / "serve")
    folder.joinpath("amplifier.toml").write_text(
        f'[module]\ntransport = "rust"\ntype = "{subject.kind}"\ncrate = "serve"\n'
        f"[sidecar]\nenv = {MEASURED}\nstart_timeout = {PATIENCE}\n"
    )
    return {"source": str(folder)}


def command_of(subject: Subject) -> list[str]:
    """The program that serves the subject."""
    if subject.example is not None:
        return [str(_built(subject) / PROGRAMS[subject.example])]
    serve = ["-m", "amplifier_core.transports.serve", "--exit-with-stdin"]
    return [sys.executable, *serve, "--path", str(PYTHON), subject.module_id]


def at_port(kind: str, folder: Path, port: int, more: str = "") -> dict[str, Any]:
    folder.joinpath("amplifier.toml").write_text(
        f'[module]\ntransport = "grpc"\ntype = "{kind}"\n'
        f'[grpc]\nendpoint = "127.0.0.1:{port}"\nguard = true\n{more}'
    )
    return {"source": str(folder)}


def _built(subject: Subject) -> Path:
    assert subject.example is not None
    return built(subject.example) / subject.folder


# -- servers --------------------------------------------------------------------------


class Server:
    """A module that somebody started; it is stopped by the end of its stdin."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    async def start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            "--port",
            str(self.port),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdout is not None
        self._process = process
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        assert line.startswith(b"READY:"), line
        self.port = int(line.decode().removeprefix("READY:"))

    async def restart(self) -> None:
        assert self._process is not None
        assert await asyncio.wait_for(self._process.wait(), PATIENCE) == 3
        await self.start()

    async def stop(self) -> None:
        """It has a while to end by itself, and must."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._process.wait(), PATIENCE)


@asynccontextmanager
async def serving(subject: Subject) -> AsyncIterator[Server]:
    server = Server(command_of(subject))
    try:
        await server.start()
        yield server
    finally:
        await server.stop()
