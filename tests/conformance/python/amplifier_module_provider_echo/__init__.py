"""`echo`: a provider that says again what it is told, and calls a tool when it is told to."""

import json
from collections.abc import AsyncIterator
from typing import Any

from amplifier_core import ChatResponse, ModelInfo, ProviderInfo, TextBlock, ToolCall, Usage
from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import ChatRequest, Message
from conforming_orders import Failure, Orders

__amplifier_module_type__ = "provider"


class Echo:
    name = "echo"

    def __init__(self, config: dict[str, Any]) -> None:
        self._prefix = config.get("prefix", "")
        self._model = config.get("model", "echo-1")
        self._orders = Orders()

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="echo", display_name="Echo", defaults={"model": self._model})

    async def list_models(self) -> list[ModelInfo]:
        model = ModelInfo(
            id=self._model, display_name="Echo", context_window=4096, max_output_tokens=1024
        )
        return [model]

    async def complete(self, request: ChatRequest, **_: Any) -> ChatResponse:
        last = request.messages[-1]
        text = _text(last)
        if last.role == "user" and text.startswith("!tool "):
            return _tool_call(text)
        said = await self._obey(text) if last.role == "user" else None
        return _response(f"{self._prefix}{text}" if said is None else said, text)

    async def stream_complete(self, request: ChatRequest) -> AsyncIterator[dict[str, Any]]:
        response = await self.complete(request)
        for block in response.content:
            for word in getattr(block, "text", "").split(" "):
                yield {"text": f"{word} "}
        yield {"response": response}

    async def _obey(self, text: str) -> str | None:
        try:
            return await self._orders.obey(text)
        except Failure as failure:
            raise InvalidRequestError(str(failure), provider=self.name) from failure

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(getattr(block, "text", "") for block in message.content)


def _tool_call(text: str) -> ChatResponse:
    _, name, arguments = text.split(" ", 2)
    call = ToolCall(id="call-1", name=name, arguments=json.loads(arguments))
    return ChatResponse(content=[], tool_calls=[call], finish_reason="tool_calls")


def _response(said: str, asked: str) -> ChatResponse:
    words = len(asked.split()), len(said.split())
    usage = Usage(input_tokens=words[0], output_tokens=words[1], total_tokens=sum(words))
    return ChatResponse(content=[TextBlock(text=said)], usage=usage, finish_reason="stop")


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("providers", Echo(config))
