"""Finds out what a remote module is, and mounts it as that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from .. import guess_type
from .approval import mount_approval
from .connection import CONTROL_SECONDS, Connection, RemoteModuleError
from .context import mount_context
from .hook import mount_hook
from .orchestrator import mount_orchestrator
from .provider import mount_provider
from .tool import mount_tool

Mounter = Callable[[Connection, Any, dict[str, Any]], Awaitable[None]]

_MOUNTERS: dict[str, Mounter] = {
    "tool": mount_tool,
    "provider": mount_provider,
    "orchestrator": mount_orchestrator,
    "context": mount_context,
    "hook": mount_hook,
    "approval": mount_approval,
}
_INFO_TYPES = {
    pb.MODULE_TYPE_PROVIDER: "provider",
    pb.MODULE_TYPE_TOOL: "tool",
    pb.MODULE_TYPE_HOOK: "hook",
    pb.MODULE_TYPE_MEMORY: "context",
    pb.MODULE_TYPE_APPROVAL: "approval",
}
_PROBES: tuple[tuple[str, Any, str, Any], ...] = (
    ("tool", rpc.ToolServiceStub, "GetSpec", pb.Empty()),
    ("provider", rpc.ProviderServiceStub, "GetInfo", pb.Empty()),
    ("hook", rpc.HookServiceStub, "GetSubscriptions", pb.GetSubscriptionsRequest()),
    ("context", rpc.ContextServiceStub, "GetMessages", pb.Empty()),
)
"""Questions that change nothing, and the kind of module that has an answer."""


async def mount_remote(
    connection: Connection, kind: str | None, coordinator: Any, config: dict[str, Any]
) -> None:
    """Connect to the module and put it into its place.

    Raises:
        RemoteModuleError: it cannot be reached, or is of no kind that can be remote.
    """
    await connection.settle()
    kind = kind or await find_kind(connection)
    if kind not in _MOUNTERS:
        raise RemoteModuleError(
            f"Module {connection.module_id!r} is a {kind}, which cannot be in another process. "
            f"Write it in Python."
        )
    await _MOUNTERS[kind](connection, coordinator, config)


async def find_kind(connection: Connection) -> str:
    """What the module says it is, else what it can do, else what its id suggests."""
    info = await connection.ask_if_offered("GetModuleInfo", pb.Empty())
    if info is not None:
        kind = _INFO_TYPES.get(info.module_type) or info.mount_point.removesuffix("s")
        if kind in _MOUNTERS:
            return kind
    for kind, service, method, request in _PROBES:
        try:
            await connection.call(service, method, request, CONTROL_SECONDS)
        except RemoteModuleError as error:
            if error.is_unimplemented:
                continue
        return kind
    guess = guess_type(connection.module_id)
    if guess in ("orchestrator", "approval") or "approval" in connection.module_id.lower():
        return guess if guess == "orchestrator" else "approval"
    raise RemoteModuleError(
        f"Module {connection.module_id!r} at {connection.place} offers no service that tells "
        f"what it is. Add `type` to its amplifier.toml."
    )
