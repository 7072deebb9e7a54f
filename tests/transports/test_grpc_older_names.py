"""Names of the public kernel's gRPC loader, for code that imports them."""

import json
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator, _engine
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.loader_grpc import GrpcToolBridge, load_grpc_module
from helpers_grpc import grpc_dir, serving


class Tool(rpc.ToolServiceServicer):
    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolSpec(name="far", description="Far.")

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolExecuteResponse(success=True, output=request.input)


async def test_a_tool_is_mounted_by_the_older_function_and_called_by_the_older_class() -> None:
    coordinator = ModuleCoordinator()
    async with serving(Tool()) as port:
        meta = {"module": {"type": "tool"}, "grpc": {"endpoint": f"127.0.0.1:{port}"}}
        mount = await load_grpc_module("tool-far", None, meta, coordinator)
        cleanup = await mount(coordinator)
        bridge = GrpcToolBridge("far", "Far.", "{}", f"127.0.0.1:{port}")

        assert (await coordinator.get("tools", "far").execute(a=1)).output == {"a": 1}
        assert (await bridge.execute(a="é")).output == {"a": "é"}
        assert bridge.get_spec() == {"name": "far", "description": "Far.", "parameters": {}}
        await bridge.cleanup()
        await cleanup()


def test_chat_messages_are_converted_by_the_older_functions() -> None:
    asked = pb.ChatRequest(messages=[pb.Message(role=pb.ROLE_USER, text_content="hi")])

    request = json.loads(_engine.proto_chat_request_to_json(asked.SerializeToString()))
    text = json.dumps({"content": [{"type": "text", "text": "é"}], "finish_reason": "stop"})
    response = pb.ChatResponse.FromString(_engine.json_to_proto_chat_response(text))

    assert request == {"messages": [{"role": "user", "content": "hi"}]}
    assert json.loads(response.content) == [{"type": "text", "text": "é"}]
    assert response.content_blocks[0].text_block.text == "é"
    for convert, wrong in (
        (_engine.proto_chat_request_to_json, b"\xff"),
        (_engine.json_to_proto_chat_response, "{"),
    ):
        with pytest.raises(ValueError, match=r"."):
            convert(wrong)


def test_a_module_directory_is_described(tmp_path: Path) -> None:
    far = grpc_dir(tmp_path / "far", "far:1", "hook")
    rust = tmp_path / "rust"
    rust.mkdir()
    (rust / "amplifier.toml").write_text('[module]\ntransport = "rust"\ncrate_name = "side"\n')
    python = tmp_path / "amplifier_module_tool_x"
    python.mkdir()
    (python / "__init__.py").write_text("")

    told = [_engine.resolve_module(str(each)) for each in (far, rust, python)]

    assert told[0] == {
        "transport": "grpc",
        "artifact_type": "grpc",
        "module_type": "hook",
        "endpoint": "far:1",
    }
    assert told[1]["crate_name"] == "side"
    assert (told[2]["transport"], told[2]["package_name"]) == ("python", "amplifier_module_tool_x")
    empty = tmp_path / "empty"
    empty.mkdir()
    for wrong, said in ((tmp_path / "none", "does not exist"), (empty, "could not detect")):
        with pytest.raises(RuntimeError, match=said):
            _engine.resolve_module(str(wrong))
