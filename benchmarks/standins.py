"""Stand-in modules: the smallest loop, context, model, tool and hook that a session accepts.

They answer at once and hold nothing, so that what a benchmark measures is the kernel.
Both kernels find them by entry point, exactly as they find an installed module.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from itertools import cycle
from typing import Any, ClassVar

from amplifier_core import (
    ChatRequest,
    ChatResponse,
    ProviderInfo,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolSpec,
)

TOOL_CALL = {"path": "a.txt"}
ANSWER = "done"


def plan(loop: str, context: str, provider: str = "provider-standin", **config: Any) -> Any:
    """A mount plan with one module of each kind; `config` is the provider's."""
    return {
        "session": {"orchestrator": {"module": loop}, "context": {"module": context}},
        "providers": [{"module": provider, "config": config}],
        "tools": [{"module": "tool-standin"}],
    }


class Loop:
    """Asks the model and runs the one tool it calls, until it answers.

    It emits what loop-basic emits, has every answer of a hook carried out, stores the same
    messages and lets other sessions run after each step. It does nothing else.
    """

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
        self.context, self.hooks, self.coordinator = context, hooks, coordinator
        self.provider, self.tools = providers["standin"], tools
        self.specs = [_spec(tool) for tool in tools.values()]
        await self._ask("prompt:submit", {"prompt": prompt})
        await hooks.emit("execution:start", {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        steps = 0
        while not await self._step(steps):
            steps += 1
            await asyncio.sleep(0)
        await hooks.emit("prompt:complete", {"response": ANSWER, "length": len(ANSWER)})
        await hooks.emit("execution:end", {"response": ANSWER, "status": "completed"})
        about = {"orchestrator": "loop-standin", "turn_count": steps + 1, "status": "success"}
        await hooks.emit("orchestrator:complete", about)
        return ANSWER

    async def _ask(self, event: str, data: dict[str, Any]) -> None:
        result = await self.hooks.emit(event, data)
        await self.coordinator.process_hook_result(result, event, "loop-standin")

    async def _step(self, number: int) -> bool:
        await self._ask("provider:request", {"provider": "standin", "iteration": number})
        messages = await self.context.get_validated_messages(provider=self.provider)
        response = await self.provider.complete(ChatRequest(messages=messages, tools=self.specs))
        calls = self.provider.parse_tool_calls(response)
        about = {"provider": "standin", "usage": None, "tool_calls": bool(calls)}
        await self.hooks.emit("provider:response", about)
        content = [block.model_dump(exclude_none=True) for block in response.content]
        for block in content:
            await self.hooks.emit("content_block:start", {"block_type": block["type"]})
            await self.hooks.emit("content_block:end", {"block": block})
        message = {"role": "assistant", "content": content or ""}
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "tool": call.name, "arguments": call.arguments} for call in calls
            ]
        await self.context.add_message(message)
        for call in calls:
            await self._call(call)
        return not calls

    async def _call(self, call: ToolCall) -> None:
        about = {"tool_name": call.name, "tool_input": call.arguments, "tool_call_id": call.id}
        await self._ask("tool:pre", about)
        result = await self.tools[call.name].execute(call.arguments)
        shown = {"success": result.success, "output": result.output, "error": result.error}
        await self._ask("tool:post", {**about, "result": shown})
        answer = {"role": "tool", "tool_call_id": call.id, "name": call.name}
        await self.context.add_message({**answer, "content": result.get_serialized_output()})


def _spec(tool: Any) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.input_schema)


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
    """A model that calls the tool so many times and then answers, over and over again."""

    name = "standin"
    info = ProviderInfo(
        id="standin",
        display_name="Stand-in",
        defaults={"context_window": 200_000, "max_output_tokens": 8_000},
    )

    def __init__(self, steps: int) -> None:
        self._answers = cycle(_answers(steps))

    def get_info(self) -> ProviderInfo:
        return self.info

    async def list_models(self) -> list[Any]:
        return []

    async def complete(self, request: Any, **_: Any) -> ChatResponse:
        return next(self._answers)

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return response.tool_calls or []


@cache
def _answers(steps: int) -> tuple[ChatResponse, ...]:
    """What the models of all sessions say: they keep no answers of their own."""
    calls = [
        ToolCall(id=f"call-{n}", name=Provider.name, arguments=TOOL_CALL) for n in range(steps)
    ]
    answers = [ChatResponse(content=[], tool_calls=[call]) for call in calls]
    return (*answers, ChatResponse(content=[TextBlock(text=ANSWER)]))


class StreamingProvider(Provider):
    """A model that says so many words, one by one, and then hands over its answer."""

    def __init__(self, tokens: int) -> None:
        super().__init__(steps=0)
        self._chunks = [{"text": "word "}] * tokens

    async def stream_complete(self, request: Any, **_: Any) -> AsyncIterator[dict[str, Any]]:
        for chunk in self._chunks:
            yield chunk
        yield {"response": await self.complete(request)}


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
    await coordinator.mount("orchestrator", Loop())


async def mount_context(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Context())


async def mount_provider(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("providers", Provider(**{"steps": 0, **(config or {})}), name="standin")


async def mount_streaming(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    provider = StreamingProvider(**{"tokens": 0, **(config or {})})
    await coordinator.mount("providers", provider, name="standin")


async def mount_tool(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("tools", Tool(), name="standin")
