"""The services of the contract, answered by a Python module of this process."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...interfaces import ApprovalRequest
from ...models import HookResult, ToolResult
from ..approvals import decision_on
from ..grpc.chat import request_from_proto, response_from_proto, response_to_proto
from ..grpc.messages import (
    message_from_proto,
    message_to_proto,
    messages_from_proto,
    tool_content_to_proto,
)
from ..grpc.results import hook_result_to_proto, model_to_proto, provider_to_proto
from ..grpc.tool import ANNOTATIONS_KEY, JSON_TYPE, TOOL_KEY
from ..grpc.values import json_object, plain, to_json
from .served import ServedModule, config_from, handlers

logger = logging.getLogger("amplifier_core.serve")

_UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED


class Part:
    """What the services have in common."""

    def __init__(self, module: ServedModule) -> None:
        self.module = module

    async def find(self, context: Any, point: str, name: str | None = None) -> Any:
        """What is mounted at `point`, the first unless named; none is no such service."""
        coordinator = await self.module.coordinator()
        if point == "approval":
            found = coordinator.approval_system
        else:
            mounted = coordinator.get_all(point)
            found = mounted.get(name) if name else next(iter(mounted.values()), None)
        if found is None:
            detail = f"{self.module.module_id} has nothing at {name or point}"
            await context.abort(_UNIMPLEMENTED, detail)
        return found


class Lifecycle(Part, rpc.ModuleLifecycleServicer):  # type: ignore[misc]
    async def Mount(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            await self.module.mount(config_from(dict(request.config)))
        except Exception as error:
            logger.exception("Mounting %r failed", self.module.module_id)
            return pb.MountResponse(success=False, error=f"{type(error).__name__}: {error}")
        return pb.MountResponse(success=True, status=pb.HEALTH_STATUS_SERVING)

    async def Cleanup(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.module.cleanup()
        return pb.Empty()

    async def HealthCheck(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.HealthCheckResponse(status=pb.HEALTH_STATUS_SERVING)

    async def GetModuleInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self.module.info()


class Tool(Part, rpc.ToolServiceServicer):  # type: ignore[misc]
    async def _tool(self, context: Any) -> Any:
        name = dict(context.invocation_metadata()).get(TOOL_KEY)
        return await self.find(context, "tools", name)

    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        tool = await self._tool(context)
        schema = dict(getattr(tool, "input_schema", None) or {})
        if annotations := getattr(tool, "annotations", None):
            schema[ANNOTATIONS_KEY] = annotations
        return pb.ToolSpec(
            name=tool.name, description=tool.description or "", parameters_json=to_json(schema)
        )

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        tool = await self._tool(context)
        try:
            result = await tool.execute(json.loads(request.input or b"{}"))
        except Exception as error:
            logger.exception("Tool %r failed", tool.name)
            return pb.ToolExecuteResponse(success=False, error=f"{type(error).__name__}: {error}")
        if not isinstance(result, ToolResult):
            result = ToolResult(output=result)
        message = str((result.error or {}).get("message") or "")
        return pb.ToolExecuteResponse(
            success=result.success,
            output=b""
            if result.output is None
            else json.dumps(result.output, default=plain).encode(),
            content_type=JSON_TYPE,
            error=message if result.success else message or "The tool failed.",
            content_blocks=tool_content_to_proto(result.content),
        )


class Provider(Part, rpc.ProviderServiceServicer):  # type: ignore[misc]
    async def GetInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_to_proto((await self.find(context, "providers")).get_info())

    async def ListModels(self, request: Any, context: Any) -> Any:  # noqa: N802
        models = await (await self.find(context, "providers")).list_models()
        return pb.ListModelsResponse(models=[model_to_proto(each) for each in models])

    async def Complete(self, request: Any, context: Any) -> Any:  # noqa: N802
        provider = await self.find(context, "providers")
        return response_to_proto(await provider.complete(request_from_proto(request)))

    async def CompleteStreaming(  # noqa: N802
        self, request: Any, context: Any
    ) -> AsyncIterator[Any]:
        provider = await self.find(context, "providers")
        if not hasattr(provider, "stream_complete"):
            yield response_to_proto(await provider.complete(request_from_proto(request)))
            return
        async for chunk in provider.stream_complete(request_from_proto(request)):
            if "response" in chunk:
                final = response_to_proto(chunk["response"])
                final.finish_reason = final.finish_reason or "stop"
                yield final
            elif chunk.get("text"):
                yield response_to_proto({"content": [{"type": "text", "text": chunk["text"]}]})

    async def ParseToolCalls(self, request: Any, context: Any) -> Any:  # noqa: N802
        provider = await self.find(context, "providers")
        calls = provider.parse_tool_calls(response_from_proto(request))
        protos = [
            pb.ToolCallMessage(id=each.id, name=each.name, arguments_json=to_json(each.arguments))
            for each in calls
        ]
        return pb.ParseToolCallsResponse(tool_calls=protos)


class Orchestrator(Part, rpc.OrchestratorServiceServicer):  # type: ignore[misc]
    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.find(context, "orchestrator")
        try:
            answer = await self.module.execute(request.prompt)
        except Exception as error:
            logger.exception("The turn failed")
            text = f"{type(error).__name__}: {error}"
            return pb.OrchestratorExecuteResponse(error=text)
        return pb.OrchestratorExecuteResponse(response=answer)


class Context(Part, rpc.ContextServiceServicer):  # type: ignore[misc]
    async def AddMessage(self, request: Any, context: Any) -> Any:  # noqa: N802
        memory = await self.find(context, "context")
        await memory.add_message(message_from_proto(request.message))
        return pb.Empty()

    async def GetMessages(self, request: Any, context: Any) -> Any:  # noqa: N802
        memory = await self.find(context, "context")
        return _messages(await memory.get_messages())

    async def GetMessagesForRequest(self, request: Any, context: Any) -> Any:  # noqa: N802
        memory = await self.find(context, "context")
        if not hasattr(memory, "get_messages_for_request"):
            return _messages(await memory.get_messages())
        budget = request.token_budget or None
        return _messages(await memory.get_messages_for_request(token_budget=budget))

    async def SetMessages(self, request: Any, context: Any) -> Any:  # noqa: N802
        memory = await self.find(context, "context")
        await memory.set_messages(messages_from_proto(request.messages))
        return pb.Empty()

    async def Clear(self, request: Any, context: Any) -> Any:  # noqa: N802
        await (await self.find(context, "context")).clear()
        return pb.Empty()


def _messages(messages: Any) -> pb.GetMessagesResponse:
    return pb.GetMessagesResponse(messages=[message_to_proto(each) for each in messages])


class Hook(Part, rpc.HookServiceServicer):  # type: ignore[misc]
    async def GetSubscriptions(self, request: Any, context: Any) -> Any:  # noqa: N802
        registrations = handlers(await self.module.coordinator())
        if not registrations:
            await context.abort(_UNIMPLEMENTED, "This module has no hooks")
        # One subscription per event: the handlers of this process are asked together.
        first: dict[str, int] = {}
        for each in registrations:
            first[each.event] = min(first.get(each.event, each.priority), each.priority)
        name = self.module.module_id
        listed = [
            pb.EventSubscription(event=event, priority=priority, name=name)
            for event, priority in first.items()
        ]
        return pb.GetSubscriptionsResponse(subscriptions=listed)

    async def Handle(self, request: Any, context: Any) -> Any:  # noqa: N802
        hooks: Any = (await self.module.coordinator()).hooks
        data = json_object(request.data_json, "an event")
        result: HookResult = await hooks.emit_here(request.event, data)
        if result.action == "continue" and _is_changed(data, result.data):
            result = result.model_copy(update={"action": "modify"})
        return hook_result_to_proto(result)


def _is_changed(sent: dict[str, Any], now: dict[str, Any] | None) -> bool:
    return now is not None and {**now, "timestamp": None} != {**sent, "timestamp": None}


class Approval(Part, rpc.ApprovalServiceServicer):  # type: ignore[misc]
    async def RequestApproval(self, request: Any, context: Any) -> Any:  # noqa: N802
        decider = await self.find(context, "approval")
        asked = ApprovalRequest(
            tool_name=request.tool_name,
            action=request.action,
            details=json_object(request.details_json, "details"),
            risk_level=request.risk_level,
            timeout=request.timeout if request.HasField("timeout") else None,
        )
        try:
            answer = await decision_on(asked, decider)
        except TimeoutError as error:
            detail = str(error) or "Nobody answered in time"
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, detail)
        return pb.ApprovalResponse(
            approved=answer.approved, reason=answer.reason or "", remember=answer.remember
        )


def add_services(module: ServedModule, server: grpc.aio.Server) -> None:
    rpc.add_ModuleLifecycleServicer_to_server(Lifecycle(module), server)
    rpc.add_ToolServiceServicer_to_server(Tool(module), server)
    rpc.add_ProviderServiceServicer_to_server(Provider(module), server)
    rpc.add_OrchestratorServiceServicer_to_server(Orchestrator(module), server)
    rpc.add_ContextServiceServicer_to_server(Context(module), server)
    rpc.add_HookServiceServicer_to_server(Hook(module), server)
    rpc.add_ApprovalServiceServicer_to_server(Approval(module), server)
