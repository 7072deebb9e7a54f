"""Messages and their content blocks, as the kernel's dicts and as the contract's messages."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from .values import from_json, json_object, to_json

logger = logging.getLogger("amplifier_core.loader_grpc")

ROLES = {"system": 1, "user": 2, "assistant": 3, "tool": 4, "function": 5, "developer": 6}
_ROLE_NAMES = {number: name for name, number in ROLES.items()}
_VISIBILITY: dict[Any, pb.Visibility] = {
    "developer": pb.VISIBILITY_ALL,
    "internal": pb.VISIBILITY_LLM_ONLY,
    "user": pb.VISIBILITY_USER_ONLY,
}
_VISIBILITY_NAMES = {number: name for name, number in _VISIBILITY.items()}
_FIELDS = {"role", "content", "name", "tool_call_id", "metadata"}
EXTRA_KEY = "x-amplifier-extra"
"""Where the metadata of a message keeps what the contract has no field for."""

Block = dict[str, Any]


# -- messages -------------------------------------------------------------------------


def message_to_proto(message: Any) -> pb.Message:
    """A message for the wire; what is none goes as the JSON text that it is."""
    fields = _dumped(message)
    content = fields.get("content") if isinstance(fields, dict) else None
    if fields.__class__ is not dict or fields.get("role") not in ROLES or not _is_content(content):
        return pb.Message(text_content=to_json(fields))
    proto = pb.Message(
        role=pb.Role.Name(ROLES[fields["role"]]),
        name=fields.get("name") or "",
        tool_call_id=fields.get("tool_call_id") or "",
        metadata_json=to_json(_metadata(fields)),
    )
    if isinstance(content, str):
        proto.text_content = content
    else:
        proto.block_content.blocks.extend(block_to_proto(each) for each in content or ())
        proto.block_content.SetInParent()
    return proto


def _is_content(content: Any) -> bool:
    if isinstance(content, list | tuple):
        return all(isinstance(_dumped(each), Mapping) for each in content)
    return isinstance(content, str)


def _metadata(fields: dict[str, Any]) -> dict[str, Any] | None:
    extra = {key: value for key, value in fields.items() if key not in _FIELDS}
    metadata: dict[str, Any] | None = fields.get("metadata")
    return {**(metadata or {}), EXTRA_KEY: extra} if extra else metadata


def message_from_proto(proto: pb.Message) -> dict[str, Any] | None:
    """The message as a dict; None if it has no content."""
    kind = proto.WhichOneof("content")
    if kind is None:
        logger.warning("A remote module sent a message without content; it is left out")
        return None
    if proto.role == pb.ROLE_UNSPECIFIED and kind == "text_content":
        whole = from_json(proto.text_content, "a message", {})
        if isinstance(whole, dict) and whole:
            return whole
    role = _ROLE_NAMES.get(proto.role)
    if role is None:
        logger.warning("A remote module sent a message of unknown role; it counts as the user's")
    content: Any = proto.text_content
    if kind == "block_content":
        content = [block_from_proto(each) or _EMPTY_TEXT for each in proto.block_content.blocks]
    message = {"role": role or "user", "content": content}
    if proto.name:
        message["name"] = proto.name
    if proto.tool_call_id:
        message["tool_call_id"] = proto.tool_call_id
    if proto.metadata_json:
        metadata = json_object(proto.metadata_json, "metadata")
        message.update(metadata.pop(EXTRA_KEY, None) or {})
        if metadata:
            message["metadata"] = metadata
    return message


def messages_from_proto(messages: Any) -> list[dict[str, Any]]:
    read = [message_from_proto(each) for each in messages]
    return [each for each in read if each is not None]


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", exclude_none=True)


# -- blocks ---------------------------------------------------------------------------

_EMPTY_TEXT = {"type": "text", "text": ""}


def block_to_proto(block: Any) -> pb.ContentBlock:
    """A content block for the wire; one of unknown type has no variant."""
    fields = _dumped(block)
    proto = pb.ContentBlock()
    proto.visibility = _VISIBILITY.get(fields.get("visibility"), pb.VISIBILITY_UNSPECIFIED)
    write = _WRITERS.get(fields.get("type"))
    if write is not None:
        write(proto, fields)
    else:
        logger.warning("A block of type %r cannot be sent; it is left out", fields.get("type"))
    return proto


def block_from_proto(proto: pb.ContentBlock) -> Block | None:
    """The block as a dict; None if it has no variant."""
    variant = proto.WhichOneof("block")
    if variant is None:
        return None
    block = _READERS[variant](getattr(proto, variant))
    visibility = _VISIBILITY_NAMES.get(proto.visibility)
    return block if visibility is None else {**block, "visibility": visibility}


def _write_text(proto: pb.ContentBlock, block: Block) -> None:
    proto.text_block.text = str(block.get("text") or "")
    proto.text_block.SetInParent()


def _write_thinking(proto: pb.ContentBlock, block: Block) -> None:
    proto.thinking_block.thinking = str(block.get("thinking") or "")
    proto.thinking_block.signature = block.get("signature") or ""
    proto.thinking_block.content = to_json(block.get("content"))


def _write_redacted(proto: pb.ContentBlock, block: Block) -> None:
    proto.redacted_thinking_block.data = str(block.get("data") or "")


def _write_call(proto: pb.ContentBlock, block: Block) -> None:
    proto.tool_call_block.id = str(block.get("id") or "")
    proto.tool_call_block.name = str(block.get("name") or "")
    proto.tool_call_block.input_json = to_json(block.get("input"))


def _write_result(proto: pb.ContentBlock, block: Block) -> None:
    proto.tool_result_block.tool_call_id = str(block.get("tool_call_id") or "")
    proto.tool_result_block.output_json = to_json(block.get("output"))


def _write_image(proto: pb.ContentBlock, block: Block) -> None:
    source = block.get("source") or {}
    proto.image_block.media_type = str(source.get("media_type") or "")
    proto.image_block.data = str(source.get("data") or "").encode()
    proto.image_block.source_json = to_json(source)


def _write_reasoning(proto: pb.ContentBlock, block: Block) -> None:
    proto.reasoning_block.content.extend(to_json(each) for each in block.get("content") or ())
    proto.reasoning_block.summary.extend(to_json(each) for each in block.get("summary") or ())
    proto.reasoning_block.SetInParent()


_WRITERS: dict[Any, Callable[[pb.ContentBlock, Block], None]] = {
    "text": _write_text,
    "thinking": _write_thinking,
    "redacted_thinking": _write_redacted,
    "tool_call": _write_call,
    "tool_result": _write_result,
    "image": _write_image,
    "reasoning": _write_reasoning,
}


def _read_thinking(block: pb.ThinkingBlock) -> Block:
    content = from_json(block.content, "the content of a thinking block")
    read: Block = {"type": "thinking", "thinking": block.thinking}
    read |= {"signature": block.signature} if block.signature else {}
    return {**read, "content": content} if isinstance(content, list) else read


def _read_items(texts: Any) -> list[Any]:
    read = [from_json(text, "a reasoning item") for text in texts]
    return [each for each in read if each is not None]


_READERS: dict[str, Callable[[Any], Block]] = {
    "text_block": lambda block: {"type": "text", "text": block.text},
    "thinking_block": _read_thinking,
    "redacted_thinking_block": lambda block: {"type": "redacted_thinking", "data": block.data},
    "tool_call_block": lambda block: {
        "type": "tool_call",
        "id": block.id,
        "name": block.name,
        "input": json_object(block.input_json, "the input of a tool call"),
    },
    "tool_result_block": lambda block: {
        "type": "tool_result",
        "tool_call_id": block.tool_call_id,
        "output": from_json(block.output_json, "the output of a tool"),
    },
    "image_block": lambda block: {
        "type": "image",
        "source": json_object(block.source_json, "the source of an image"),
    },
    "reasoning_block": lambda block: {
        "type": "reasoning",
        "content": _read_items(block.content),
        "summary": _read_items(block.summary),
    },
}


# -- what tools show ------------------------------------------------------------------


class InvalidToolContent(ValueError):
    """A tool sent blocks that a tool cannot send."""


def tool_content_from_proto(blocks: Any) -> list[Block] | None:
    """Text, and pictures as bytes; nothing else may be in a tool's result."""
    return [_tool_block(each) for each in blocks] or None


def _tool_block(proto: pb.ContentBlock) -> Block:
    variant = proto.WhichOneof("block")
    if variant == "text_block" and not proto.visibility:
        return {"type": "text", "text": proto.text_block.text}
    image = proto.image_block
    if variant == "image_block" and not proto.visibility and not image.source_json:
        data = base64.b64encode(image.data).decode()
        source = {"type": "base64", "media_type": image.media_type, "data": data}
        return {"type": "image", "source": source}
    raise InvalidToolContent("invalid tool result content from gRPC tool")


def tool_content_to_proto(content: Any) -> list[pb.ContentBlock]:
    return [_tool_block_to_proto(_dumped(each)) for each in content or ()]


def _tool_block_to_proto(block: Block) -> pb.ContentBlock:
    if block["type"] == "text":
        return pb.ContentBlock(text_block=pb.TextBlock(text=block["text"]))
    source = block["source"]
    data = base64.b64decode(source["data"])
    return pb.ContentBlock(image_block=pb.ImageBlock(media_type=source["media_type"], data=data))
