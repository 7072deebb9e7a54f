"""Puts a request together: messages, what hooks want added for once, tool descriptions."""

from __future__ import annotations

import logging
from typing import Any

from amplifier_core.message_models import Message, ToolSpec
from amplifier_core.models import ContextInjection

logger = logging.getLogger(__name__)


class Injections:
    """Texts that hooks want the model to read in its next request, and never again."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str, bool]] = []
        self._kept: list[tuple[str, str, bool]] = []

    def add(self, verdict: Any) -> None:
        """Queue what is left in a processed hook result."""
        if verdict.action != "inject_context":
            return
        items = getattr(verdict, "context_injections", None) or [_scalar_form(verdict)]
        for item in items:
            if item.ephemeral and item.content:
                self._waiting.append((item.content, item.role, item.append_to_last_tool_result))

    def add_text(self, text: str, role: str) -> None:
        self._waiting.append((text, role, False))

    def keep_for_the_whole_turn(self) -> None:
        """Repeat what is queued so far in every request, not only in the next one."""
        self._kept += self._waiting
        self._waiting.clear()

    def apply(self, messages: list[Message]) -> list[Message]:
        """A list that ends with the queued texts; the messages themselves stay as they are."""
        if not self._waiting and not self._kept:
            return messages
        messages = list(messages)
        for text, role, to_tool_result in [*self._kept, *self._waiting]:
            if to_tool_result and messages and messages[-1].role == "tool":
                messages[-1] = _with_text(messages[-1], text)
            else:
                messages.append(Message.model_validate({"role": role, "content": text}))
        self._waiting.clear()
        return messages


def _scalar_form(verdict: Any) -> ContextInjection:
    """The one injection that a result of the older form describes."""
    return ContextInjection(
        content=verdict.context_injection or "",
        role=verdict.context_injection_role,
        ephemeral=verdict.ephemeral,
        append_to_last_tool_result=verdict.append_to_last_tool_result,
    )


def _with_text(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{message.content}\n\n{text}"})
    block = {"type": "text", "text": text}
    blocks = [each.model_dump(exclude_none=True) for each in message.content]
    fields = message.model_dump(exclude_none=True)
    return Message.model_validate({**fields, "content": [*blocks, block]})


async def messages_for(context: Any, provider: Any) -> list[Message]:
    """The conversation as the context wants it sent, by the newest contract it keeps."""
    validated = getattr(context, "get_validated_messages", None)
    if validated is not None:
        ready: list[Message] = await validated(provider=provider)
        return ready
    for_request = getattr(context, "get_messages_for_request", None)
    if for_request is not None:
        stored = await for_request(provider=provider)
    else:
        stored = await context.get_messages()
    return [Message.model_validate(message) for message in stored]


def tool_specs(tools: dict[str, Any]) -> list[ToolSpec]:
    return [_spec(name, tool) for name, tool in tools.items()]


def _spec(name: str, tool: Any) -> ToolSpec:
    schema = getattr(tool, "input_schema", None)
    fields = {
        "name": name,
        "description": getattr(tool, "description", None),
        "parameters": schema if isinstance(schema, dict) else {"type": "object", "properties": {}},
    }
    native = getattr(tool, "native_tool_spec", None)
    if isinstance(native, dict) and native.get("type"):
        try:
            return ToolSpec.model_validate({**fields, **native})
        except ValueError:
            logger.warning("Tool %r has an unusable native_tool_spec; it is left out", name)
    return ToolSpec.model_validate(fields)
