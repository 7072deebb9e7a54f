"""Stand-in modules: the smallest loop, context, model, tool and hook that a session accepts.

They answer at once and hold nothing, so that what a benchmark measures is the kernel.
Both kernels find them by entry point, exactly as they find an installed module.
"""

import asyncio
from typing import Any, ClassVar

from amplifier_core import ChatResponse, ProviderInfo, TextBlock, ToolCall, ToolResult

PLAN: dict[str, Any] = {
    "session": {
        "orchestrator": {"module": "loop-standin", "config": {"steps": 20}},
        "context": {"module": "context-standin"},
    },
    "providers": [{"module": "provider-standin"}],
    "tools": [{"module": "tool-standin"}],
}


class Loop:
    """Asks the model, runs the one tool it calls, and repeats that `steps` times."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: dict[str, Any],
        tools: dict[str, Any],
        hooks: Any,
        coordinator: Any = None,
        **_: Any,
    ) -> str:
        await context.add_message({"role": "user", "content": prompt})
        provider, tool = providers["standin"], tools["standin"]
        for _step in range(self.steps):
            await self._ask(provider, context, hooks, coordinator)
            await self._call(tool, context, hooks, coordinator)
        return "done"

    async def _ask(self, provider: Any, context: Any, hooks: Any, coordinator: Any) -> None:
        before = await hooks.emit("provider:request", {"provider": "standin"})
        await coordinator.process_hook_result(before, "provider:request", "loop")
        await provider.complete(await context.get_messages_for_request())
        await hooks.emit("provider:response", {"provider": "standin"})

    async def _call(self, tool: Any, context: Any, hooks: Any, coordinator: Any) -> None:
        call = {"tool_name": "standin", "tool_input": {"path": "a.txt"}}
        before = await hooks.emit("tool:pre", call)
        await coordinator.process_hook_result(before, "tool:pre", "loop")
        result = await tool.execute(call["tool_input"])
        await hooks.emit("tool:post", {**call, "tool_result": result.output})
        await context.add_message({"role": "tool", "content": result.output})


class Context:
    """Keeps messages in a list and never compacts."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages_for_request(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return self.messages

    async def get_messages(self) -> list[dict[str, Any]]:
        return self.messages

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    async def compact(self) -> None:
        """Nothing to do."""

    async def clear(self) -> None:
        self.messages = []


class Provider:
    """A model that always answers with the same words, after letting other sessions run."""

    name = "standin"
    answer = ChatResponse(content=[TextBlock(text="calling")])

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="standin", display_name="Stand-in")

    async def list_models(self) -> list[Any]:
        return []

    async def complete(self, request: Any, **_: Any) -> ChatResponse:
        await asyncio.sleep(0)
        return self.answer

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return []


class Tool:
    """Reads nothing, instantly."""

    name = "standin"
    description = "Returns a fixed text."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
    }
    answer = ToolResult(success=True, output="contents")

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return self.answer


async def mount_loop(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("orchestrator", Loop((config or {}).get("steps", 1)))


async def mount_context(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Context())


async def mount_provider(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("providers", Provider(), name="standin")


async def mount_tool(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("tools", Tool(), name="standin")
