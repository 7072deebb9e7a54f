"""A terminal that remembers what was written to it, and sessions that write to it."""

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any

from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.models import ToolResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.terminal import hook


class Terminal:
    """Stands in for both streams of the process while it is installed."""

    def __init__(self, *, is_a_tty: bool = False) -> None:
        self.is_a_tty = is_a_tty
        self.written: list[tuple[str, str]] = []
        self.stdout = _Stream("stdout", self)
        self.stderr = _Stream("stderr", self)

    @contextmanager
    def installed(self) -> Iterator[None]:
        with redirect_stdout(self.stdout), redirect_stderr(self.stderr):
            yield

    def text_of(self, stream: str) -> str:
        return "".join(text for name, text in self.written if name == stream)

    @property
    def transcript(self) -> str:
        """All that was written, in order; lines on stderr begin with `# `."""
        shown = ""
        for name, text in self.written:
            if name == "stderr":
                assert shown[-1:] in ("", "\n"), f"{text!r} was written in the middle of a line"
                text = re.sub(r"^(?=.)", "# ", text, flags=re.MULTILINE)
            shown += text
        return re.sub(r"\d+\.\d s$", "N s", shown, flags=re.MULTILINE)


class _Stream(io.TextIOBase):
    encoding = "utf-8"

    def __init__(self, name: str, terminal: Terminal) -> None:
        self._name = name
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal.is_a_tty

    def write(self, text: str) -> int:
        self._terminal.written.append((self._name, text))
        return len(text)


@contextmanager
def nothing_logged(name: str) -> Iterator[None]:
    """Fail if a logger below `name` says anything, at whatever level."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert not records, logging.Formatter().format(records[0])


async def coordinator_with(**config: Any) -> MockCoordinator:
    coordinator = MockCoordinator()
    await hook.mount(coordinator, config)
    return coordinator


async def play(coordinator: Any, *scripted: tuple[str, dict[str, Any]]) -> None:
    for event, data in scripted:
        verdict = await coordinator.hooks.emit(event, data)
        assert verdict.action == "continue"


def block(index: int, total: int, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    """The two events of a block that came whole."""
    place = {"block_index": index, "total_blocks": total}
    usage = {key: fields.pop(key) for key in ("usage",) if key in fields}
    return [
        ("content_block:start", {"block_type": fields["type"], **place}),
        ("content_block:end", {"block": fields, **place, **usage}),
    ]


class Echo:
    """A tool that answers with `output`, or fails with `failure`."""

    name = "echo"
    description = "Says it again."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        if "failure" in input:
            return ToolResult(success=False, error={"message": input["failure"]})
        return ToolResult(output=input.get("output"))


async def mount_echo(coordinator: Any) -> None:
    await coordinator.mount("tools", Echo(), name="echo")


MODULES = {
    "loop-basic": "loops.basic",
    "loop-streaming": "loops.streaming",
    "loop-events": "loops.events",
    "context-simple": "contexts.simple",
    "provider-mock": "mock.provider",
    "hooks-streaming-ui": "terminal.hook",
}


class Loader(ModuleLoader):
    """Finds the modules of these tests, whatever is installed."""

    async def load(
        self, module_id: str, config: dict[str, Any] | None = None, *_: Any, **__: Any
    ) -> Any:
        if module_id == "tool-echo":
            return mount_echo
        module = import_module(f"amplifier_modules.{MODULES[module_id]}")
        return lambda coordinator: module.mount(coordinator, config)


def session_with(
    *script: dict[str, Any],
    loop: str = "loop-streaming",
    config: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **options: Any,
) -> AmplifierSession:
    plan = {
        "session": {
            "orchestrator": {"module": loop},
            "context": {"module": "context-simple"},
            "metadata": metadata or {},
        },
        "providers": [{"module": "provider-mock", "config": {"script": list(script)}}],
        "tools": [{"module": "tool-echo"}],
        "hooks": [{"module": "hooks-streaming-ui", "config": config or {}}],
    }
    return AmplifierSession(plan, loader=Loader(), **options)
