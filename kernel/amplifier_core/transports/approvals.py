"""Two kinds of questions: hooks ask by text and options, approval hooks by request.

A module keeps one of the two contracts; what stands here lets it answer both.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any

from ..approval import ApprovalTimeoutError
from ..interfaces import ApprovalRequest, ApprovalResponse

OPTIONS = ["Allow", "Deny"]
_ALLOWING = ("allow", "allow once", "allow always")
_SECONDS = 300.0


class EitherWay(ABC):
    """Answers questions by text as well, for those that decide on requests."""

    async def request_approval(
        self,
        question: str | ApprovalRequest,
        options: list[str] | None = None,
        timeout: float | None = None,
        default: str = "deny",
    ) -> Any:
        """The decision: a response to a request, one of `options` to a text."""
        if not isinstance(question, str):
            return await self._decide(question)
        offered = options or OPTIONS
        request = ApprovalRequest(
            tool_name="",
            action=question,
            details={"options": offered, "default": default},
            risk_level="medium",
            timeout=timeout or None,
        )
        try:
            decision = await self._decide(request)
        except TimeoutError as error:
            raise ApprovalTimeoutError(str(error)) from error
        allowing = [each for each in offered if each.lower() in _ALLOWING]
        return (allowing or OPTIONS)[0] if decision.approved else "Deny"

    @abstractmethod
    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse: ...


class _OfRequests(EitherWay):
    """A Python module that decides on requests."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse:
        answer = self._provider.request_approval(request)
        decision: ApprovalResponse = await answer if inspect.isawaitable(answer) else answer
        return decision

    def __repr__(self) -> str:
        return repr(self._provider)


def asked_either_way(system: Any) -> Any:
    """`system` itself, if it can be asked by text; otherwise what asks it by request."""
    return system if takes_text(system) else _OfRequests(system)


async def decision_on(request: ApprovalRequest, system: Any) -> ApprovalResponse:
    """What `system` says, which may know one or the other kind of question.

    Raises:
        TimeoutError: nobody answered; what that means is for whoever asked to say.
    """
    if not takes_text(system):
        return await _OfRequests(system)._decide(request)
    text, offered = _as_text(request)
    try:
        answer = system.request_approval(text, offered, request.timeout or _SECONDS, "deny")
        said = str(await answer if inspect.isawaitable(answer) else answer)
    except ApprovalTimeoutError as error:
        raise TimeoutError(str(error)) from error
    return ApprovalResponse(approved=said.lower() in _ALLOWING, reason=f"The answer was {said!r}.")


def _as_text(request: ApprovalRequest) -> tuple[str, list[str]]:
    """The question and its options.

    A request about a tool has the tool's input for details, which the model wrote: all of it is
    shown, and none of it is taken for options.
    """
    details = request.details
    if request.tool_name:
        return (f"{request.action} with {details!r}" if details else request.action), OPTIONS
    options = details.get("options")
    is_list = isinstance(options, list) and all(isinstance(each, str) for each in options)
    return request.action, options if is_list and options else OPTIONS


def takes_text(system: Any) -> bool:
    """Whether it keeps the contract of the app's approval system."""
    try:
        inspect.signature(system.request_approval).bind("", [], 0.0, "deny")
    except TypeError:
        return False
    except (AttributeError, ValueError):  # nothing to read: whoever asks will see
        return True
    return True
