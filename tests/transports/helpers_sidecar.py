"""Sidecars for tests: programs in a module's directory, some of them badly behaved."""

import os
import sys
from pathlib import Path

TOOL = """\
import asyncio, json, os, signal, sys
import grpc
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc

CONFIG = {}

class Tool(rpc.ToolServiceServicer):
    async def GetSpec(self, request, context):
        return pb.ToolSpec(name="side", description="Beside.", parameters_json="{}")

    async def Execute(self, request, context):
        asked = json.loads(request.input)
        if asked.get("do") == "exit":
            os._exit(3)
        answer = {
            "env": dict(os.environ),
            "args": sys.argv[1:],
            "pid": os.getpid(),
            "config": CONFIG,
            "cwd": os.getcwd(),
            "text": asked.get("text"),
        }
        return pb.ToolExecuteResponse(success=True, output=json.dumps(answer).encode())

class Lifecycle(rpc.ModuleLifecycleServicer):
    async def Mount(self, request, context):
        CONFIG.update(request.config)
        return pb.MountResponse(success=True)

async def main():
    server = grpc.aio.server()
    rpc.add_ToolServiceServicer_to_server(Tool(), server)
    rpc.add_ModuleLifecycleServicer_to_server(Lifecycle(), server)
    port = server.add_insecure_port("127.0.0.1:" + sys.argv[2])
    await server.start()
    print("warming up", flush=True)
    sys.stdout.write("a line before\\nREADY:%d\\nand one after\\n" % port)
    sys.stdout.flush()
    await server.wait_for_termination()

asyncio.run(main())
"""


def sidecar_dir(folder: Path, code: str = TOOL, module: str = "", more: str = "") -> Path:
    """A module directory with `code` as its program `side`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "side"
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    (folder / "amplifier.toml").write_text(
        f'[module]\ntransport = "rust"\ncrate = "side"\n{module}\n[sidecar]\n{more}\n'
    )
    return folder


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
