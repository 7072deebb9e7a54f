"""An approval module in another process."""

from __future__ import annotations

from typing import Any

import grpc

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...interfaces import ApprovalRequest, ApprovalResponse
from ..approvals import EitherWay
from .connection import Connection, RemoteModuleError
from .values import to_json

_GRACE_SECONDS = 5.0


class RemoteApproval(EitherWay):
    """Answers both kinds of questions: of hooks by text, and of approval hooks by request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
