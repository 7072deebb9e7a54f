"""What older code calls the gRPC transport, as `amplifier_core.loader_grpc` offers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as _pb
from ...loader import MountFunction
from .. import Manifest
from ..settings import CallSettings
from . import DEFAULT_ENDPOINT, load
from .address import parse_endpoint
from .connection import Connection
from .tool import RemoteTool

__all__ = ["GrpcToolBridge", "load_grpc_module"]


async def load_grpc_module(
    module_id: str, config: dict[str, Any] | None, meta: dict[str, Any], coordinator: Any
) -> MountFunction:
    """A function that mounts the module whose manifest, read as a dict, is `meta`."""
    kind = (meta.get("module") or {}).get("type")
    table = {**(meta.get("grpc") or {}), "endpoint": _extract_endpoint(meta, module_id)}
    settings = {**meta, "grpc": table}
    return await load(
        module_id, Manifest(Path(), "grpc", kind, settings), config or {}, coordinator
    )


def _extract_endpoint(meta: dict[str, Any], module_id: str) -> str:
    return str((meta.get("grpc") or {}).get("endpoint") or DEFAULT_ENDPOINT)


class GrpcToolBridge(RemoteTool):
    """A tool at an endpoint, made from what its `GetSpec` says."""

    def __init__(
        self, name: str, description: str, parameters_json: str, endpoint: str, channel: Any = None
    ) -> None:
        spec = _pb.ToolSpec(name=name, description=description, parameters_json=parameters_json)
        super().__init__(Connection(name, parse_endpoint(endpoint), CallSettings()), spec)

    async def cleanup(self) -> None:
        await self._connection.close()
