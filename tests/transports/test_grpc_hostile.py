"""A gRPC server that misbehaves costs the session one failed call, and one clear line."""

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.loader import ModuleLoader, ModuleValidationError
from amplifier_core.testing import wait_for
from amplifier_core.transports.grpc.address import InvalidEndpoint, parse_endpoint
from helpers_grpc import Lifecycle, grpc_dir, serving


class Tool(rpc.ToolServiceServicer):
    """Answers `Execute` as it is told to."""

    def __init__(self, answer: Any = None, stalls: bool = False) -> None:
        self.answer = answer or pb.ToolExecuteResponse(success=True, output=b'"fine"')
        self.stalls = stalls
        self.called = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolSpec(name="far", description="Far.", parameters_json="[not json")

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.called.set()
        try:
            if self.stalls:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.answer


async def mounted(folder: Path, endpoint: str | int, more: str = "") -> Any:
    """The tool at an endpoint, and its cleanup."""
    coordinator = ModuleCoordinator()
    path = grpc_dir(folder, endpoint, "tool", more)
    mount = await ModuleLoader().load("tool-far", {"a": 1}, path, coordinator)
    cleanup = await mount(coordinator)
    return coordinator.get("tools", "far"), cleanup


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_schema_that_is_no_json_is_an_empty_one(tmp_path: Path) -> None:
    async with serving(Tool()) as port:
        tool, cleanup = await mounted(tmp_path, port)

        assert tool.get_spec() == {"name": "far", "description": "Far.", "parameters": {}}
        await cleanup()


async def test_a_server_that_stalls_is_given_up(tmp_path: Path) -> None:
    async with serving(Tool(stalls=True)) as port:
        tool, cleanup = await mounted(tmp_path, port, "timeout = 0.2")

        result = await tool.execute({})

        assert not result.success
        assert "gave no answer to Execute() within 0.2 s" in result.output
        await cleanup()


async def test_cancelling_a_call_cancels_it_over_there(tmp_path: Path) -> None:
    server = Tool(stalls=True)
    async with serving(server) as port:
        tool, cleanup = await mounted(tmp_path, port)
        call = asyncio.create_task(tool.execute({}))
        await server.called.wait()

        call.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(5):
            await server.cancelled.wait()
        await cleanup()


IMAGE = pb.ContentBlock(image_block=pb.ImageBlock(media_type="image/png", data=b"png"))
REDACTED = pb.RedactedThinkingBlock(data="x")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (pb.ToolExecuteResponse(success=True, output=b"{no json"), "cannot be read"),
        (pb.ToolExecuteResponse(success=True, output=b"\xff\xfe"), "cannot be read"),
        (pb.ToolExecuteResponse(success=False), "failed and gave no reason"),
        (pb.ToolExecuteResponse(success=True, output=b" " * 50_000_000), "more than 16 MB"),
        (
            pb.ToolExecuteResponse(
                success=True, content_blocks=[pb.ContentBlock(redacted_thinking_block=REDACTED)]
            ),
            "invalid tool result content",
        ),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(tmp_path: Path, answer: Any, said: str) -> None:
    server = Tool(answer)
    async with serving(server) as port:
        tool, cleanup = await mounted(tmp_path, port)

        result = await tool.execute({})

        assert not result.success
        assert said in str(result.output)
        server.answer = pb.ToolExecuteResponse(success=True, content_type="text/x", output=b"1")
        assert (await tool.execute({})).output == 1
        server.answer = pb.ToolExecuteResponse(success=True, content_blocks=[IMAGE])
        assert (await tool.execute({})).content[0].source["data"] == "cG5n"
        await cleanup()


class Noise(grpc.aio.ServerInterceptor):
    """Answers every `Execute` with bytes that are no message."""

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        async def answer(request: bytes, context: Any) -> bytes:
            return b"\xff\xfe\xfd"

        if details.method.endswith("/Execute"):
            return grpc.unary_unary_rpc_method_handler(answer)
        return await continuation(details)


async def test_bytes_that_are_no_message_are_a_failure(tmp_path: Path) -> None:
    server = grpc.aio.server(interceptors=[Noise()])
    rpc.add_ToolServiceServicer_to_server(Tool(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    tool, cleanup = await mounted(tmp_path, port)

    result = await tool.execute({})

    assert not result.success
    assert "answered Execute() with bytes that are no message" in result.output
    await cleanup()
    await server.stop(None)


async def test_a_dead_endpoint_says_so(tmp_path: Path) -> None:
    port = free_port()

    with pytest.raises(RuntimeError, match=f"Nothing answers at 127.0.0.1:{port} for module"):
        await mounted(tmp_path, port, "connect_timeout = 0.2")


async def test_a_module_that_refuses_is_quoted(tmp_path: Path) -> None:
    life = Lifecycle()
    async with serving(Tool(), life) as port:
        life.answer = pb.MountResponse(success=False, error="depth is missing")
        with pytest.raises(RuntimeError, match="refuses to be mounted: depth is missing"):
            await mounted(tmp_path, port)
        life.health = pb.HealthCheckResponse(
            status=pb.HEALTH_STATUS_NOT_SERVING, message="warming up"
        )
        with pytest.raises(RuntimeError, match="is not ready: warming up"):
            await mounted(tmp_path, port)


async def test_a_tool_without_a_name_is_refused(tmp_path: Path) -> None:
    class Nameless(rpc.ToolServiceServicer):
        async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
            return pb.ToolSpec()

    async with serving(Nameless()) as port:
        with pytest.raises(RuntimeError, match="a tool without a name"):
            await mounted(tmp_path, port)


async def test_a_server_that_comes_back_is_connected_and_configured_again(tmp_path: Path) -> None:
    port, life = free_port(), Lifecycle()
    async with serving(Tool(), Lifecycle(), port=port):
        tool, cleanup = await mounted(tmp_path, port, "connect_timeout = 1")
        assert (await tool.execute({})).success

    gone = await asyncio.wait_for(tool.execute({}), 20)
    async with serving(Tool(), life, port=port):
        back = await asyncio.wait_for(tool.execute({}), 20)

        assert (gone.success, back.success) == (False, True)
        assert life.mounts == [{"a": "1"}]
        await cleanup()


async def test_a_server_that_goes_in_mid_call_fails_that_call(tmp_path: Path) -> None:
    server = Tool(stalls=True)
    async with serving(server) as port:
        tool, cleanup = await mounted(tmp_path, port)
        call = asyncio.create_task(tool.execute({}))
        await server.called.wait()

    result = await asyncio.wait_for(call, 10)

    assert not result.success
    assert "Execute()" in result.output
    await cleanup()


async def test_no_file_descriptor_is_left_behind(tmp_path: Path) -> None:
    async with serving(Tool()) as port:
        _, cleanup = await mounted(tmp_path, port)
        await cleanup()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            _, cleanup = await mounted(tmp_path, port)
            await cleanup()
        assert await wait_for(lambda: len(os.listdir("/proc/self/fd")) <= before + 2, 10)


async def test_tokens_come_from_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Careful(Tool):
        async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
            seen = dict(context.invocation_metadata())
            return pb.ToolExecuteResponse(success=True, output=json.dumps(seen).encode())

    monkeypatch.setenv("FAR_TOKEN", "s3cret")
    async with serving(Careful()) as port:
        tool, cleanup = await mounted(tmp_path, port, 'token_env = "FAR_TOKEN"\nkernel = false')

        seen = (await tool.execute({})).output

        assert seen["x-amplifier-token"] == "s3cret"
        assert "x-amplifier-kernel-token" not in seen
        await cleanup()
    monkeypatch.delenv("FAR_TOKEN")
    with pytest.raises(ModuleValidationError, match="the variable 'FAR_TOKEN' is empty"):
        await mounted(tmp_path, port, 'token_env = "FAR_TOKEN"')


# -- endpoints ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoint", "target", "is_tls", "is_local"),
    [
        ("localhost:1", "localhost:1", False, True),
        ("http://localhost:1/", "localhost:1", False, True),
        ("https://example.org", "example.org:443", True, False),
        ("http://[::1]:5", "[::1]:5", False, True),
        ("unix:/tmp/x", "unix:/tmp/x", False, True),
        ("dns:///far:1", "dns:///far:1", False, False),
    ],
)
def test_an_endpoint_may_be_written_in_several_ways(
    endpoint: str, target: str, is_tls: bool, is_local: bool
) -> None:
    address = parse_endpoint(endpoint)

    assert (address.target, address.is_tls, address.is_local) == (target, is_tls, is_local)


@pytest.mark.parametrize(
    "endpoint",
    ["", "far", "ftp://far:1", "http://far:x", "https://far/path", "https://u@far", "a:b"],
)
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidEndpoint, match="The endpoint"):
        parse_endpoint(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "more", "said"),
    [
        ("nowhere", "", "Write it as `host:port`"),
        ("a:1", "timout = 3", "unknown key 'timout'. Did you mean 'timeout'?"),
        ("a:1", "timeout = 0", "timeout: Input should be greater than 0"),
    ],
)
async def test_a_wrong_manifest_is_refused(
    tmp_path: Path, endpoint: str, more: str, said: str
) -> None:
    with pytest.raises(ModuleValidationError) as caught:
        await mounted(tmp_path, endpoint, more)

    assert said in str(caught.value)
    assert "amplifier.toml" in str(caught.value)


async def test_an_unix_socket_will_do(tmp_path: Path) -> None:
    place = f"unix:{tmp_path}/s"
    server = grpc.aio.server()
    rpc.add_ToolServiceServicer_to_server(Tool(), server)
    server.add_insecure_port(place)
    await server.start()

    tool, cleanup = await mounted(tmp_path, place)

    assert (await tool.execute({})).output == "fine"
    await cleanup()
    await server.stop(None)
