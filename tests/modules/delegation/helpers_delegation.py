"""A stage for delegation: real sessions and a real loop; the model, tools and hooks are made up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall
from amplifier_core.models import ToolResult

from amplifier_modules.delegation import delegate, task

AGENTS: dict[str, Any] = {
    "reader": {"description": "Reads files.", "instruction": "You read."},
    "writer": {"meta": {"description": "Writes\n files."}},
}


def says(text: str) -> ChatResponse:
    return ChatResponse(content=[TextBlock(text=text)])


def calls(tool: str, **arguments: Any) -> ChatResponse:
    made = [ToolCall(id="call-1", name=tool, arguments=arguments)]
    return ChatResponse(content=[], tool_calls=made)


class Brain:
    """A model shared by all sessions. It answers each prompt with the steps planned for it."""

    name = "brain"
    priority = 100

    def __init__(self, **plans: Any) -> None:
        self.plans = {text: list(plan) for text, plan in plans.items()}
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest, **options: Any) -> Any:
        self.requests.append(request)
        prompt = [str(each.content) for each in request.messages if each.role == "user"][-1]
        words = prompt.split()
        plan = next((self.plans[word] for word in reversed(words) if word in self.plans), [])
        step = plan.pop(0) if plan else says(f"did {words[-1]}")
        if isinstance(step, Exception):
            raise step
        return await step(request) if callable(step) else step

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return response.tool_calls or []


def text_of(message: Any) -> str:
    """What a message of a request says."""
    if isinstance(message.content, str):
        return message.content
    return "".join(getattr(block, "text", "") for block in message.content)


class Plain:
    """A tool that says its name, and remembers its config."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name, self.config = name, config
        self.description = name
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {}}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(output=self.name)


@dataclass
class World:
    """What all sessions of a test share."""

    brain: Brain
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    sessions: dict[str, Any] = field(default_factory=dict)
    """Coordinators by session id, with `tools_seen` and `hooks_seen`."""
    broken: set[str] = field(default_factory=set)
    """Modules that do not come up in children."""
    session: Any = None

    @property
    def tool(self) -> Any:
        tools = self.session.coordinator.get("tools")
        return tools.get("task") or tools["delegate"]

    async def run(self, **input: Any) -> ToolResult:
        async with asyncio.timeout(5):
            result: ToolResult = await self.tool.execute(input)
        return result

    def seen(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == event]

    def child(self) -> Any:
        """The one child session there was."""
        (made,) = [each for key, each in self.sessions.items() if key != self.session.session_id]
        return made


class Loader(ModuleLoader):
    """Finds the delegation tools and the stand-ins; the rest comes from the installation."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    async def load(self, module_id: str, config: Any = None, *args: Any, **kwargs: Any) -> Any:
        makers: dict[str, Callable[..., Any]] = {
            "tool-task": task.mount,
            "tool-delegate": delegate.mount,
            "provider-brain": self._brain,
        }
        if module_id in makers:
            return lambda coordinator: makers[module_id](coordinator, config)
        if module_id.startswith("tool-"):
            return lambda coordinator: self._tool(coordinator, module_id, config)
        if module_id.startswith("hook"):
            return lambda coordinator: self._hook(coordinator, module_id)
        return await super().load(module_id, config, *args, **kwargs)

    async def _brain(self, coordinator: Any, config: Any) -> None:
        self.world.sessions[coordinator.session_id] = coordinator
        coordinator.tools_seen = {}
        coordinator.hooks_seen = []
        coordinator.brain_config = config
        await coordinator.mount("providers", self.world.brain, name="brain")

    async def _tool(self, coordinator: Any, module_id: str, config: Any) -> None:
        tool = Plain(module_id.removeprefix("tool-"), config or {})
        coordinator.tools_seen[module_id] = tool.config
        await coordinator.mount("tools", tool)

    async def _hook(self, coordinator: Any, module_id: str) -> None:
        if module_id in self.world.broken and coordinator.parent_id:
            raise RuntimeError("it is broken")
        coordinator.hooks_seen.append(module_id)

        async def note(event: str, data: Any) -> None:
            self.world.events.append((event, data))

        if module_id == "hooks-recorder":
            coordinator.hooks.register("*", note)


def entries(*modules: str | dict[str, Any]) -> list[dict[str, Any]]:
    return [{"module": each} if isinstance(each, str) else each for each in modules]


@asynccontextmanager
async def world(
    brain: Brain | None = None,
    *,
    agents: Any = None,
    tools: tuple[Any, ...] = (),
    hooks: tuple[Any, ...] = (),
    module: str = "tool-task",
    loop: dict[str, Any] | None = None,
    **config: Any,
) -> AsyncIterator[World]:
    """A running session whose plan has a delegation tool with `config`."""
    made = World(brain or Brain())
    plan = {
        "session": {
            "orchestrator": {"module": "loop-basic", "config": loop or {}},
            "context": {"module": "context-simple"},
        },
        "providers": entries("provider-brain"),
        "tools": entries({"module": module, "config": config}, *tools),
        "hooks": entries("hooks-recorder", *hooks),
        "agents": AGENTS if agents is None else agents,
    }
    async with AmplifierSession(plan, loader=Loader(made), session_id="root") as session:
        assert session.status.failed_modules is None, session.status.failed_modules
        made.session = session
        yield made
