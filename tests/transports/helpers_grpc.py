"""Real gRPC servers on loopback, in this process, for tests of the host's side."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc

ADDERS = {
    rpc.ToolServiceServicer: rpc.add_ToolServiceServicer_to_server,
    rpc.ProviderServiceServicer: rpc.add_ProviderServiceServicer_to_server,
    rpc.OrchestratorServiceServicer: rpc.add_OrchestratorServiceServicer_to_server,
    rpc.ContextServiceServicer: rpc.add_ContextServiceServicer_to_server,
    rpc.HookServiceServicer: rpc.add_HookServiceServicer_to_server,
    rpc.ApprovalServiceServicer: rpc.add_ApprovalServiceServicer_to_server,
    rpc.ModuleLifecycleServicer: rpc.add_ModuleLifecycleServicer_to_server,
}


class Lifecycle(rpc.ModuleLifecycleServicer):
    """Keeps the configurations that it got, and tells how it is."""

    def __init__(self, **info: Any) -> None:
        self.mounts: list[dict[str, str]] = []
        self.cleanups = 0
        self.info = pb.ModuleInfo(**info)
        self.health = pb.HealthCheckResponse(status=pb.HEALTH_STATUS_SERVING)
        self.answer = pb.MountResponse(success=True)

    async def Mount(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.mounts.append(dict(request.config))
        return self.answer

    async def Cleanup(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.cleanups += 1
        return pb.Empty()

    async def HealthCheck(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self.health

    async def GetModuleInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self.info


@asynccontextmanager
async def serving(
    *servicers: Any, port: int = 0, credentials: Any = None, host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    """Serve these servicers; the port."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    for servicer in servicers:
        for kind, add in ADDERS.items():
            if isinstance(servicer, kind):
                add(servicer, server)
    place = f"{host}:{port}"
    if credentials is None:
        port = server.add_insecure_port(place)
    else:
        port = server.add_secure_port(place, credentials)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


def grpc_dir(
    folder: Path, endpoint: str | int, kind: str | None = None, more: str = "", module: str = ""
) -> Path:
    """A module directory whose manifest names `endpoint`, or a port on loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    place = f"127.0.0.1:{endpoint}" if isinstance(endpoint, int) else endpoint
    typed = f'type = "{kind}"\n' if kind else ""
    (folder / "amplifier.toml").write_text(
        f'[module]\ntransport = "grpc"\n{typed}{module}\n[grpc]\nendpoint = "{place}"\n{more}\n'
    )
    return folder
