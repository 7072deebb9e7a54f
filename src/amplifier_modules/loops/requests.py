"""Puts a request together: messages, what hooks want added for once, tool descriptions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.models import ContextInjection, HookResult
from pydantic import BaseModel

logger = logging.getLogger(__name__)

# In the order in which pydantic declares them.
_set_values, _set_fields_set, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__ for slot in BaseModel.__slots__
)
_NO_INJECTION: dict[str, Any] = {
    "context_injections": [],
    "context_injection": None,
    "ephemeral": False,
    "append_to_last_tool_result": False,
}


class Injections:
    """Texts that hooks want the model to read in its next request, and never again."""

    def __init__(self) -> None:
        self._of_the_turn: list[ContextInjection] = []
        self._of_the_request: list[ContextInjection] = []
        self._queued: list[ContextInjection] = []

    def queue(self, verdict: Any) -> None:
        """Keep what is left in a processed hook result for the next request."""
        if verdict.action == "inject_context":
            self._queued += _ephemeral(verdict)

    def begin_request(self, verdict: Any = None) -> None:
        """Take what was injected for one request only; a repeated request asks for it anew."""
        is_injection = verdict is not None and verdict.action == "inject_context"
        self._of_the_request = _ephemeral(verdict) if is_injection else []

    def add_text(self, text: str) -> None:
        self._queued.append(ContextInjection(content=text, role="user", ephemeral=True))

    def keep_for_the_whole_turn(self) -> None:
        """Repeat what is queued so far in every request, not only in the next one."""
        self._of_the_turn += self._queued
        self._queued.clear()

    def applied_to(self, messages: list[Message]) -> list[Message]:
        """A list that ends with the injections; the messages themselves stay as they are."""
        if not (self._queued or self._of_the_request or self._of_the_turn):
            return messages
        messages = list(messages)
        for item in [*self._of_the_turn, *self._of_the_request, *self._queued]:
            if item.append_to_last_tool_result and messages and messages[-1].role == "tool":
                messages[-1] = _with_text(messages[-1], item.content)
            else:
                fields = {"role": item.role, "content": item.content}
                messages.append(Message.model_validate(fields))
        return messages

    def were_read(self) -> None:
        """The model has answered the request that they were in."""
        if self._queued:
            self._queued.clear()


def injected(verdict: Any) -> list[ContextInjection]:
    """What a hook result injects: its list, or the one item that the older form describes."""
    if verdict.context_injections:
        return list(verdict.context_injections)
    if verdict.action != "inject_context" or not verdict.context_injection:
        return []
    item = ContextInjection(
        content=verdict.context_injection,
        role=verdict.context_injection_role,
        ephemeral=verdict.ephemeral,
        append_to_last_tool_result=verdict.append_to_last_tool_result,
    )
    return [item]


def _ephemeral(verdict: Any) -> list[ContextInjection]:
    return [item for item in injected(verdict) if item.ephemeral and item.content]


def without_injections(verdict: Any) -> tuple[Any, HookResult | None]:
    """A hook result split in two: the rest of it, and its injections if it has any."""
    items = injected(verdict)
    if not items:
        return verdict, None
    action = "continue" if verdict.action == "inject_context" else verdict.action
    rest = verdict.model_copy(update={**_NO_INJECTION, "action": action})
    return rest, HookResult(action="inject_context", context_injections=items)


def _with_text(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{message.content}\n\n{text}"})
    fields = message.model_dump(exclude_none=True)
    fields["content"].append({"type": "text", "text": text})
    return Message.model_validate(fields)


def reader(context: Any) -> Callable[..., Awaitable[list[Message]]]:
    """A function of `provider=`: the conversation as the context wants it sent to that one.

    It reads by the newest contract that the context keeps.
    """
    # Looked up on the class: a stand-in that answers to any name does not really have it.
    if hasattr(type(context), "get_validated_messages"):
        ready: Callable[..., Awaitable[list[Message]]] = context.get_validated_messages
        return ready
    return partial(_validated, context)


async def _validated(context: Any, provider: Any) -> list[Message]:
    if hasattr(context, "get_messages_for_request"):
        stored = await context.get_messages_for_request(provider=provider)
    else:
        stored = await stored_messages(context)
    return [Message.model_validate(message) for message in stored]


async def stored_messages(context: Any) -> list[Any]:
    """The whole history."""
    if hasattr(context, "get_messages"):
        return list(await context.get_messages())
    return list(context.messages)


def with_messages(template: ChatRequest, messages: list[Message]) -> ChatRequest:
    """`template.model_copy(update={"messages": messages})` at a third of the price.

    Every step needs one, and the messages have been validated already.
    """
    request = ChatRequest.__new__(ChatRequest)
    _set_values(request, {**template.__dict__, "messages": messages})
    _set_fields_set(request, template.__pydantic_fields_set__.copy())
    _set_extra(request, {})
    _set_private(request, None)
    return request


def tool_specs(tools: dict[str, Any]) -> list[ToolSpec]:
    return [_spec(name, tool) for name, tool in tools.items()]


def _spec(name: str, tool: Any) -> ToolSpec:
    schema = getattr(tool, "input_schema", None)
    description = getattr(tool, "description", None)
    fields = {
        "name": name,
        "description": description if isinstance(description, str) else None,
        "parameters": schema if isinstance(schema, dict) else {"type": "object", "properties": {}},
    }
    try:
        native = getattr(tool, "native_tool_spec", None)
        if isinstance(native, dict) and native.get("type"):
            return ToolSpec.model_validate({**fields, **native})
    except Exception:
        logger.warning("Tool %r: its native_tool_spec is unusable", name, exc_info=True)
    return ToolSpec.model_validate(fields)
