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

Mounter = Callable[[Connection, Any, dict[str, Any], str], Awaitable[None]]

PART_PREFIX = "amplifier:"
"""Marks, among a module's capabilities, what it mounts: `amplifier:tool:<name>`."""

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
    info = await connection.ask_if_offered("GetModuleInfo", pb.Empty())
    parts = _parts(info) or [(kind or await _find_kind(connection, info), "")]
    for part, name in parts:
        if part not in _MOUNTERS:
            raise RemoteModuleError(
                f"Module {connection.module_id!r} is a {part}, which cannot be in another "
                f"process. Write it in Python."
            )
        await _MOUNTERS[part](connection, coordinator, config, name)


def _parts(info: Any) -> list[tuple[str, str]]:
    """All that a module offers, if it is more than the contract has room for."""
    if info is None:
        return []
    named = [each.removeprefix(PART_PREFIX) for each in info.capabilities if PART_PREFIX in each]
    split = [each.partition(":") for each in named]
    return [(kind, name) for kind, _, name in split]


async def _find_kind(connection: Connection, info: Any) -> str:
    """What the module says it is, else what it can do, else what its id suggests."""
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
