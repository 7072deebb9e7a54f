"""What scripts have in common: asking a call for its outcome, stand-in modules, event traces.

Runs with either kernel and imports nothing else.
"""

import asyncio
import inspect
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession, HookResult
from pydantic import ValidationError

Facts = dict[str, Any]


# -- outcomes -------------------------------------------------------------------------


def outcome(call: Callable[[], Any]) -> Any:
    """What `call()` returns, or the type of what it raises."""
    try:
        return call()
    except BaseException as error:
        return f"raises {type(error).__name__}"


def message(call: Callable[[], Any]) -> Any:
    """What `call()` returns, or what it raises with its text, where the text is contract."""
    try:
        return call()
    except BaseException as error:
        return f"raises {type(error).__name__}: {error}"


async def async_outcome(call: Callable[[], Any]) -> Any:
    try:
        return await _awaited(call())
    except BaseException as error:
        return f"raises {type(error).__name__}"


async def async_message(call: Callable[[], Any]) -> Any:
    try:
        return await _awaited(call())
    except BaseException as error:
        return f"raises {type(error).__name__}: {error}"


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def refusals(call: Callable[[], Any]) -> Any:
    """Where and how a model refuses its input; what it accepted if it does not."""
    try:
        return call()
    except ValidationError as error:
        return sorted(
            # The order in which a union lists its members means nothing.
            [re.sub(r"\[.*\]", "[...]", ".".join(map(str, each["loc"]))), each["type"]]
            for each in error.errors(include_url=False, include_context=False)
        )


async def until(condition: Callable[[], Any]) -> None:
    """Let other tasks run until `condition()` holds, for two seconds at most."""
    for _ in range(400):
        if condition():
            return
        await asyncio.sleep(0.005)


# -- hooks ----------------------------------------------------------------------------


def said(result: HookResult) -> Facts:
    """The fields of a HookResult that are not at their defaults."""
    dumped = result.model_dump(exclude_defaults=True)
    dumped["action"] = result.action
    return without_times(dumped)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key != "timestamp"}
    return value


class Listener:
    """A handler that keeps what it hears, and answers the same each time."""

    def __init__(self, answer: Any = None, name: str = "", log: list[str] | None = None) -> None:
        self.answer = answer
        self.name = name
        self.log = log if log is not None else []
        self.heard: list[Any] = []

    async def __call__(self, event: str, data: Any) -> Any:
        self.log.append(self.name)
        self.heard.append(data)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def inject(text: str, **fields: Any) -> HookResult:
    return HookResult(action="inject_context", context_injection=text, **fields)


# -- sessions -------------------------------------------------------------------------


class Loop:
    """An orchestrator that answers with `answer`, raises it, or runs it."""

    def __init__(self, answer: Any = "done") -> None:
        self.answer = answer
        self.calls: list[Facts] = []

    async def execute(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return await self.answer(**arguments) if callable(self.answer) else self.answer


class Memory:
    """A context that keeps everything."""

    def __init__(self) -> None:
        self.messages: list[Facts] = []

    async def add_message(self, message: Facts) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[Facts]:
        return list(self.messages)

    async def get_messages_for_request(self, token_budget: Any = None, provider: Any = None) -> Any:
        return list(self.messages)

    async def set_messages(self, messages: list[Facts]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []


class Named:
    """Stands for any module with a name."""

    def __init__(self, name: str) -> None:
        self.name = name


Mount = Callable[[Any, Facts], Awaitable[Any]]


def mounting(point: str, make: Callable[[], Any], name: str | None = None) -> Mount:
    async def mount(coordinator: Any, config: Facts) -> None:
        await coordinator.mount(point, make(), name=name)

    return mount


def failing(error: BaseException) -> Mount:
    async def mount(coordinator: Any, config: Facts) -> None:
        raise error

    return mount


class Shelf:
    """A loader whose modules are mount functions in a dict."""

    def __init__(self, modules: dict[str, Mount], ready: dict[str, Any] | None = None) -> None:
        self.modules: dict[str, Mount] = {
            "loop": mounting("orchestrator", Loop),
            "memory": mounting("context", Memory),
            **modules,
        }
        self.ready = ready or {}
        self.asked: list[Any] = []
        self.queue: list[Any] = []
        self.cleanups = 0

    async def load(
        self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None
    ) -> Any:
        self.asked.append([module_id, config, source_hint])
        mount = self.modules[module_id]

        async def bound(coordinator: Any) -> Any:
            return await mount(coordinator, config or {})

        if module_id in self.ready:
            bound.__on_session_ready__ = (module_id, self.ready[module_id])
        return bound

    def enqueue_on_session_ready(self, module_id: str, ready: Any) -> None:
        self.queue.append((module_id, ready))

    def get_on_session_ready_queue(self) -> list[Any]:
        return list(self.queue)

    def clear_on_session_ready_queue(self) -> None:
        self.queue.clear()

    def cleanup(self) -> None:
        self.cleanups += 1


def plan(session: Facts | None = None, **sections: Any) -> Facts:
    """A mount plan of the two modules that every session needs, and what else is given."""
    return {"session": {"orchestrator": "loop", "context": "memory", **(session or {})}, **sections}


def entries(*ids: str) -> list[Facts]:
    return [{"module": module_id} for module_id in ids]


def session_of(
    config: Facts | None = None,
    modules: dict[str, Mount] | None = None,
    ready: Facts | None = None,
    **options: Any,
) -> AmplifierSession:
    """A session whose modules come from a shelf; its id is `s-1` unless given."""
    session = AmplifierSession(config or plan(), **{"session_id": "s-1", **options})
    session.coordinator.loader = Shelf(modules or {}, ready)
    return session


LIFECYCLE = [
    "session:start",
    "session:resume",
    "session:config",
    "session:fork",
    "session:end",
    "cancel:completed",
    "module:load_failed",
    "module:on_session_ready_failed",
]


def trace(session: AmplifierSession, events: list[str] = LIFECYCLE) -> list[Any]:
    """What the session emits from now on, as [event, data] pairs."""
    heard: list[Any] = []

    async def hear(event: str, data: Facts) -> None:
        heard.append([event, without_times(dict(data))])

    for event in events:
        session.coordinator.hooks.register(event, hear, 0, f"trace {event}")
    return heard


# -- modules on disk ------------------------------------------------------------------


@contextmanager
def folder() -> Iterator[Path]:
    """A directory whose modules Python forgets afterwards."""
    paths, loaded = list(sys.path), set(sys.modules)
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as name:
        try:
            yield Path(name)
        finally:
            sys.path[:] = paths
            for module in set(sys.modules) - loaded:
                if name in str(getattr(sys.modules[module], "__file__", "")):
                    del sys.modules[module]


def package(path: Path, source: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "__init__.py").write_text(source)
    return path


def repository(root: Path, module_id: str, source: str) -> Path:
    """Write a module as its own repository, `amplifier-module-<id>`, below `root`."""
    home = root / f"amplifier-module-{module_id}"
    package(home / f"amplifier_module_{module_id.replace('-', '_')}", source)
    return home


TOOL = """
from amplifier_core import ToolResult

__amplifier_module_type__ = "tool"

class Tool:
    name = "probe"
    description = "Gives back its input."
    input_schema = {"type": "object"}

    def __init__(self, config):
        self.config = config

    async def execute(self, input):
        return ToolResult(output=input)

async def mount(coordinator, config=None):
    await coordinator.mount("tools", Tool(config))
"""
