"""Requests to a provider and its responses, as the kernel's models and as the contract's."""

from __future__ import annotations

import json
import logging
from decimal import Decimal, InvalidOperation
from typing import Any

from google.protobuf.message import DecodeError

from ..._grpc_gen import amplifier_module_pb2 as pb
from ...message_models import ChatRequest, ChatResponse
from .messages import (
    block_from_proto,
    block_to_proto,
    message_to_proto,
    messages_from_proto,
)
from .values import decimal_text, int32, json_object, to_json

logger = logging.getLogger("amplifier_core.loader_grpc")

_SCALARS = ("temperature", "top_p", "conversation_id", "model", "reasoning_effort", "timeout")
_COUNTS = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}
_OPTIONAL_COUNTS = {
    "reasoning_tokens": "reasoning_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_creation_tokens",
}


# -- requests -------------------------------------------------------------------------


def request_to_proto(request: ChatRequest) -> pb.ChatRequest:
    choice = request.tool_choice
    return pb.ChatRequest(
        messages=[message_to_proto(each) for each in request.messages],
        tools=[
            pb.ToolSpecProto(
                name=tool.name,
                description=tool.description or "",
                parameters_json=to_json(tool.parameters),
            )
            for tool in request.tools or ()
        ],
        response_format=_format_to_proto(request.response_format),
        max_output_tokens=int32(request.max_output_tokens),
        stream=bool(request.stream),
        metadata_json=to_json(request.metadata),
        tool_choice=choice if isinstance(choice, str) else to_json(choice),
        stop=request.stop or (),
        **{name: value for name in _SCALARS if (value := getattr(request, name)) is not None},
    )


def _format_to_proto(given: Any) -> pb.ResponseFormat | None:
    if given is None:
        return None
    if given.type == "json_schema":
        schema = pb.JsonSchemaFormat(
            schema_json=to_json(given.json_schema), strict=bool(given.strict)
        )
        return pb.ResponseFormat(json_schema=schema)
    return pb.ResponseFormat(text=True) if given.type == "text" else pb.ResponseFormat(json=True)


def request_from_proto(proto: pb.ChatRequest) -> ChatRequest:
    """Raises: ValueError: it is no valid request."""
    return ChatRequest.model_validate(request_fields(proto))


def request_fields(proto: pb.ChatRequest) -> dict[str, Any]:
    """The request as plain data; nothing stands for what was not given."""
    fields: dict[str, Any] = {"messages": messages_from_proto(proto.messages)}
    if proto.tools:
        fields["tools"] = [_tool_fields(each) for each in proto.tools]
    fields |= _format_fields(proto.response_format)
    for name in (*_SCALARS, "max_output_tokens", "stream"):
        if value := getattr(proto, name):
            fields[name] = value
    if proto.metadata_json:
        fields["metadata"] = json_object(proto.metadata_json, "metadata")
    if proto.tool_choice:
        fields["tool_choice"] = _choice(proto.tool_choice)
    if proto.stop:
        fields["stop"] = list(proto.stop)
    return fields


def _tool_fields(tool: pb.ToolSpecProto) -> dict[str, Any]:
    parameters = json_object(tool.parameters_json, "the parameters of a tool")
    fields = {"name": tool.name, "parameters": parameters}
    return {**fields, "description": tool.description} if tool.description else fields


def _format_fields(proto: pb.ResponseFormat) -> dict[str, Any]:
    kind = proto.WhichOneof("format")
    if kind is None:
        return {}
    given: dict[str, Any] = {"type": kind}
    if kind == "json_schema":
        given["json_schema"] = json_object(proto.json_schema.schema_json, "a response schema")
        given |= {"strict": True} if proto.json_schema.strict else {}
    return {"response_format": given}


def _choice(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


# -- responses ------------------------------------------------------------------------


def response_to_proto(response: Any) -> pb.ChatResponse:
    """A response, a model or a dict, with its blocks in both places where they are read."""
    fields = response if isinstance(response, dict) else response.model_dump(mode="json")
    blocks = [_without_none(each) for each in fields.get("content") or ()]
    degradation = fields.get("degradation")
    return pb.ChatResponse(
        content=to_json(blocks),
        content_blocks=[block_to_proto(each) for each in blocks],
        tool_calls=[
            pb.ToolCallMessage(
                id=each["id"], name=each["name"], arguments_json=to_json(each["arguments"])
            )
            for each in fields.get("tool_calls") or ()
        ],
        usage=_usage_to_proto(fields.get("usage")),
        degradation=pb.Degradation(**_known(degradation)) if degradation else None,
        finish_reason=fields.get("finish_reason") or "",
        metadata_json=to_json(fields.get("metadata")),
    )


def _without_none(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if value is not None}


def _known(degradation: dict[str, Any]) -> dict[str, str]:
    return {key: str(degradation.get(key) or "") for key in ("requested", "actual", "reason")}


def _usage_to_proto(usage: Any) -> pb.Usage | None:
    if usage is None:
        return None
    proto = pb.Usage()
    for ours, theirs in _COUNTS.items():
        setattr(proto, theirs, int32(usage.get(ours)))
    for ours, theirs in _OPTIONAL_COUNTS.items():
        if usage.get(ours) is not None:
            setattr(proto, theirs, int32(usage[ours]))
    if usage.get("cost_usd") is not None:
        proto.cost_usd = decimal_text(usage["cost_usd"])
    return proto


def response_from_proto(proto: pb.ChatResponse) -> ChatResponse:
    """Raises: ValueError: it is no valid response."""
    return ChatResponse.model_validate(response_fields(proto))


def response_fields(proto: pb.ChatResponse) -> dict[str, Any]:
    fields: dict[str, Any] = {"content": _blocks(proto)}
    if proto.tool_calls:
        fields["tool_calls"] = [call_fields(each) for each in proto.tool_calls]
    if proto.HasField("usage"):
        fields["usage"] = _usage_fields(proto.usage)
    if proto.HasField("degradation"):
        given = proto.degradation
        fields["degradation"] = {
            "requested": given.requested,
            "actual": given.actual,
            "reason": given.reason,
        }
    if proto.finish_reason:
        fields["finish_reason"] = proto.finish_reason
    if proto.metadata_json:
        fields["metadata"] = json_object(proto.metadata_json, "metadata")
    return fields


def call_fields(call: pb.ToolCallMessage) -> dict[str, Any]:
    arguments = json_object(call.arguments_json, "the arguments of a tool call")
    return {"id": call.id, "name": call.name, "arguments": arguments}


def _blocks(proto: pb.ChatResponse) -> list[Any]:
    read = [block_from_proto(each) for each in proto.content_blocks]
    if read:
        return [each for each in read if each is not None]
    if not proto.content:
        return []
    # Servers of little ambition put plain text here.
    try:
        found = json.loads(proto.content)
    except ValueError:
        found = proto.content
    return found if isinstance(found, list) else [{"type": "text", "text": proto.content}]


def _usage_fields(usage: pb.Usage) -> dict[str, Any]:
    fields: dict[str, Any] = {ours: getattr(usage, theirs) for ours, theirs in _COUNTS.items()}
    for ours, theirs in _OPTIONAL_COUNTS.items():
        if usage.HasField(theirs):
            fields[ours] = getattr(usage, theirs)
    if usage.HasField("cost_usd"):
        try:
            fields["cost_usd"] = Decimal(usage.cost_usd)
        except InvalidOperation:
            logger.warning("A remote provider sent a cost that is no number; it is left out")
    return fields


# -- for code that has the one form and needs the other -------------------------------


def proto_chat_request_to_json(data: bytes) -> str:
    """The JSON of a serialized request; ValueError if it is none."""
    proto = pb.ChatRequest()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(f"These bytes are no ChatRequest: {error}.") from error
    return json.dumps(request_fields(proto))


def json_to_proto_chat_response(text: str) -> bytes:
    """A response in JSON, serialized; ValueError if it is none."""
    response = ChatResponse.model_validate_json(text)
    return response_to_proto(response).SerializeToString()
