"""What a session offers to its modules in other processes.

Each call names what it wants and gets a plain answer, or a status that tells the caller
what was wrong with the question. What went wrong inside is logged here and not sent.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import grpc

from ... import llm_errors
from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...message_models import ChatRequest
from ...models import ToolResult
from ..mounted import DESCRIPTIONS
from .chat import request_from_proto, response_to_proto
from .messages import message_from_proto, message_to_proto
from .results import hook_result_to_proto, tool_result_to_proto
from .values import plain, to_json

logger = logging.getLogger("amplifier_core.loader_grpc")

MAX_JSON_BYTES = 4 * 1024 * 1024
FOR_REQUEST_KEY = "x-amplifier-for-request"
"""With this beside GetMessages, the answer is what fits the provider of that name."""
ASK_KEY = "x-amplifier-ask"
"""With this beside EmitHook, a question of a hook is put to the user and answered."""
LONGEST_COLLECTION = 300.0
USUAL_COLLECTION = 30.0

_Code = grpc.StatusCode
_LLM_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (llm_errors.ContextLengthError, _Code.OUT_OF_RANGE),
    (llm_errors.RateLimitError, _Code.RESOURCE_EXHAUSTED),
    (llm_errors.LLMTimeoutError, _Code.DEADLINE_EXCEEDED),
    (llm_errors.ProviderUnavailableError, _Code.UNAVAILABLE),
)


class KernelService(rpc.KernelServiceServicer):  # type: ignore[misc]
    """Serves one coordinator, and so one session; the session ids in requests are not read."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator

    # -- providers --------------------------------------------------------------------

    async def CompleteWithProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        provider, chat = await self._completion(request, context)
        try:
            return response_to_proto(await provider.complete(chat))
        except Exception as error:
            return await _fail(context, error, "Provider completion failed")

    async def CompleteWithProviderStreaming(  # noqa: N802
        self, request: Any, context: Any
    ) -> AsyncIterator[Any]:
        provider, chat = await self._completion(request, context)
        try:
            if not hasattr(provider, "stream_complete"):
                yield response_to_proto(await provider.complete(chat))
                return
            async for chunk in provider.stream_complete(chat):
                if "response" in chunk:
                    final = response_to_proto(chunk["response"])
                    final.finish_reason = final.finish_reason or "stop"
                    yield final
                elif chunk.get("text"):
                    yield response_to_proto({"content": [{"type": "text", "text": chunk["text"]}]})
        except Exception as error:
            await _fail(context, error, "Provider completion failed")

    async def _completion(self, request: Any, context: Any) -> tuple[Any, ChatRequest]:
        provider = self._coordinator.get("providers", request.provider_name)
        if provider is None:
            await context.abort(_Code.NOT_FOUND, "Provider not available")
        if not request.HasField("request"):
            await context.abort(_Code.INVALID_ARGUMENT, "Missing required field: request")
        await _check_size(context, "metadata_json", request.request.metadata_json)
        try:
            chat = request_from_proto(request.request)
        except ValueError:
            await context.abort(_Code.INVALID_ARGUMENT, "Invalid request")
        return provider, chat

    # -- tools ------------------------------------------------------------------------

    async def ExecuteTool(self, request: Any, context: Any) -> Any:  # noqa: N802
        tool = self._coordinator.get("tools", request.tool_name)
        if tool is None:
            await context.abort(_Code.NOT_FOUND, "Tool not available")
        await _check_size(context, "input_json", request.input_json)
        given = await _parsed(context, request.input_json, {}, "Invalid input JSON")
        try:
            result = await tool.execute(given)
            if not isinstance(result, ToolResult):
                result = _as_result(result)
            return tool_result_to_proto(result)
        except Exception as error:
            return await _fail(context, error, "Tool execution failed")

    # -- hooks ------------------------------------------------------------------------

    async def EmitHook(self, request: Any, context: Any) -> Any:  # noqa: N802
        data = await _event_data(context, request)
        result = await self._coordinator.hooks.emit(request.event, data)
        if result.action == "ask_user" and ASK_KEY in dict(context.invocation_metadata()):
            result = await self._coordinator.process_hook_result(result, request.event)
        return hook_result_to_proto(result)

    async def EmitHookAndCollect(self, request: Any, context: Any) -> Any:  # noqa: N802
        data, seconds = await _event_data(context, request), request.timeout_seconds
        is_given = math.isfinite(seconds) and seconds > 0
        timeout = min(seconds, LONGEST_COLLECTION) if is_given else USUAL_COLLECTION
        collected = await self._coordinator.hooks.emit_and_collect(request.event, data, timeout)
        return pb.EmitHookAndCollectResponse(responses_json=[to_json(each) for each in collected])

    # -- messages ---------------------------------------------------------------------

    async def GetMessages(self, request: Any, context: Any) -> Any:  # noqa: N802
        memory = await self._context(context)
        wanted = dict(context.invocation_metadata()).get(FOR_REQUEST_KEY)
        try:
            if wanted is not None and hasattr(memory, "get_messages_for_request"):
                provider = self._coordinator.get("providers", wanted)
                messages = await memory.get_messages_for_request(provider=provider)
            else:
                messages = await memory.get_messages()
        except Exception as error:
            await _fail(context, error, "Failed to get messages")
        return pb.GetMessagesResponse(messages=[message_to_proto(each) for each in messages])

    async def AddMessage(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not request.HasField("message"):
            await context.abort(_Code.INVALID_ARGUMENT, "Missing required field: message")
        await _check_size(context, "metadata_json", request.message.metadata_json)
        message = message_from_proto(request.message)
        if message is None or "role" not in message:
            await context.abort(_Code.INVALID_ARGUMENT, "Invalid message")
        memory = await self._context(context)
        try:
            await memory.add_message(message)
        except Exception as error:
            await _fail(context, error, "Failed to add message")
        return pb.Empty()

    async def _context(self, context: Any) -> Any:
        memory = self._coordinator.get("context")
        if memory is None:
            await context.abort(_Code.FAILED_PRECONDITION, "No context manager mounted")
        return memory

    # -- modules and capabilities -----------------------------------------------------

    async def GetMountedModule(self, request: Any, context: Any) -> Any:  # noqa: N802
        for kind, point in ((pb.MODULE_TYPE_TOOL, "tools"), (pb.MODULE_TYPE_PROVIDER, "providers")):
            if request.module_type not in (pb.MODULE_TYPE_UNSPECIFIED, kind):
                continue
            module = self._coordinator.get(point, request.module_name)
            if module is not None:
                name = str(getattr(module, "name", request.module_name))
                text = str(getattr(module, "description", None) or "")
                info = pb.ModuleInfo(name=name, module_type=kind, description=text)
                return pb.GetMountedModuleResponse(found=True, info=info)
        return pb.GetMountedModuleResponse(found=False)

    async def RegisterCapability(self, request: Any, context: Any) -> Any:  # noqa: N802
        await _check_size(context, "value_json", request.value_json)
        value = await _parsed(context, request.value_json, ..., "Invalid value_json")
        if value is ...:
            await context.abort(_Code.INVALID_ARGUMENT, "Invalid value_json")
        self._coordinator.register_capability(request.name, value)
        return pb.Empty()

    async def GetCapability(self, request: Any, context: Any) -> Any:  # noqa: N802
        describe = DESCRIPTIONS.get(request.name)
        if self._coordinator.check_capability(request.name):
            value = self._coordinator.get_capability(request.name)
        elif describe is not None:
            value = json.loads(json.dumps(describe(self._coordinator), default=plain))
        else:
            return pb.GetCapabilityResponse(found=False)
        try:
            return pb.GetCapabilityResponse(found=True, value_json=json.dumps(value))
        except (TypeError, ValueError) as error:
            return await _fail(context, error, "Failed to serialize capability")


def _as_result(returned: Any) -> ToolResult:
    if isinstance(returned, dict) and "success" in returned:
        return ToolResult.model_validate(returned)
    return ToolResult(output=returned)


async def _event_data(context: Any, request: Any) -> Any:
    await _check_size(context, "data_json", request.data_json)
    return await _parsed(context, request.data_json, {}, "Invalid data_json")


async def _check_size(context: Any, field: str, text: str) -> None:
    if len(text) > MAX_JSON_BYTES or len(text.encode()) > MAX_JSON_BYTES:
        detail = f"{field} exceeds maximum size of {MAX_JSON_BYTES} bytes"
        await context.abort(_Code.INVALID_ARGUMENT, detail)


async def _parsed(context: Any, text: str, default: Any, detail: str) -> Any:
    if not text:
        return default
    try:
        return json.loads(text)
    except ValueError:
        await context.abort(_Code.INVALID_ARGUMENT, detail)


async def _fail(context: Any, error: Exception, detail: str) -> Any:
    """End the call with a status; what happened is for the log alone."""
    logger.error("%s for a remote module", detail, exc_info=error)
    code = next((code for kind, code in _LLM_CODES if isinstance(error, kind)), _Code.INTERNAL)
    return await context.abort(code, detail)
