"""Puts a question to a person: through a registered provider, or the app's own dialogue."""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import Any, NamedTuple

from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.interfaces import ApprovalRequest

from amplifier_modules.shell.policy_calls import Call
from amplifier_modules.shell.verdict import Verdict

_ONCE, _ALWAYS, _DENY = "Allow once", "Allow always", "Deny"
_DIALOGUE_SECONDS = 300.0
_LONGEST_ACTION = 300


class Answer(NamedTuple):
    """What a person, or the lack of one, decided."""

    approved: bool
    reason: str
    remember: bool = False


def request_for(call: Call, timeout: float | None) -> ApprovalRequest:
    """The question about `call`, with a copy of its input that nobody else holds."""
    return ApprovalRequest(
        tool_name=call.tool_name,
        action=_action(call),
        details=copy.deepcopy(dict(call.input)),
        risk_level="high" if call.is_shell else "medium",
        timeout=timeout,
    )


def _action(call: Call) -> str:
    command = call.input.get("command") if call.is_shell else None
    text = f"run {command!r}" if isinstance(command, str) else f"call {call.tool_name!r}"
    return text if len(text) <= _LONGEST_ACTION else text[:_LONGEST_ACTION] + "..."


async def ask_provider(provider: Any, request: ApprovalRequest) -> Answer:
    """The answer of a provider.

    Raises:
        TimeoutError: nobody answered in time.
    """
    async with asyncio.timeout(request.timeout):
        response = provider.request_approval(request)
        if inspect.isawaitable(response):
            response = await response
    approved = getattr(response, "approved", None) is True
    said = getattr(response, "reason", None)
    reason = said if isinstance(said, str) and said else "a person decided"
    return Answer(approved, reason, getattr(response, "remember", None) is True)


async def ask_in_dialogue(
    dialogue: Any, request: ApprovalRequest, verdict: Verdict, folder: str | None
) -> Answer:
    """The answer of the app's approval system, which knows only texts to choose from.

    Raises:
        TimeoutError: nobody answered in time.
    """
    where = f"in {folder!r}" if folder else "in a folder that is not known"
    prompt = f"Allow to {_full_action(request)} {where}? {verdict.reason}"
    seconds = request.timeout or _DIALOGUE_SECONDS
    try:
        async with asyncio.timeout(seconds):
            chosen = dialogue.request_approval(prompt, [_ONCE, _ALWAYS, _DENY], seconds, "deny")
            if inspect.isawaitable(chosen):
                chosen = await chosen
    except ApprovalTimeoutError as error:
        raise TimeoutError from error
    answer = chosen.lower() if isinstance(chosen, str) else ""
    approved = answer in ("allow", _ONCE.lower(), _ALWAYS.lower())
    return Answer(approved, "a person decided", remember=answer == _ALWAYS.lower())


def _full_action(request: ApprovalRequest) -> str:
    """A person has to see all of what is run, not its beginning."""
    command = request.details.get("command")
    if request.risk_level == "high" and isinstance(command, str):
        return f"run {command!r}"
    return f"{request.action} with {request.details!r}"
