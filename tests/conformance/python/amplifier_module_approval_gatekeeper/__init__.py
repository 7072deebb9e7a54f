"""`gatekeeper`: approves whatever does not speak of a forbidden word."""

from typing import Any

from amplifier_core.interfaces import ApprovalRequest, ApprovalResponse
from conforming_orders import Orders

__amplifier_module_type__ = "approval"


class Gatekeeper:
    def __init__(self, forbidden: str) -> None:
        self._forbidden = forbidden
        self._orders = Orders()

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        said = await self._orders.obey(request.action)
        if self._forbidden in request.action:
            return ApprovalResponse(approved=False, reason=f"forbidden: {self._forbidden}")
        return ApprovalResponse(
            approved=True, reason=f"approved: {request.action}" if said is None else said
        )


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.approval_system = Gatekeeper(config.get("forbid", "secret"))
