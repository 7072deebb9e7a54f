"""A tool behind gRPC is mounted and called like any other."""

import json
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.correlation import ToolCallScope, tool_call
from amplifier_core.loader import ModuleLoader
from helpers_grpc import Lifecycle, grpc_dir, serving

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


class Shout(rpc.ToolServiceServicer):
    """Answers with what it is told to, by default the input in upper case."""

    def __init__(self, answer: Any = None, schema: str = json.dumps(SCHEMA)) -> None:
        self.answer = answer
        self.schema = schema
        self.inputs: list[Any] = []
        self.metadata: dict[str, Any] = {}

    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolSpec(name="shout", description="Shouts.", parameters_json=self.schema)

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        given = json.loads(request.input)
        self.inputs.append(given)
        self.metadata = dict(context.invocation_metadata())
        if self.answer is not None:
            return self.answer
        output = json.dumps(given["text"].upper()).encode()
        return pb.ToolExecuteResponse(success=True, output=output, content_type="application/json")


async def mounted(folder: Path, port: int, config: Any = None, **manifest: Any) -> Any:
    """The tool of the server at `port`, its coordinator, and its cleanup."""
    coordinator = ModuleCoordinator()
    path = grpc_dir(folder, port, **manifest)
    mount = await ModuleLoader().load("tool-shout", config, path, coordinator)
    cleanup = await mount(coordinator)
    return coordinator.get("tools", "shout"), coordinator, cleanup


async def test_a_remote_tool_is_a_tool_like_any_other(tmp_path: Path) -> None:
    async with serving(Shout()) as port:
        tool, _, cleanup = await mounted(tmp_path, port, kind="tool")

        result = await tool.execute({"text": "héllo \U0001f600"})

        assert (tool.name, tool.description, tool.input_schema) == ("shout", "Shouts.", SCHEMA)
        assert (result.success, result.output) == (True, "HÉLLO \U0001f600")
        await cleanup()


async def test_input_may_come_as_keywords(tmp_path: Path) -> None:
    async with serving(Shout()) as port:
        tool, _, cleanup = await mounted(tmp_path, port, kind="tool")

        assert (await tool.execute(text="hi")).output == "HI"
        await cleanup()


async def test_a_module_gets_its_config_before_anything_else_and_a_goodbye(tmp_path: Path) -> None:
    life = Lifecycle()
    async with serving(Shout(), life) as port:
        config = {"model": "7", "n": 7, "deep": {"a": [None]}}
        _, _, cleanup = await mounted(tmp_path, port, config, kind="tool")
        await cleanup()

    assert life.mounts == [{"model": "7", "n": "7", "deep": '{"a": [null]}'}]
    assert life.cleanups == 1


@pytest.mark.parametrize(
    ("answer", "success", "output", "error"),
    [
        (pb.ToolExecuteResponse(success=True), True, None, None),
        (pb.ToolExecuteResponse(success=False, error="no"), False, "no", {"message": "no"}),
        (
            pb.ToolExecuteResponse(success=True, output=b'{"a": 1}', error="but"),
            True,
            {"a": 1},
            {"message": "but"},
        ),
    ],
)
async def test_what_a_tool_answers_arrives(
    tmp_path: Path, answer: Any, success: bool, output: Any, error: Any
) -> None:
    async with serving(Shout(answer)) as port:
        tool, _, cleanup = await mounted(tmp_path, port, kind="tool")

        result = await tool.execute({"text": ""})

        assert (result.success, result.output, result.error) == (success, output, error)
        await cleanup()


async def test_a_call_says_which_call_it_is(tmp_path: Path) -> None:
    shout = Shout()
    async with serving(shout) as port:
        tool, _, cleanup = await mounted(tmp_path, port, kind="tool")
        token = tool_call.set(ToolCallScope("call-1", "s:call-é"))

        await tool.execute({"text": "hi"})

        tool_call.reset(token)
        assert shout.metadata["x-amplifier-call-id"] == "call-1"
        assert shout.metadata["x-amplifier-idempotency-key"] == "s:call-?"
        await cleanup()
