"""A first session: one prompt goes to a model, the model calls a tool, and an answer comes back.

A session is made of modules. The five in this file are as small as modules can be: the model
follows a script, so that nothing has to be installed and no key is needed. Run it with `make run`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core import (
    AmplifierSession,
    ChatRequest,
    ChatResponse,
    HookResult,
    Message,
    ModelInfo,
    ModuleCoordinator,
    ModuleLoader,
    ProviderInfo,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolSpec,
)

PLAN: dict[str, Any] = {
    "session": {"orchestrator": {"module": "loop-small"}, "context": {"module": "context-list"}},
    "providers": [{"module": "provider-scripted"}],
    "tools": [{"module": "tool-word-count"}],
    "hooks": [{"module": "hooks-print"}],
}


class SmallLoop:
    """The orchestrator: asks the model, runs the tools it calls, until it answers in words."""

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **_: Any
    ) -> str:
        await hooks.emit("prompt:submit", {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        (provider,) = providers.values()
        while True:
            response = await self._ask(provider, context, tools, hooks)
            calls = provider.parse_tool_calls(response)
            if not calls:
                answer = "".join(block.text for block in response.content)
                await hooks.emit("prompt:complete", {"response": answer})
                return answer
            for call in calls:
                output = await self._run(call, tools, hooks)
                await context.add_message({"role": "tool", "content": output})

    async def _ask(self, provider: Any, context: Any, tools: Any, hooks: Any) -> ChatResponse:
        messages = [Message(**message) for message in await context.get_messages()]
        specs = [ToolSpec(name=tool.name, parameters=tool.input_schema) for tool in tools.values()]
        await hooks.emit("provider:request", {"provider": provider.name, "messages": len(messages)})
        response: ChatResponse = await provider.complete(
            ChatRequest(messages=messages, tools=specs)
        )
        await hooks.emit("provider:response", {"provider": provider.name})
        return response

    async def _run(self, call: ToolCall, tools: Any, hooks: Any) -> str:
        event = {"tool_name": call.name, "tool_input": call.arguments}
        verdict = await hooks.emit("tool:pre", event)
        if verdict.action == "deny":
            return f"Denied: {verdict.reason}"
        result: ToolResult = await tools[call.name].execute(call.arguments)
        await hooks.emit("tool:post", {**event, "result": result.output})
        return str(result.output)


class ListContext:
    """The context: remembers every message."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self.messages)

    async def compact(self) -> None:
        """Nothing to do in a session this short."""


class ScriptedProvider:
    """The model: first calls the tool, then reports what it heard from it."""

    name = "scripted"

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id=self.name, display_name="A model that follows a script")

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def complete(self, request: ChatRequest, **_: Any) -> ChatResponse:
        latest = request.messages[-1]
        if latest.role == "tool":
            return ChatResponse(content=[TextBlock(text=f"It has {latest.content} words.")])
        call = ToolCall(id="1", name="word_count", arguments={"text": latest.content})
        return ChatResponse(content=[], tool_calls=[call])

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return response.tool_calls or []


class WordCount:
    """The tool: counts words."""

    name = "word_count"
    description = "Count the words of a text."

    @property
    def input_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(success=True, output=len(input["text"].split()))


async def print_event(event: str, data: dict[str, Any]) -> HookResult:
    """The hook: shows every event as it happens. It could also deny or change it."""
    known = {"session_id", "parent_id", "timestamp", "request_id"}
    facts = ", ".join(f"{key}={value!r}" for key, value in data.items() if key not in known)
    print(f"  {event:<18} {facts}".rstrip())
    return HookResult(action="continue")


async def mount_loop(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    await coordinator.mount("orchestrator", SmallLoop())


async def mount_context(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    await coordinator.mount("context", ListContext())


async def mount_provider(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    await coordinator.mount("providers", ScriptedProvider())


async def mount_tool(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    await coordinator.mount("tools", WordCount())


async def mount_hook(coordinator: ModuleCoordinator, config: dict[str, Any]) -> Callable[[], None]:
    return coordinator.hooks.register("*", print_event, name="print")


MODULES: dict[str, Callable[[Any, dict[str, Any]], Awaitable[Any]]] = {
    "loop-small": mount_loop,
    "context-list": mount_context,
    "provider-scripted": mount_provider,
    "tool-word-count": mount_tool,
    "hooks-print": mount_hook,
}


class LocalLoader(ModuleLoader):
    """Finds modules in this file. An installed module needs no loader of its own."""

    async def load(
        self, module_id: str, config: dict[str, Any] | None = None, *_: Any, **__: Any
    ) -> Any:
        async def mount(coordinator: ModuleCoordinator) -> Any:
            return await MODULES[module_id](coordinator, config or {})

        return mount


async def main() -> None:
    prompt = "How many words are in this sentence?"
    print(f"> {prompt}")
    async with AmplifierSession(PLAN, loader=LocalLoader()) as session:
        answer = await session.execute(prompt)
    print(answer)


if __name__ == "__main__":
    asyncio.run(main())
