"""A stage for loops: a real coordinator, a scripted model, simple tools, a list as memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall, Usage
from amplifier_core.models import HookResult, ToolResult

LOOPS = ("loop-basic", "loop-streaming", "loop-events")
SECONDS = 5


class Memory:
    """A context of the newer contract."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self.messages)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        return list(self.messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages.clear()

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]


class OldMemory:
    """A context of the older contract: compacting is up to the loop."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.compactions = 0

    async def add_message(self, message: dict[str, Any]) -> None:
        self.kept.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self.kept)

    async def compact(self) -> None:
        self.compactions += 1
        del self.kept[:-1]


def says(text: str, **fields: Any) -> ChatResponse:
    return ChatResponse(content=[TextBlock(text=text)], **fields)


def calls(*names: str | tuple[str, dict[str, Any]], **fields: Any) -> ChatResponse:
    """A response with one call per name, or per name and arguments; ids are c0, c1, ..."""
    pairs = [(each, {}) if isinstance(each, str) else each for each in names]
    made = [
        ToolCall(id=f"c{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(pairs)
    ]
    return ChatResponse(content=fields.pop("content", []), tool_calls=made, **fields)


def usage(tokens: int = 3) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=tokens, total_tokens=2 * tokens)


class Model:
    """A provider that answers with the given steps in turn.

    A step is a response, an exception to raise, or an async function of the request.
    """

    def __init__(self, *steps: Any, name: str = "model") -> None:
        self.name = name
        self.steps = list(steps)
        self.requests: list[ChatRequest] = []
        self.options: list[dict[str, Any]] = []

    async def complete(self, request: ChatRequest, **options: Any) -> Any:
        self.requests.append(request)
        self.options.append(options)
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return await step(request) if callable(step) else step

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return getattr(response, "tool_calls", None) or []

    @property
    def last_messages(self) -> list[Any]:
        return self.requests[-1].messages


class StreamingModel(Model):
    """A provider whose steps are lists of chunks: dicts, exceptions or async functions."""

    def __init__(self, *steps: list[Any], name: str = "model") -> None:
        super().__init__(*steps, name=name)
        self.closed = 0

    async def stream_complete(
        self, request: ChatRequest, **options: Any
    ) -> AsyncIterator[dict[str, Any]]:
        self.requests.append(request)
        self.options.append(options)
        try:
            for chunk in self.steps.pop(0):
                if isinstance(chunk, BaseException):
                    raise chunk
                yield await chunk() if callable(chunk) else chunk
        finally:
            self.closed += 1


class Tool:
    """A tool that answers with what it is given: a value, an exception, an async function."""

    def __init__(self, answer: Any = "done", annotations: dict[str, Any] | None = None) -> None:
        self.description = "A tool of the tests."
        self.input_schema = {"type": "object", "properties": {}}
        self.answer = answer
        self.inputs: list[dict[str, Any]] = []
        if annotations is not None:
            self.annotations = annotations

    async def execute(self, input: dict[str, Any]) -> Any:
        self.inputs.append(input)
        if isinstance(self.answer, BaseException):
            raise self.answer
        if callable(self.answer):
            return await self.answer(input)
        if isinstance(self.answer, str):
            return ToolResult(output=self.answer)
        return self.answer


class Stage:
    """Everything that a turn needs, and a record of what it emitted."""

    def __init__(self, loop: Any, coordinator: ModuleCoordinator) -> None:
        self.loop = loop
        self.coordinator = coordinator
        self.hooks = coordinator.hooks
        self.token = coordinator.cancellation
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.hooks.register("*", self._record, priority=-1000, name="record")

    def _record(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    def set(self, context: Any, models: Iterable[Model], tools: dict[str, Any]) -> None:
        points = self.coordinator.mount_points
        points["context"] = context
        points["providers"] = {model.name: model for model in models}
        points["tools"] = tools

    @property
    def context(self) -> Any:
        return self.coordinator.get("context")

    async def run(self, prompt: str = "hi") -> str:
        async with asyncio.timeout(SECONDS):
            return await self.loop.execute(
                prompt=prompt,
                context=self.context,
                providers=self.coordinator.get("providers"),
                tools=self.coordinator.get("tools"),
                hooks=self.hooks,
                coordinator=self.coordinator,
            )

    def on(self, event: str, *answers: Any) -> None:
        """Have a hook answer `event` with these in turn, and then with nothing.

        An answer is a HookResult, an exception, or a function of the event's data.
        """
        left = list(answers)

        async def handler(_: str, data: dict[str, Any]) -> Any:
            answer = left.pop(0) if left else None
            if isinstance(answer, BaseException):
                raise answer
            return answer(data) if callable(answer) else answer

        self.hooks.register(event, handler)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def payloads(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == event]

    def payload(self, event: str) -> dict[str, Any]:
        [data] = self.payloads(event)
        return data


async def mounted(module_id: str, config: dict[str, Any] | None = None) -> Stage:
    coordinator = ModuleCoordinator()
    module = import_module(f"amplifier_modules.loops.{module_id.removeprefix('loop-')}")
    await module.mount(coordinator, config)
    return Stage(coordinator.get("orchestrator"), coordinator)


async def stage(
    *steps: Any,
    loop: str = "loop-basic",
    config: dict[str, Any] | None = None,
    context: Any = None,
    model: Model | None = None,
    **tools: Any,
) -> Stage:
    """A loop with a model that plays `steps`, and the given tools."""
    ready = await mounted(loop, config)
    model = model or Model(*steps)
    ready.set(Memory() if context is None else context, [model], tools)
    return ready


def model_of(ready: Stage) -> Model:
    [model] = ready.coordinator.get("providers").values()
    return model


async def hangs(*_: Any) -> None:
    await asyncio.Event().wait()


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop run until `condition` holds."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - what it waits for does not know of events
            await asyncio.sleep(0)


async def cancelled(task: "asyncio.Task[Any]") -> None:
    """Cancel `task` and wait until it is over."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        async with asyncio.timeout(SECONDS):
            await task
    assert task.cancelled()


def deny(reason: str) -> HookResult:
    return HookResult(action="deny", reason=reason)


def inject(text: str, **fields: Any) -> HookResult:
    fields = {"ephemeral": True, **fields}
    return HookResult(action="inject_context", context_injection=text, **fields)


def modify(**changes: Any) -> Callable[[dict[str, Any]], HookResult]:
    return lambda data: HookResult(action="modify", data={**data, **changes})


def check_history(messages: list[dict[str, Any]]) -> None:
    """Each call has one result directly after it, in call order; the last word is spoken."""
    left = list(messages)
    while left:
        message = left.pop(0)
        assert message["role"] != "tool", f"a result without a call: {message}"
        for call in message.get("tool_calls") or []:
            assert left, f"no result for {call}"
            result = left.pop(0)
            assert result["role"] == "tool", f"{result} between a call and its result"
            assert result["tool_call_id"] == call["id"]
            assert isinstance(result["content"], str | list)
    assert messages[-1]["role"] == "assistant"
    assert not messages[-1].get("tool_calls")
