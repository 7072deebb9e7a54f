"""A provider in another process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc

from ... import llm_errors
from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...message_models import ChatRequest, ChatResponse, ToolCall
from ...models import ModelInfo, ProviderInfo
from .chat import request_to_proto, response_fields, response_from_proto
from .connection import CONTROL_SECONDS, Connection, RemoteModuleError
from .results import model_from_proto, provider_from_proto

_Code = grpc.StatusCode
_ERRORS: dict[Any, type[llm_errors.LLMError]] = {
    _Code.UNAVAILABLE: llm_errors.ProviderUnavailableError,
    _Code.DEADLINE_EXCEEDED: llm_errors.LLMTimeoutError,
    _Code.UNAUTHENTICATED: llm_errors.AuthenticationError,
    _Code.PERMISSION_DENIED: llm_errors.AccessDeniedError,
    _Code.INVALID_ARGUMENT: llm_errors.InvalidRequestError,
    _Code.NOT_FOUND: llm_errors.NotFoundError,
}


class RemoteProvider:
    """Looks like a provider of this process; failures are the usual ones of providers."""

    def __init__(self, connection: Connection, info: ProviderInfo) -> None:
        self._connection = connection
        self._info = info
        self._can_stream = True
        self.name = info.id

    def get_info(self) -> ProviderInfo:
        return self._info

    async def list_models(self) -> list[ModelInfo]:
        """The models on offer; none if the module cannot tell."""
        try:
            answer = await self._connection.call(
                rpc.ProviderServiceStub, "ListModels", pb.Empty(), CONTROL_SECONDS
            )
        except RemoteModuleError as error:
            if error.is_unimplemented:
                return []
            raise self._llm_error(error) from error
        return [model_from_proto(each) for each in answer.models]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        request = _completed(request, kwargs)
        try:
            answer = await self._connection.call(
                rpc.ProviderServiceStub, "Complete", request_to_proto(request), request.timeout
            )
        except RemoteModuleError as error:
            raise self._llm_error(error) from error
        return self._read(answer)

    async def stream_complete(
        self, request: ChatRequest, **kwargs: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Pieces of text as they come, then the finished response.

        The element with a `finish_reason` is the finished response, and so is an only one.
        """
        request = _completed(request, kwargs)
        heard: list[pb.ChatResponse] = []
        async for element in self._elements(request):
            heard.append(element)
            if element.finish_reason:
                break
            if text := _text_of(element):
                yield {"text": text}
        if not heard:
            text = f"The stream of provider {self.name!r} ended without a response."
            raise llm_errors.StreamError(text, provider=self.name)
        yield {"response": self._whole(heard)}

    async def _elements(self, request: ChatRequest) -> AsyncIterator[pb.ChatResponse]:
        proto = request_to_proto(request)
        service, seconds = rpc.ProviderServiceStub, request.timeout
        if self._can_stream:
            stream = self._connection.stream(service, "CompleteStreaming", proto, seconds)
            try:
                async for element in stream:
                    yield element
                return
            except RemoteModuleError as error:
                if not error.is_unimplemented:
                    raise self._llm_error(error) from error
                self._can_stream = False
        try:
            yield await self._connection.call(service, "Complete", proto, seconds)
        except RemoteModuleError as error:
            raise self._llm_error(error) from error

    def _whole(self, heard: list[pb.ChatResponse]) -> ChatResponse:
        if heard[-1].finish_reason or len(heard) == 1:
            return self._read(heard[-1])
        text = "".join(_text_of(each) for each in heard)
        return ChatResponse.model_validate({"content": [{"type": "text", "text": text}]})

    def _read(self, answer: pb.ChatResponse) -> ChatResponse:
        try:
            return response_from_proto(answer)
        except ValueError as error:
            raise llm_errors.LLMError(
                f"Provider {self.name!r} sent a response that cannot be read. "
                f"Report it to its author.",
                provider=self.name,
            ) from error

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())

    def _llm_error(self, error: RemoteModuleError) -> llm_errors.LLMError:
        return _ERRORS.get(error.code, llm_errors.LLMError)(str(error), provider=self.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self._connection.place}>"


def _completed(request: Any, overrides: dict[str, Any]) -> ChatRequest:
    if isinstance(request, dict):
        request = ChatRequest.model_validate(request)
    known = {key: value for key, value in overrides.items() if key in ChatRequest.model_fields}
    completed: ChatRequest = request.model_copy(update=known) if known else request
    return completed


def _text_of(element: pb.ChatResponse) -> str:
    blocks = response_fields(element)["content"]
    return "".join(each.get("text") or "" for each in blocks if each.get("type") == "text")


async def mount_provider(
    connection: Connection, coordinator: Any, config: dict[str, Any], name: str = ""
) -> None:
    """Mount the module's provider under its id, or under `name`."""
    proto = await connection.call(rpc.ProviderServiceStub, "GetInfo", pb.Empty(), CONTROL_SECONDS)
    if not proto.id:
        raise RemoteModuleError(f"Module {connection.module_id!r} offers a provider without id.")
    provider = RemoteProvider(connection, provider_from_proto(proto))
    await coordinator.mount("providers", provider, name=name or provider.name)
