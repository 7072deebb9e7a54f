"""The session as a module in another process sees it: everything goes through KernelService."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import grpc

from ... import llm_errors
from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...coordinator import ModuleCoordinator
from ...hooks import HookRegistry
from ...message_models import ChatRequest, ChatResponse, ToolCall
from ...models import HookResult, ModelInfo, ProviderInfo, ToolResult
from ..grpc.chat import request_to_proto, response_fields, response_from_proto
from ..grpc.connection import TOKEN_KEY
from ..grpc.kernel_service import ASK_KEY, FOR_REQUEST_KEY
from ..grpc.messages import message_to_proto, messages_from_proto
from ..grpc.results import hook_result_from_proto, tool_result_from_proto
from ..grpc.values import plain, to_json

logger = logging.getLogger("amplifier_core.serve")

WORK_SECONDS = 600.0
QUESTION_SECONDS = 10.0
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

_Code = grpc.StatusCode
_LLM_ERRORS: dict[Any, type[llm_errors.LLMError]] = {
    _Code.OUT_OF_RANGE: llm_errors.ContextLengthError,
    _Code.RESOURCE_EXHAUSTED: llm_errors.RateLimitError,
    _Code.DEADLINE_EXCEEDED: llm_errors.LLMTimeoutError,
    _Code.UNAVAILABLE: llm_errors.ProviderUnavailableError,
    _Code.NOT_FOUND: llm_errors.NotFoundError,
    _Code.INVALID_ARGUMENT: llm_errors.InvalidRequestError,
}


class Kernel:
    """The way back to the host."""

    def __init__(self, endpoint: str, token: str) -> None:
        self.metadata: tuple[tuple[str, str], ...] = ((TOKEN_KEY, token),)
        self._channel = grpc.aio.insecure_channel(endpoint, options=_UNLIMITED)
        # Capabilities are asked for in the middle of plain functions, which cannot await.
        self._plain_channel = grpc.insecure_channel(endpoint, options=_UNLIMITED)
        self.calls = rpc.KernelServiceStub(self._channel)
        self._plain = rpc.KernelServiceStub(self._plain_channel)

    def capability(self, name: str) -> Any:
        """A capability of the session; None if there is none that can be sent."""
        request = pb.GetCapabilityRequest(name=name)
        try:
            answer = self._plain.GetCapability(
                request, timeout=QUESTION_SECONDS, metadata=self.metadata
            )
        except grpc.RpcError:
            return None
        return json.loads(answer.value_json) if answer.found else None

    def register_capability(self, name: str, value: Any) -> None:
        request = pb.RegisterCapabilityRequest(name=name, value_json=json.dumps(value))
        self._plain.RegisterCapability(request, timeout=QUESTION_SECONDS, metadata=self.metadata)

    async def close(self) -> None:
        self._plain_channel.close()
        await self._channel.close()


kernel_of_caller: ContextVar[Kernel | None] = ContextVar("kernel_of_caller", default=None)
"""The way back to whoever made the call that is being served, if it told."""


class FarHooks(HookRegistry):
    """Handlers are kept here; what is emitted here is heard by the whole session."""

    own_kernel: Kernel | None = None

    def emit(self, event: str, data: Any) -> Coroutine[Any, Any, HookResult]:
        kernel = kernel_of_caller.get() or self.own_kernel
        return super().emit(event, data) if kernel is None else self._emit(kernel, event, data)

    async def _emit(self, kernel: Kernel, event: str, data: Any) -> HookResult:
        request = pb.EmitHookRequest(event=event, data_json=to_json(data))
        metadata = (*kernel.metadata, (ASK_KEY, "1"))
        answer = await kernel.calls.EmitHook(request, timeout=WORK_SECONDS, metadata=metadata)
        return hook_result_from_proto(answer)

    def emit_here(self, event: str, data: Any) -> Coroutine[Any, Any, HookResult]:
        """Ask the handlers of this process alone."""
        return super().emit(event, data)


class FarCoordinator(ModuleCoordinator):
    """The coordinator of a served module: its own mounts, and the session's capabilities."""

    _own_kernel: Kernel | None = None

    @property
    def kernel(self) -> Kernel | None:
        return kernel_of_caller.get() or self._own_kernel

    def connect(self, own_kernel: Kernel | None) -> None:
        """Let it reach its session, or only those who call it if it has none of its own."""
        hooks = FarHooks()
        self._hooks = self._mount_points["hooks"] = hooks
        self._own_kernel = hooks.own_kernel = own_kernel
        kernel = self.kernel
        session = (kernel.capability("amplifier.session") if kernel else None) or {}
        self._session_id = session.get("session_id") or ""
        self._parent_id = session.get("parent_id")

    def get_capability(self, name: str) -> Any:
        own = super().get_capability(name)
        return self.kernel.capability(name) if own is None and self.kernel is not None else own

    def register_capability(self, name: str, value: Any) -> None:
        super().register_capability(name, value)
        # What cannot be sent is of use in this process only.
        with suppress(TypeError, ValueError, grpc.RpcError):
            if self.kernel is not None:
                self.kernel.register_capability(name, value)


# -- what an orchestrator works with --------------------------------------------------


class FarContext:
    """The session's conversation."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def add_message(self, message: dict[str, Any]) -> None:
        request = pb.KernelAddMessageRequest(message=message_to_proto(message))
        await self._kernel.calls.AddMessage(
            request, timeout=WORK_SECONDS, metadata=self._kernel.metadata
        )

    async def get_messages(self) -> list[dict[str, Any]]:
        return await self._messages(())

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        name = getattr(provider, "mount_name", "")
        return await self._messages(((FOR_REQUEST_KEY, name),))

    async def _messages(self, more: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
        answer = await self._kernel.calls.GetMessages(
            pb.GetMessagesRequest(),
            timeout=WORK_SECONDS,
            metadata=(*self._kernel.metadata, *more),
        )
        return messages_from_proto(answer.messages)


class FarTool:
    """A tool of the session."""

    def __init__(self, kernel: Kernel, spec: dict[str, Any]) -> None:
        self._kernel = kernel
        self.name: str = spec["name"]
        self.description: str = spec["description"]
        self.input_schema: dict[str, Any] = spec["parameters"]

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        request = pb.ExecuteToolRequest(
            tool_name=self.name, input_json=json.dumps(input, default=plain)
        )
        answer = await self._kernel.calls.ExecuteTool(
            request, timeout=WORK_SECONDS, metadata=self._kernel.metadata
        )
        return tool_result_from_proto(answer)


class FarProvider:
    """A provider of the session."""

    def __init__(self, kernel: Kernel, spec: dict[str, Any]) -> None:
        self._kernel = kernel
        self._info = ProviderInfo.model_validate(spec["info"])
        self.mount_name: str = spec["name"]
        self.name = self._info.id

    def get_info(self) -> ProviderInfo:
        return self._info

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def complete(self, request: ChatRequest, **_: Any) -> ChatResponse:
        try:
            answer = await self._kernel.calls.CompleteWithProvider(
                self._request(request), timeout=WORK_SECONDS, metadata=self._kernel.metadata
            )
        except grpc.aio.AioRpcError as error:
            raise self._llm_error(error) from error
        return response_from_proto(answer)

    async def stream_complete(
        self, request: ChatRequest, **_: Any
    ) -> AsyncIterator[dict[str, Any]]:
        call = self._kernel.calls.CompleteWithProviderStreaming(
            self._request(request), timeout=WORK_SECONDS, metadata=self._kernel.metadata
        )
        last: Any = None
        try:
            async for last in call:
                if not last.finish_reason:
                    blocks = response_fields(last)["content"]
                    yield {"text": "".join(each.get("text", "") for each in blocks)}
        except grpc.aio.AioRpcError as error:
            raise self._llm_error(error) from error
        finally:
            call.cancel()
        yield {"response": response_from_proto(last)}

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())

    def _request(self, request: ChatRequest) -> pb.CompleteWithProviderRequest:
        proto = request_to_proto(request)
        return pb.CompleteWithProviderRequest(provider_name=self.mount_name, request=proto)

    def _llm_error(self, error: grpc.aio.AioRpcError) -> llm_errors.LLMError:
        kind = _LLM_ERRORS.get(error.code(), llm_errors.LLMError)
        return kind(error.details() or "Provider completion failed", provider=self.name)
