"""Reads what a provider answered: text, blocks, tool calls. Providers vary, so it is tolerant."""

from __future__ import annotations

import json
from typing import Any

from amplifier_core.llm_errors import InvalidToolCallError, LLMError
from amplifier_core.message_models import (
    ChatResponse,
    ImageBlock,
    Message,
    ReasoningBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
)

_BLOCKS = frozenset(
    {
        TextBlock,
        ThinkingBlock,
        RedactedThinkingBlock,
        ReasoningBlock,
        ToolCallBlock,
        ToolResultBlock,
        ImageBlock,
    }
)
_FIELDS = ("content", "content_blocks", "metadata", "usage")
_ABSENT = object()


class Reply:
    """A response, read once; a response that nothing can be made of is refused.

    Raises:
        LLMError: the response has no readable content.
        InvalidToolCallError: a call has no name, no id of its own or no mapping as arguments.
    """

    __slots__ = ("blocks", "calls", "content", "metadata", "usage")

    content: str | list[dict[str, Any]]
    """As a context keeps it: text, or a list of dicts."""
    blocks: list[Any]
    """What to announce: the blocks made for display, else those of the content."""

    def __init__(self, provider: Any, response: Any) -> None:
        # A model has its attributes looked up the slow way, above all absent ones.
        fields = _fields(response)
        content = fields.get("content", _ABSENT)
        self.content = _plain_content(response, content) if content else ""
        self.calls = calls_in(provider, response)
        metadata, usage = fields.get("metadata"), fields.get("usage")
        self.metadata = metadata if isinstance(metadata, dict) else None
        if usage is not None and hasattr(usage, "model_dump"):
            usage = usage.model_dump()
        self.usage = usage
        blocks = fields.get("content_blocks")
        if isinstance(blocks, list) and blocks:
            self.blocks = [_display_block(block) for block in blocks]
        else:
            self.blocks = self.content if isinstance(self.content, list) else []

    @property
    def text(self) -> str:
        return text_of(self.content)

    def content_with(self, calls: list[ToolCall]) -> str | list[dict[str, Any]]:
        """The content without blocks of any other calls: nobody will ever answer those."""
        if not self.content or isinstance(self.content, str):
            return self.content or ""
        ids = {call.id for call in calls}
        return [
            block
            for block in self.content
            if block.get("type") != "tool_call" or block.get("id") in ids
        ]


def text_of(content: Any) -> str:
    """The text blocks of a response, with a blank line between them."""
    if isinstance(content, str):
        return content
    texts = [_field(block, "text") for block in content or () if _field(block, "type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def _field(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, dict) else getattr(block, name, None)


def _fields(response: Any) -> dict[str, Any]:
    if response.__class__ is ChatResponse:
        extra = response.__pydantic_extra__
        return {**response.__dict__, **extra} if extra else response.__dict__
    found = ((name, getattr(response, name, _ABSENT)) for name in _FIELDS)
    return {name: value for name, value in found if value is not _ABSENT}


def _plain_content(response: Any, content: Any) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _unreadable(response)
    if all(block.__class__ in _BLOCKS for block in content):
        return [block.model_dump(exclude_none=True) for block in content]
    try:
        # Not built by the model classes: an unknown block would spoil every later request.
        plain = [_display_block(block) for block in content]
        message = Message.model_validate({"role": "assistant", "content": plain})
    except (AttributeError, ValueError) as error:
        raise _unreadable(response) from error
    return [block.model_dump(exclude_none=True) for block in message.content]  # type: ignore[union-attr]


def _unreadable(response: Any) -> LLMError:
    return LLMError(
        f"The provider answered with {type(response).__name__}, whose content cannot be read. "
        f"Report this to the provider's author."
    )


def _display_block(block: Any) -> dict[str, Any]:
    if isinstance(block, dict):
        return block
    dump = getattr(block, "to_dict", None)
    plain: dict[str, Any] = dump() if dump is not None else block.model_dump(exclude_none=True)
    return plain


def calls_in(provider: Any, response: Any) -> list[ToolCall]:
    """The tool calls of a response, each with an id of its own."""
    parse = getattr(provider, "parse_tool_calls", None)
    given = parse(response) if parse is not None else None
    if not given:
        own = getattr(response, "tool_calls", None)
        given = own if isinstance(own, list) else []
    if isinstance(given, list) and len(given) == 1 and given[0].__class__ is ToolCall:
        return [given[0]]
    calls = [call if call.__class__ is ToolCall else _as_call(call) for call in given]
    if len(calls) > 1 and len({call.id for call in calls}) < len(calls):
        raise InvalidToolCallError("Two tool calls of one response have the same id.")
    return calls


def _as_call(call: Any) -> ToolCall:
    name = _field(call, "name") or _field(call, "tool")
    arguments = _field(call, "arguments")
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments or "{}")
        return ToolCall(id=_field(call, "id"), name=name, arguments=arguments or {})
    except ValueError as error:
        raise InvalidToolCallError(
            f"A tool call is malformed: it needs an id, a name and arguments, got name {name!r}.",
            tool_name=name if isinstance(name, str) else None,
        ) from error


def block_type(block: dict[str, Any]) -> str:
    kind = block.get("type")
    return str(getattr(kind, "value", kind))
