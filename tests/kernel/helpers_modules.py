"""Stand-in modules for tests of sessions: served from memory, or written as packages."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from amplifier_core import AmplifierSession, ToolResult

Mount = Callable[[Any, dict[str, Any]], Awaitable[Any]]
Events = list[tuple[str, dict[str, Any]]]


class Loop:
    """An orchestrator that answers with `answer`, or with what `run(**arguments)` returns."""

    def __init__(self, run: Callable[..., Awaitable[Any]] | None = None, answer: Any = "done"):
        self.run = run
        self.answer = answer
        self.calls: list[dict[str, Any]] = []

    async def execute(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        return self.answer if self.run is None else await self.run(**arguments)


class Memory:
    """A context that keeps everything."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self.messages)

    async def compact(self) -> None:
        self.messages.clear()


class Tool:
    """A tool that gives back its input."""

    description = "Gives back its input."
    input_schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012

    def __init__(self, name: str = "echo") -> None:
        self.name = name

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(output=input)


class Provider:
    """A provider that is only ever mounted."""

    def __init__(self, name: str = "stand-in", config: dict[str, Any] | None = None) -> None:
        self.name = name
        self.config = config

    def get_info(self) -> None: ...

    async def list_models(self) -> list[Any]:
        return []

    async def complete(self, request: Any, **options: Any) -> None: ...

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return []


class Named:
    """Any object with a name, of which weak references can be taken."""

    def __init__(self, name: str = "named") -> None:
        self.name = name


def mounts(point: str, module: Any, name: str | None = None, returns: Any = None) -> Mount:
    """A mount() that mounts `module`, or what it makes if it is a class or function."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        made = module() if isinstance(module, type) or hasattr(module, "__code__") else module
        await coordinator.mount(point, made, name=name)
        return returns

    return mount


async def mounts_nothing(coordinator: Any, config: dict[str, Any]) -> None:
    return None


def failing(error: BaseException) -> Mount:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        raise error

    return mount


async def forever(*args: Any, **kwargs: Any) -> None:
    await asyncio.Event().wait()


async def until(condition: Callable[[], Any]) -> None:
    """Let other tasks run until `condition()` holds."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


class MemoryLoader:
    """A loader of mount functions kept in a dict; it serves `loop` and `memory` of itself."""

    def __init__(
        self, mounts_by_id: dict[str, Mount] | None = None, ready: dict[str, Any] | None = None
    ) -> None:
        self.mounts: dict[str, Mount] = {
            "loop": mounts("orchestrator", Loop),
            "memory": mounts("context", Memory),
            **(mounts_by_id or {}),
        }
        self.ready = ready or {}
        self.loaded: list[tuple[str, dict[str, Any] | None, Any]] = []
        self.cleanups = 0
        self._queue: list[tuple[str, Any]] = []

    async def load(
        self,
        module_id: str,
        config: dict[str, Any] | None = None,
        source_hint: Any = None,
        coordinator: Any = None,
    ) -> Any:
        self.loaded.append((module_id, config, source_hint))
        if module_id not in self.mounts:
            raise ValueError(f"Module {module_id!r} is not in memory.")
        raw = self.mounts[module_id]

        async def mount(coordinator: Any) -> Any:
            return await raw(coordinator, config or {})

        if module_id in self.ready:
            mount.__on_session_ready__ = (module_id, self.ready[module_id])  # type: ignore[attr-defined]
        return mount

    def enqueue_on_session_ready(self, module_id: str, ready: Any) -> None:
        self._queue.append((module_id, ready))

    def get_on_session_ready_queue(self) -> list[tuple[str, Any]]:
        return list(self._queue)

    def clear_on_session_ready_queue(self) -> None:
        self._queue.clear()

    def cleanup(self) -> None:
        self.cleanups += 1


def plan(*, session: dict[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """A mount plan of the two modules that every session needs, and what else is given."""
    return {"session": {"orchestrator": "loop", "context": "memory", **(session or {})}, **sections}


def entries(*ids: str) -> list[dict[str, Any]]:
    return [{"module": module_id} for module_id in ids]


def session_of(
    config: dict[str, Any] | None = None,
    modules: dict[str, Mount] | None = None,
    ready: dict[str, Any] | None = None,
    **options: Any,
) -> AmplifierSession:
    """A session on `config` whose modules come from memory."""
    loader: Any = MemoryLoader(modules, ready)
    return AmplifierSession(config or plan(), loader=loader, **options)


def listen(session: AmplifierSession, event: str = "*") -> Events:
    """Collect what the session emits from now on, without the timestamps."""
    heard: Events = []

    def hear(event: str, data: dict[str, Any]) -> None:
        heard.append((event, {key: value for key, value in data.items() if key != "timestamp"}))

    session.coordinator.hooks.register(event, hear, name="listener")
    return heard


class ModuleDirectory:
    """A directory that modules are written to, to be found by search path or variable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, module_id: str, source: str) -> Path:
        """Write `amplifier-module-<id>/amplifier_module_<id>/__init__.py`."""
        home = self.path / f"amplifier-module-{module_id}"
        package = home / f"amplifier_module_{module_id.replace('-', '_')}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(source)
        return home

    def write_session_modules(self, orchestrator: str, context: str) -> Self:
        self.write(orchestrator, LOOP_SOURCE)
        self.write(context, CONTEXT_SOURCE)
        return self


@contextmanager
def module_directory(path: Path) -> Iterator[ModuleDirectory]:
    """A module directory whose modules are forgotten by Python afterwards."""
    search, dont_write = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield ModuleDirectory(path)
    finally:
        sys.path[:], sys.dont_write_bytecode = search, dont_write
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(path)):
                del sys.modules[name]


LOOP_SOURCE = """
__amplifier_module_type__ = "orchestrator"

class Loop:
    async def execute(self, prompt, context, providers, tools, hooks):
        await context.add_message({"role": "user", "content": prompt})
        return f"{prompt} | {', '.join(providers)} | {', '.join(tools)}"

async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""

CONTEXT_SOURCE = """
__amplifier_module_type__ = "context"

class Context:
    def __init__(self):
        self.messages = []

    async def add_message(self, message):
        self.messages.append(message)

    async def get_messages(self):
        return list(self.messages)

    async def compact(self):
        self.messages.clear()

async def mount(coordinator, config):
    await coordinator.mount("context", Context())
"""

PROVIDER_SOURCE = """
__amplifier_module_type__ = "provider"

class Provider:
    name = "NAME"

    def get_info(self):
        return None

    async def list_models(self):
        return []

    async def complete(self, request, **options):
        return None

    def parse_tool_calls(self, response):
        return []

async def mount(coordinator, config):
    await coordinator.mount("providers", Provider(), name="NAME")
"""

TOOL_SOURCE = """
from amplifier_core import ToolResult

__amplifier_module_type__ = "tool"

class Tool:
    name = "NAME"
    description = "A stand-in."
    input_schema = {"type": "object"}

    async def execute(self, input):
        return ToolResult(output=input)

async def mount(coordinator, config):
    await coordinator.mount("tools", Tool())
"""


def provider_source(name: str) -> str:
    return PROVIDER_SOURCE.replace("NAME", name)


def tool_source(name: str) -> str:
    return TOOL_SOURCE.replace("NAME", name)
