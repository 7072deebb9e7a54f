"""Reads what a provider answered: text, blocks, tool calls. Providers vary, so it is tolerant."""

from __future__ import annotations

from typing import Any

from amplifier_core.llm_errors import InvalidToolCallError, LLMError
from amplifier_core.message_models import ChatResponse, ToolCall

WORTH_SHOWING = 200


def check(response: Any, provider_name: str) -> None:
    """Refuse what cannot be a response at all."""
    if not hasattr(response, "content"):
        raise LLMError(
            f"Provider {provider_name!r} answered with {type(response).__name__}, "
            f"not with a ChatResponse. Report this to its author.",
            provider=provider_name,
        )


def text_of(content: Any) -> str:
    """The text blocks of a response, with a blank line between them."""
    if isinstance(content, str):
        return content
    texts = [_field(block, "text") for block in content or () if _field(block, "type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def _field(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, dict) else getattr(block, name, None)


def stored_content(content: Any) -> Any:
    """Content as a context keeps it: text, or a list of dicts."""
    if content is None or isinstance(content, str):
        return content or ""
    return [block if isinstance(block, dict) else _dumped(block) for block in content]


def _dumped(block: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = block.model_dump(exclude_none=True)
    return dumped


def calls_in(provider: Any, response: Any) -> list[ToolCall]:
    """The tool calls of a response, each with an id of its own.

    Raises:
        InvalidToolCallError: a call has no name or no arguments that are a mapping.
    """
    parse = getattr(provider, "parse_tool_calls", None)
    given = parse(response) if parse is not None else getattr(response, "tool_calls", None)
    calls = [_as_call(call) for call in given or ()]
    if len({call.id for call in calls}) < len(calls):
        raise InvalidToolCallError("Two tool calls of one response have the same id.")
    return calls


def _as_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    name = _field(call, "name") or _field(call, "tool")
    arguments = _field(call, "arguments")
    try:
        return ToolCall(id=_field(call, "id"), name=name, arguments=arguments or {})
    except ValueError as error:
        raise InvalidToolCallError(
            f"A tool call is malformed: it needs an id, a name and arguments, got name {name!r}."
        ) from error


def display_blocks(response: Any) -> list[Any]:
    """The blocks to announce: those made for display, else the content itself."""
    if response.__class__ is ChatResponse:
        # A model looks for absent attributes the slow way.
        blocks = (response.model_extra or {}).get("content_blocks")
    else:
        blocks = getattr(response, "content_blocks", None)
    if not blocks:
        content = getattr(response, "content", None)
        blocks = content if isinstance(content, list) else []
    return blocks


def block_type(block: Any) -> str:
    kind = _field(block, "type")
    return str(getattr(kind, "value", kind))


def plain_block(block: Any) -> Any:
    """A block as a dict for events."""
    if isinstance(block, dict):
        return block
    to_dict = getattr(block, "to_dict", None)
    return to_dict() if to_dict is not None else _dumped(block)
