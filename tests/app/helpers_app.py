"""Runs the real command in a process of its own, with stand-in modules found as installed ones."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

COMMAND = [sys.executable, "-m", "amplifier.cli"]
KEYS = ("ANTHROPIC", "OPENAI", "GOOGLE", "GEMINI", "AZURE", "OLLAMA")
SECONDS = 30
# A provider whose answers are written in the test, as `async def reply(number, request)`.
PROVIDER = """\
import asyncio
import os
import sys
import time
from pathlib import Path

from amplifier_core import ChatResponse, ProviderInfo, TextBlock, ToolCall, ToolResult


class Standin:
    name = "standin"
    calls = 0

    def get_info(self):
        return ProviderInfo(id="standin", display_name="Stand-in", defaults={"model": "tiny"})

    async def list_models(self):
        return []

    def parse_tool_calls(self, response):
        return list(response.tool_calls or [])

    async def complete(self, request, **options):
        self.calls += 1
        return await reply(self.calls, request)


async def mount(coordinator, config=None):
    await coordinator.mount("providers", Standin(), name="standin")


def says(text):
    return ChatResponse(content=[TextBlock(text=text)])


def uses(tool, **arguments):
    call = ToolCall(id="call-1", name=tool, arguments=arguments)
    return ChatResponse(content=[], tool_calls=[call])


def tell(text):
    print(text, file=sys.stderr, flush=True)


async def wait_for(file):
    while not Path(file).exists():
        await asyncio.sleep(0.005)


"""
TOOL = """\
import asyncio
import os
import sys

from amplifier_core import ToolResult


class Look:
    name = "look"
    description = "Stands in for the real one."
    input_schema = {"type": "object", "properties": {}}

    async def execute(self, input):
        return await look(input)


async def mount(coordinator, config=None):
    await coordinator.mount("tools", Look(), name="look")


"""
# What a session is made of here: a stand-in for a tool, and nothing that asks or injects.
PLAIN = "bundle: {name: plain}\ntools: [{module: tool-look}]\n"


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """All of stdout as one JSON document."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def last_line(self) -> str:
        return self.err.splitlines()[-1]


class App:
    """The command, started in an empty folder, without anybody's keys."""

    def __init__(self, folder: Path) -> None:
        self.modules = folder / "modules"
        self.work = folder / "work"
        self.modules.mkdir()
        self.work.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(KEYS)}
        more = {"PYTHONPATH": str(self.modules), "PYTHONWARNINGS": "error", "COLUMNS": "80"}
        self.home = folder / "home"
        self.env = {**kept, **more, "AMPLIFIER_HOME": str(self.home)}
        (self.home / "bundles").mkdir(parents=True)
        (self.home / "bundles/plain.yaml").write_text(PLAIN)
        (self.home / "settings.yaml").write_text("bundle: {active: plain}\n")

    def offer(self, module_id: str, source: str, function: str = "mount") -> None:
        """Make `source` an installed module, as far as entry points can tell."""
        name = module_id.replace("-", "_")
        (self.modules / f"{name}.py").write_text(source)
        metadata = self.modules / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        line = f"[amplifier.modules]\n{module_id} = {name}:{function}\n"
        (metadata / "entry_points.txt").write_text(line)

    def offer_provider(self, reply: str, module_id: str = "provider-mock") -> None:
        self.offer(module_id, PROVIDER + dedent(reply))

    def offer_tool(self, look: str) -> None:
        self.offer("tool-look", TOOL + dedent(look))

    def run(self, *arguments: str, stdin: str | bytes | None = None, **env: str) -> Ended:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL if given is None else None,
            input=given,
            cwd=self.work,
            env={**self.env, **env},
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        encoding = env.get("PYTHONIOENCODING", "utf-8")
        return Ended(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))

    def shell(self, line: str, seconds: float = SECONDS) -> Ended:
        """A line of shell, in which `$amplifier` is the command."""
        done = subprocess.run(
            ["sh", "-c", line],
            env={**self.env, "amplifier": " ".join(COMMAND)},
            cwd=self.work,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    async def start(self, *arguments: str) -> "Running":
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.work,
            env=self.env,
        )
        return Running(process)


class Running:
    """A command that has not ended yet."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdout = process.stdout
        self.stderr = process.stderr
        self._read_so_far = b""

    async def told(self, text: str) -> None:
        """Wait until `text` has come on stderr."""
        async with asyncio.timeout(SECONDS):
            self._read_so_far += await self.stderr.readuntil(text.encode())

    async def shown(self, text: str) -> None:
        """Wait until `text` has come on stdout."""
        async with asyncio.timeout(SECONDS):
            await self.stdout.readuntil(text.encode())

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    async def end(self) -> Ended:
        async with asyncio.timeout(SECONDS):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Ended(self.process.returncode, out.decode(), (self._read_so_far + err).decode())
