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
    """What `system` says, which may know one or the other kind of question."""
    if not takes_text(system):
        return await _OfRequests(system)._decide(request)
    offered = request.details.get("options") or OPTIONS
    default = request.details.get("default", "deny")
    seconds = request.timeout or _SECONDS
    try:
        answer = system.request_approval(request.action, offered, seconds, default)
        said = str(await answer if inspect.isawaitable(answer) else answer)
    except ApprovalTimeoutError:
        said = str(default)
    return ApprovalResponse(approved=said.lower() in _ALLOWING, reason=f"The answer was {said!r}.")


def takes_text(system: Any) -> bool:
    """Whether it keeps the contract of the app's approval system."""
    try:
        inspect.signature(system.request_approval).bind("", [], 0.0, "deny")
    except TypeError:
        return False
    except (AttributeError, ValueError):  # nothing to read: whoever asks will see
        return True
    return True
