"""An approval module in another process."""

from __future__ import annotations

from typing import Any

import grpc

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...approval import ApprovalTimeoutError
from ...interfaces import ApprovalRequest, ApprovalResponse
from .connection import Connection, RemoteModuleError
from .values import to_json

_ALLOWING = ("allow", "yes", "approve", "ok")
_GRACE_SECONDS = 5.0


class RemoteApproval:
    """Answers both kinds of questions: of hooks by text, and of approval hooks by request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def request_approval(
        self,
        prompt: str | ApprovalRequest,
        options: list[str] | None = None,
        timeout: float | None = None,
        default: str = "deny",
    ) -> Any:
        """The module's decision: a response to a request, one of `options` to a text."""
        if isinstance(prompt, ApprovalRequest):
            return await self._decide(prompt)
        offered = options or ["Allow", "Deny"]
        request = ApprovalRequest(
            tool_name="",
            action=prompt,
            details={"options": offered, "default": default},
            risk_level="medium",
            timeout=timeout,
        )
        try:
            decision = await self._decide(request)
        except TimeoutError as error:
            raise ApprovalTimeoutError(str(error)) from error
        allowing = [each for each in offered if each.lower().startswith(_ALLOWING)]
        return (allowing or ["Allow"])[0] if decision.approved else "Deny"

    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse:
        proto = pb.ApprovalRequest(
            tool_name=request.tool_name,
            action=request.action,
            details_json=to_json(request.details),
            risk_level=request.risk_level,
            timeout=request.timeout,
        )
        # The module keeps the time itself; we give up a little later.
        seconds = None if request.timeout is None else request.timeout + _GRACE_SECONDS
        try:
            answer = await self._connection.call(
                rpc.ApprovalServiceStub, "RequestApproval", proto, seconds
            )
        except RemoteModuleError as error:
            if error.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TimeoutError(str(error)) from error
            raise
        return ApprovalResponse(
            approved=answer.approved, reason=answer.reason or None, remember=answer.remember
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._connection.place}>"


async def mount_approval(
    connection: Connection, coordinator: Any, config: dict[str, Any], _: str = ""
) -> None:
    coordinator.approval_system = RemoteApproval(connection)
