"""What the answers of several handlers to one event add up to.

Precedence: deny, then the first ask_user, then all injections in order, then continue.
Whatever else was said rides along on the winning result; no answer is lost.
"""

from __future__ import annotations

import logging
from typing import Any

from .models import ContextInjection, HookResult, UserMessage, _continue_with

logger = logging.getLogger("amplifier_core.hooks")

_BRIEF_ACTIONS = ("continue", "modify")


def deny(reason: str) -> HookResult:
    return HookResult(action="deny", reason=reason)


def safe_text(error: BaseException) -> str:
    """What went wrong, even if the error cannot say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def brief(answer: object) -> dict[str, Any] | None:
    """The fields of an answer that only continues or modifies, as nearly all do.

    None for everything that brings more, or that needs a closer look.
    """
    if answer.__class__ is not HookResult:
        return None
    said = answer.__dict__
    if (
        said.get("action") in _BRIEF_ACTIONS
        and said["user_message"] is None
        and not said["user_messages"]
        and not said["context_injections"]
        and (said["data"] is None or said["data"].__class__ is dict)
    ):
        return said
    return None


def sound(answer: object, event: str, name: str, guard: bool = False) -> HookResult:
    """A handler's answer as a HookResult; anything malformed is a denial.

    A listener that answers nonsense may well be a broken policy, so it does not pass.
    """
    try:
        if isinstance(answer, HookResult):
            _check(answer)
            return answer
        dump = getattr(answer, "model_dump", None)
        return HookResult.model_validate(dump() if callable(dump) else answer)
    except Exception:  # whatever a foreign `model_dump` raises
        logger.exception("SECURITY: handler %r answered %r with no valid HookResult", name, event)
    whose = f"Guard {name!r} failed on {event!r}: " if guard else ""
    return deny(f"{whose}Hook handler returned invalid response")


def _check(result: HookResult) -> None:
    """Raise unless the fields are what they claim to be; models are mutable."""
    said = {**result.__dict__, "data": None}
    is_dict = isinstance(result.data, dict | None)
    if not is_dict or type(result).model_validate(said).__dict__ != said:
        raise TypeError("A field has the wrong type.")


def injections_of(result: HookResult, hook_name: str, event: str) -> list[ContextInjection]:
    """What `result` wants injected: its list, or else the one item its scalars describe."""
    if result.context_injections:
        return list(result.context_injections)
    if result.context_injection is None:
        return []
    item = ContextInjection(
        content=result.context_injection,
        role=result.context_injection_role,
        ephemeral=result.ephemeral,
        append_to_last_tool_result=result.append_to_last_tool_result,
        hook_name=hook_name,
        event=event,
    )
    return [item]


def injection_fields(items: list[ContextInjection]) -> dict[str, Any]:
    """The fields of a HookResult that carry `items`: the list and its older scalar form."""
    return {
        "context_injections": items,
        "context_injection": "\n\n".join(item.content for item in items) if items else None,
        "context_injection_role": items[0].role if items else "system",
        "ephemeral": any(item.ephemeral for item in items),
        "append_to_last_tool_result": any(item.append_to_last_tool_result for item in items),
    }


def messages_of(result: HookResult, hook_name: str) -> list[UserMessage]:
    """What `result` wants the user to read, each message with its source."""
    if not result.user_message:
        return result.user_messages
    own = UserMessage.model_construct(
        text=result.user_message,
        level=result.user_message_level,
        source=result.user_message_source or hook_name,
    )
    return [*result.user_messages, own]


class Answers:
    """The answers of one emit so far."""

    __slots__ = ("asked", "event", "injections", "injectors", "spoken")

    def __init__(self, event: str) -> None:
        self.event = event
        self.asked: HookResult | None = None
        self.injectors: list[HookResult] = []
        self.injections: list[ContextInjection] = []
        self.spoken: list[tuple[HookResult, str]] = []

    def add(self, result: HookResult, name: str) -> None:
        action = result.action
        if action == "inject_context":
            self._add_injections(result, name)
        elif action == "ask_user" and self.asked is None:
            self.asked = result
            return
        if result.user_message or result.user_messages:
            self.spoken.append((result, name))

    def _add_injections(self, result: HookResult, name: str) -> None:
        items = injections_of(result, name, self.event)
        if items:
            stamp = {"hook_name": name, "event": self.event}
            self.injectors.append(result)
            self.injections += [item.model_copy(update=stamp) for item in items]

    def denied(self, result: HookResult) -> HookResult:
        return self._with_company(result, {})

    def combined(self, current: dict[str, Any], modified: bool) -> HookResult:
        data = {"data": current} if modified else {}
        if self.asked is not None:
            return self._with_company(self.asked, data)
        if self.injectors:
            return self._injection(data)
        result = _continue_with(current)
        if self.spoken:
            result.user_messages = self._messages()
        return result

    def _with_company(self, result: HookResult, data: dict[str, Any]) -> HookResult:
        """`result` as it is, with what the other handlers said added to it."""
        update: dict[str, Any] = data if result.data is None else {}
        if self.injections:
            update["context_injections"] = [*self.injections, *result.context_injections]
        if self.spoken:
            update["user_messages"] = [*self._messages(), *result.user_messages]
        return result.model_copy(update=update) if update else result

    def _injection(self, data: dict[str, Any]) -> HookResult:
        fields = injection_fields(self.injections)
        first = self.injectors[0]
        if len(self.injectors) == 1:
            fields |= data if first.data is None else {}
            fields["user_messages"] = [*self._messages(but=first), *first.user_messages]
            return first.model_copy(update=fields)
        reasons = [each.reason for each in self.injectors if each.reason]
        return HookResult(
            action="inject_context",
            reason="\n".join(reasons) or None,
            suppress_output=first.suppress_output,
            user_messages=self._messages(),
            **fields,
            **data,
        )

    def _messages(self, but: HookResult | None = None) -> list[UserMessage]:
        """All messages in order, except those of a result that still carries its own."""
        return [
            message
            for result, name in self.spoken
            if result is not but
            for message in messages_of(result, name)
        ]
