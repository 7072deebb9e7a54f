"""Hooks in another process."""

from __future__ import annotations

from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...models import HookResult
from .connection import CONTROL_SECONDS, Connection, RemoteModuleError
from .results import hook_result_from_proto
from .values import from_json, to_json

HOOK_SECONDS = 30.0
GUARD = "guard"
"""What a module says of itself if its failures must deny."""


class RemoteHook:
    """Sends events over and brings the answers back; its failures are the registry's affair."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __call__(self, event: str, data: Any) -> HookResult:
        sent = to_json(data)
        request = pb.HookHandleRequest(event=event, data_json=sent)
        answer = await self._connection.call(rpc.HookServiceStub, "Handle", request)
        result = hook_result_from_proto(answer)
        if result.action == "modify" and result.data is not None and isinstance(data, dict):
            result.data = _with_originals(result.data, data, sent)
        return result

    handle = __call__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._connection.place}>"


def _with_originals(changed: dict[str, Any], data: dict[str, Any], sent: str) -> dict[str, Any]:
    """What came back as it was sent is again the object that it was made from."""
    as_sent: dict[str, Any] = from_json(sent, "an event", {})
    return {
        key: data[key] if key in as_sent and key in data and as_sent[key] == value else value
        for key, value in changed.items()
    }


async def mount_hook(
    connection: Connection, coordinator: Any, config: dict[str, Any], _: str = ""
) -> None:
    if "timeout" not in connection.settings.model_fields_set:
        connection.timeout = HOOK_SECONDS
    info = await connection.ask_if_offered("GetModuleInfo", pb.Empty())
    guard = connection.settings.guard or (info is not None and GUARD in info.capabilities)
    hook = RemoteHook(connection)
    for event, priority, name in await _subscriptions(connection, config):
        coordinator.hooks.register(event, hook, priority=priority, name=name, guard=guard)


async def _subscriptions(
    connection: Connection, config: dict[str, Any]
) -> list[tuple[str, int, str]]:
    """What the module wants to hear; everything if it cannot say."""
    request = pb.GetSubscriptionsRequest(config_json=to_json(config))
    try:
        answer = await connection.call(
            rpc.HookServiceStub, "GetSubscriptions", request, CONTROL_SECONDS
        )
    except RemoteModuleError as error:
        if not error.is_unimplemented:
            raise
        return [("*", 0, connection.module_id)]
    return [
        (each.event, each.priority, each.name or connection.module_id)
        for each in answer.subscriptions
        if each.event
    ]
