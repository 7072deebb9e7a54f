"""Carries out what an emit decided: stores injections, shows messages, asks the user.

Limits and order are mechanism; whether anything may be injected or asked is decided by
the hooks and by the app's approval and display systems.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ._hook_answers import deny, injection_fields, injections_of, messages_of
from .approval import ApprovalTimeoutError
from .cancellation import being_cancelled
from .models import ContextInjection, HookResult, UserMessage, _sanitize_for_llm

if TYPE_CHECKING:
    from .coordinator import ModuleCoordinator

logger = logging.getLogger("amplifier_core.coordinator")

_ALLOWING_ANSWERS = ("allow", "allow once", "allow always")
_LONGEST_QUOTE = 200
_CHARS_PER_TOKEN = 4


async def apply_hook_result(
    coordinator: ModuleCoordinator, result: HookResult, event: str, hook_name: str
) -> HookResult:
    """Do what `result` says and return what is left for the orchestrator."""
    said = _known(result)
    # Messages come first: what they say may matter for the answer to a question.
    await _show_messages(coordinator, said, hook_name)
    if said.action == "inject_context":
        left = await _inject_all(coordinator, injections_of(said, hook_name, event))
        return _without_stored(said, left)
    if said.action == "ask_user":
        return await _answered(coordinator, said)
    if said.action == "deny" and said.context_injections:
        return await _inject_beside_denial(coordinator, said)
    return result


def _known(result: HookResult) -> HookResult:
    """`result` itself, or another object with the attributes of a HookResult as one."""
    if isinstance(result, HookResult):
        return result
    fields = {name: getattr(result, name, None) for name in HookResult.model_fields}
    given = {name: value for name, value in fields.items() if value is not None}
    return HookResult(**{**given, "action": result.action})


@contextmanager
def _logged_only(message: str) -> Iterator[None]:
    """For what must not get in the way of a result; real cancellation still goes through."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise
        logger.exception(message)


# -- injections -----------------------------------------------------------------------


async def _inject_all(
    coordinator: ModuleCoordinator, items: list[ContextInjection]
) -> list[ContextInjection]:
    """Store the items that are to be kept; return the ephemeral ones.

    All or nothing: every item is checked before the first one is stored.
    """
    cleaned = [_cleaned(item) for item in items]
    kept = [item for item in cleaned if item.content]
    if not kept:
        return []
    _check_size(coordinator, kept)
    for item in kept:
        _count(coordinator, item)
    for item in kept:
        if not item.ephemeral:
            await _store(coordinator, item)
    return [item for item in kept if item.ephemeral]


def _cleaned(item: ContextInjection) -> ContextInjection:
    content = _sanitize_for_llm(item.content)
    return item if content == item.content else item.model_copy(update={"content": content})


def _check_size(coordinator: ModuleCoordinator, items: list[ContextInjection]) -> None:
    limit = coordinator.injection_size_limit
    if limit is not None and any(len(item.content) > limit for item in items):
        logger.error("An injection on %r is over the limit of %d", items[0].event, limit)
        raise ValueError(f"Context injection exceeds {limit} characters")


def _count(coordinator: ModuleCoordinator, item: ContextInjection) -> None:
    name, size = item.hook_name, len(item.content)
    tokens = size // _CHARS_PER_TOKEN
    budget = coordinator.injection_budget_per_turn
    total = coordinator._current_turn_injections + tokens
    coordinator._current_turn_injections = total
    facts = f"{size} characters, role {item.role}, {tokens} tokens, ephemeral {item.ephemeral}"
    logger.info("Hook %r injects on %r: %s", name, item.event, facts)
    if budget is not None and total > budget:
        logger.warning("Hook %r exceeds the turn's budget: %d of %d tokens", name, total, budget)


async def _store(coordinator: ModuleCoordinator, item: ContextInjection) -> None:
    add_message = getattr(coordinator.get("context"), "add_message", None)
    if add_message is None:
        logger.warning("Injection by %r is lost: no context is mounted", item.hook_name)
        return
    metadata = {
        "source": "hook",
        "hook_name": item.hook_name,
        "event": item.event,
        "timestamp": datetime.now(UTC).isoformat(),
        "requested_role": item.role,
        "ephemeral": False,
        "persisted": True,
    }
    stored = add_message({"role": item.role, "content": item.content, "metadata": metadata})
    if inspect.isawaitable(stored):
        await stored


def _without_stored(result: HookResult, left: list[ContextInjection]) -> HookResult:
    action = "inject_context" if left else "continue"
    return result.model_copy(update={"action": action, **injection_fields(left)})


async def _inject_beside_denial(coordinator: ModuleCoordinator, result: HookResult) -> HookResult:
    """Store what other handlers injected beside a denial; the denial stands in any case."""
    with _logged_only("Injections beside a denial could not be stored"):
        left = await _inject_all(coordinator, result.context_injections)
        return result.model_copy(update={"context_injections": left})
    return result


# -- questions ------------------------------------------------------------------------


async def _answered(coordinator: ModuleCoordinator, result: HookResult) -> HookResult:
    """The user's answer, with what other handlers wanted injected or changed."""
    answer = await _ask(coordinator, result)
    if answer.action == "deny":
        answer.context_injections = result.context_injections
        return await _inject_beside_denial(coordinator, answer)
    answer.data = result.data
    return _without_stored(answer, await _inject_all(coordinator, result.context_injections))


async def _ask(coordinator: ModuleCoordinator, result: HookResult) -> HookResult:
    approvals = coordinator.approval_system
    if approvals is None:
        logger.error("A hook asks for approval, but there is no approval system; denied")
        return deny("No approval system available")
    prompt = "Allow this operation?" if result.approval_prompt is None else result.approval_prompt
    options = ["Allow", "Deny"] if result.approval_options is None else result.approval_options
    try:
        decision: object = approvals.request_approval(
            prompt, options, result.approval_timeout, result.approval_default
        )
        if inspect.isawaitable(decision):
            decision = await decision
    except ApprovalTimeoutError:
        logger.warning("Nobody answered in time; the default is %r", result.approval_default)
        if result.approval_default == "allow":
            return HookResult(action="continue")
        return deny(f"Approval timeout - denied by default: {_quoted(prompt)}")
    return _decided(decision, prompt)


def _decided(decision: object, prompt: str) -> HookResult:
    if not isinstance(decision, str):
        raise TypeError(f"An approval must be a str, not {type(decision).__name__}.")
    if decision.lower() in _ALLOWING_ANSWERS:
        return HookResult(action="continue")
    if decision.lower() != "deny":
        logger.warning("Approval answer %r is no known allowance and counts as a denial", decision)
    return deny(f"User denied: {_quoted(prompt)}")


def _quoted(prompt: str) -> str:
    return prompt if len(prompt) <= _LONGEST_QUOTE else prompt[:_LONGEST_QUOTE] + "...[truncated]"


# -- messages -------------------------------------------------------------------------


async def _show_messages(
    coordinator: ModuleCoordinator, result: HookResult, hook_name: str
) -> None:
    # A question is shown by the approval system, with whatever it wants to say.
    asks = result.action == "ask_user"
    for message in result.user_messages if asks else messages_of(result, hook_name):
        await _show(coordinator, message, hook_name)
    if result.suppress_output and not asks:
        logger.debug("Hook %r asked to suppress its output", hook_name)


async def _show(coordinator: ModuleCoordinator, message: UserMessage, hook_name: str) -> None:
    display = coordinator.display_system
    with _logged_only("The display system failed to show a message"):
        if display is None:
            logger.debug("Hook message: %s", message.text[:_LONGEST_QUOTE])
            return
        # The contract says it returns nothing; an async display is served all the same.
        show: Callable[..., object] = display.show_message
        shown = show(message.text, message.level, f"hook:{message.source or hook_name}")
        if inspect.isawaitable(shown):
            await shown
