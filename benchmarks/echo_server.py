"""A gRPC tool that answers with its input; prints `READY:<port>`."""

import asyncio
from typing import Any

import grpc
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc


class Echo(rpc.ToolServiceServicer):
    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolSpec(name="echo", description="Echo.", parameters_json="{}")

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolExecuteResponse(success=True, output=request.input)


async def main() -> None:
    server = grpc.aio.server()
    rpc.add_ToolServiceServicer_to_server(Echo(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"READY:{port}", flush=True)
    await server.wait_for_termination()


asyncio.run(main())
