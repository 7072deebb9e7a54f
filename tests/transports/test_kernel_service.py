"""What remote modules may ask of a session, and that nobody else may."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.message_models import ChatResponse, TextBlock
from amplifier_core.models import HookResult, ProviderInfo, ToolResult
from amplifier_core.testing import MockContextManager, MockTool
from amplifier_core.transports.grpc import kernel_host
from amplifier_core.transports.grpc.kernel_host import hold_kernel
from amplifier_core.transports.grpc.kernel_service import MAX_JSON_BYTES
from helpers_grpc import grpc_dir, serving

CODE = grpc.StatusCode
USER = pb.Message(role=pb.ROLE_USER, text_content="hi")
ASKED = pb.ChatRequest(messages=[USER])


class Parrot:
    """A provider that repeats, or fails if told to."""

    name = "parrot"
    failure: Exception | None = None

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="parrot", display_name="Parrot")

    async def complete(self, request: Any, **_: Any) -> ChatResponse:
        if self.failure is not None:
            raise self.failure
        return ChatResponse(content=[TextBlock(text=request.messages[-1].content)])


class StreamingParrot(Parrot):
    async def stream_complete(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        yield {"text": "h"}
        yield {"usage": None}
        yield {"response": await self.complete(request)}


@asynccontextmanager
async def kernel(coordinator: Any) -> AsyncIterator[Any]:
    """A client with the right token."""
    host = await hold_kernel(coordinator)
    try:
        async with grpc.aio.insecure_channel(host.endpoint) as channel:
            yield Client(rpc.KernelServiceStub(channel), host.token)
    finally:
        await host.release()


class Client:
    def __init__(self, stub: Any, token: str) -> None:
        self.stub = stub
        self.metadata = (("x-amplifier-token", token),)

    async def ask(self, method: str, request: Any, *more: tuple[str, str]) -> Any:
        call = getattr(self.stub, method)
        return await call(request, metadata=(*self.metadata, *more), timeout=10)

    async def refusal(self, method: str, request: Any) -> tuple[Any, str]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.ask(method, request)
        return caught.value.code(), caught.value.details()


async def coordinator_with(**mounted: Any) -> Any:
    coordinator = ModuleCoordinator()
    for point, module in mounted.items():
        await coordinator.mount(point, module)
    return coordinator


# -- the door -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ((), "missing x-amplifier-token header"),
        ((("x-amplifier-token", "guess"),), "invalid token"),
    ],
)
async def test_nobody_gets_in_without_the_secret(metadata: Any, said: str) -> None:
    host = await hold_kernel(ModuleCoordinator())
    async with grpc.aio.insecure_channel(host.endpoint) as channel:
        stub = rpc.KernelServiceStub(channel)
        for call in (
            stub.GetCapability(pb.GetCapabilityRequest(name="x"), metadata=metadata),
            stub.CompleteWithProviderStreaming(
                pb.CompleteWithProviderRequest(), metadata=metadata
            ).read(),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert (caught.value.code(), caught.value.details()) == (CODE.UNAUTHENTICATED, said)
    await host.release()


async def test_all_modules_of_a_session_share_one_server_until_the_last_is_gone() -> None:
    coordinator = ModuleCoordinator()
    first, second = await hold_kernel(coordinator), await hold_kernel(coordinator)

    assert first is second
    assert first.endpoint.startswith("127.0.0.1:")
    await first.release()
    assert coordinator in kernel_host._hosts
    await second.release()
    assert coordinator not in kernel_host._hosts


# -- tools and providers --------------------------------------------------------------


async def test_tools_are_run() -> None:
    coordinator = await coordinator_with(tools=MockTool("look", {"seen": "é"}))
    async with kernel(coordinator) as client:
        request = pb.ExecuteToolRequest(tool_name="look", input_json='{"a": 1}')
        result = await client.ask("ExecuteTool", request)

        assert (result.success, json.loads(result.output_json)) == (True, {"seen": "é"})
        coordinator.get("tools", "look").execute.assert_awaited_once_with({"a": 1})


@pytest.mark.parametrize(
    ("name", "given", "code", "said"),
    [
        ("other", "", CODE.NOT_FOUND, "Tool not available"),
        ("look", "{no", CODE.INVALID_ARGUMENT, "Invalid input JSON"),
        ("look", " " * (MAX_JSON_BYTES + 1), CODE.INVALID_ARGUMENT, "exceeds maximum size"),
        ("look", "{}", CODE.INTERNAL, "Tool execution failed"),
    ],
)
async def test_a_tool_that_cannot_be_run_is_refused(
    name: str, given: str, code: Any, said: str
) -> None:
    tool = MockTool("look")
    tool.execute.side_effect = RuntimeError("the secret reason")
    async with kernel(await coordinator_with(tools=tool)) as client:
        request = pb.ExecuteToolRequest(tool_name=name, input_json=given)
        found, text = await client.refusal("ExecuteTool", request)

        assert (found, said in text, "secret" in text) == (code, True, False)


@pytest.mark.parametrize("returned", ["plain", {"success": True, "output": "plain"}])
async def test_what_older_tools_return_is_a_result(returned: Any) -> None:
    tool = MockTool("look")
    tool.execute.side_effect = None
    tool.execute.return_value = returned
    async with kernel(await coordinator_with(tools=tool)) as client:
        result = await client.ask("ExecuteTool", pb.ExecuteToolRequest(tool_name="look"))

        assert json.loads(result.output_json) == "plain"


async def test_providers_complete_and_stream() -> None:
    coordinator = await coordinator_with(providers=Parrot())
    await coordinator.mount("providers", StreamingParrot(), name="fast")
    async with kernel(coordinator) as client:
        request = pb.CompleteWithProviderRequest(provider_name="parrot", request=ASKED)
        whole = await client.ask("CompleteWithProvider", request)
        streamed: dict[str, list[tuple[str, str]]] = {}
        for name in ("parrot", "fast"):
            request.provider_name = name
            stub = client.stub.CompleteWithProviderStreaming
            streamed[name] = [
                (each.content_blocks[0].text_block.text, each.finish_reason)
                async for each in stub(request, metadata=client.metadata)
            ]

        assert whole.content_blocks[0].text_block.text == "hi"
        assert streamed == {"parrot": [("hi", "")], "fast": [("h", ""), ("hi", "stop")]}


async def test_a_completion_that_cannot_be_had_is_refused() -> None:
    parrot = StreamingParrot()
    request = pb.CompleteWithProviderRequest(provider_name="parrot", request=ASKED)
    async with kernel(await coordinator_with(providers=parrot)) as client:
        ask = client.refusal
        nobody = pb.CompleteWithProviderRequest(provider_name="x")
        assert await ask("CompleteWithProvider", nobody) == (
            CODE.NOT_FOUND,
            "Provider not available",
        )
        nothing = pb.CompleteWithProviderRequest(provider_name="parrot")
        assert (await ask("CompleteWithProvider", nothing))[1] == "Missing required field: request"
        odd = pb.ChatRequest(messages=[pb.Message(text_content='{"x": 1}')])
        wrong = pb.CompleteWithProviderRequest(provider_name="parrot", request=odd)
        assert (await ask("CompleteWithProvider", wrong))[1] == "Invalid request"
        parrot.failure = ContextLengthError("too long, with secrets")
        failed = (CODE.OUT_OF_RANGE, "Provider completion failed")
        assert await ask("CompleteWithProvider", request) == failed
        with pytest.raises(grpc.aio.AioRpcError, match="Provider completion failed"):
            async for _ in client.stub.CompleteWithProviderStreaming(
                request, metadata=client.metadata
            ):
                pass


# -- hooks ----------------------------------------------------------------------------


async def test_events_are_emitted_and_answers_collected() -> None:
    coordinator = ModuleCoordinator()

    async def answer(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={"n": data.get("n", 0) + 1})

    coordinator.hooks.register("ask", answer)
    async with kernel(coordinator) as client:
        one = await client.ask("EmitHook", pb.EmitHookRequest(event="ask", data_json='{"n": 1}'))
        request = pb.EmitHookAndCollectRequest(event="ask", timeout_seconds=1)
        many = await client.ask("EmitHookAndCollect", request)
        refused = await client.refusal("EmitHook", pb.EmitHookRequest(data_json="{"))

        assert json.loads(one.data_json)["n"] == 2
        assert [json.loads(each) for each in many.responses_json] == [{"n": 1}]
        assert refused == (CODE.INVALID_ARGUMENT, "Invalid data_json")


async def test_a_question_of_a_hook_is_answered_if_that_is_asked_for() -> None:
    coordinator = ModuleCoordinator()
    coordinator.hooks.register("tool:pre", lambda *_: HookResult(action="ask_user"))
    async with kernel(coordinator) as client:
        request = pb.EmitHookRequest(event="tool:pre")
        raw = await client.ask("EmitHook", request)
        settled = await client.ask("EmitHook", request, ("x-amplifier-ask", "1"))

        assert raw.action == pb.HOOK_ACTION_ASK_USER
        assert (settled.action, settled.reason) == (
            pb.HOOK_ACTION_DENY,
            "No approval system available",
        )


# -- messages -------------------------------------------------------------------------


async def test_messages_are_added_and_read() -> None:
    coordinator = await coordinator_with(context=MockContextManager())
    async with kernel(coordinator) as client:
        await client.ask("AddMessage", pb.KernelAddMessageRequest(message=USER))
        whole = await client.ask("GetMessages", pb.GetMessagesRequest())
        fitting = await client.ask(
            "GetMessages", pb.GetMessagesRequest(), ("x-amplifier-for-request", "parrot")
        )

        assert [each.text_content for each in whole.messages] == ["hi"]
        assert fitting == whole
        coordinator.get("context").get_messages_for_request.assert_awaited_once()


async def test_messages_that_cannot_be_had_are_refused() -> None:
    memory = MockContextManager()
    memory.get_messages.side_effect = memory.add_message.side_effect = RuntimeError("secret")
    coordinator = ModuleCoordinator()
    asked, given = pb.GetMessagesRequest(), pb.KernelAddMessageRequest(message=USER)
    none = (CODE.FAILED_PRECONDITION, "No context manager mounted")
    async with kernel(coordinator) as client:
        assert await client.refusal("GetMessages", asked) == none
        assert await client.refusal("AddMessage", given) == none
        nothing = await client.refusal("AddMessage", pb.KernelAddMessageRequest())
        assert nothing == (CODE.INVALID_ARGUMENT, "Missing required field: message")
        empty = pb.KernelAddMessageRequest(message=pb.Message(role=pb.ROLE_USER))
        assert (await client.refusal("AddMessage", empty))[1] == "Invalid message"
        await coordinator.mount("context", memory)
        assert (await client.refusal("GetMessages", asked))[1] == "Failed to get messages"
        assert (await client.refusal("AddMessage", given))[1] == "Failed to add message"


# -- modules and capabilities ---------------------------------------------------------


async def test_mounted_modules_are_described() -> None:
    coordinator = await coordinator_with(tools=MockTool("look"), providers=Parrot())
    async with kernel(coordinator) as client:

        async def found(name: str, kind: Any = pb.MODULE_TYPE_UNSPECIFIED) -> Any:
            request = pb.GetMountedModuleRequest(module_name=name, module_type=kind)
            answer = await client.ask("GetMountedModule", request)
            return answer.info.module_type if answer.found else None

        assert await found("look") == pb.MODULE_TYPE_TOOL
        assert await found("parrot") == pb.MODULE_TYPE_PROVIDER
        assert await found("look", pb.MODULE_TYPE_PROVIDER) is None
        assert await found("look", pb.MODULE_TYPE_HOOK) is None


async def test_capabilities_are_read_and_registered() -> None:
    coordinator = await coordinator_with(tools=MockTool("look"), providers=Parrot())
    coordinator.register_capability("odd", object())
    async with kernel(coordinator) as client:

        async def value(name: str) -> Any:
            answer = await client.ask("GetCapability", pb.GetCapabilityRequest(name=name))
            return json.loads(answer.value_json) if answer.found else None

        request = pb.RegisterCapabilityRequest(name="mine", value_json='{"a": 1}')
        await client.ask("RegisterCapability", request)

        assert (await value("mine"), await value("nothing")) == ({"a": 1}, None)
        assert coordinator.get_capability("mine") == {"a": 1}
        assert [tool["name"] for tool in await value("amplifier.tools")] == ["look"]
        assert (await value("amplifier.providers"))[0]["info"]["id"] == "parrot"
        assert (await value("amplifier.session"))["is_cancelled"] is False
        odd = await client.refusal("GetCapability", pb.GetCapabilityRequest(name="odd"))
        assert odd == (CODE.INTERNAL, "Failed to serialize capability")
        for text in ("", "{"):
            request = pb.RegisterCapabilityRequest(name="mine", value_json=text)
            refused = await client.refusal("RegisterCapability", request)
            assert refused == (CODE.INVALID_ARGUMENT, "Invalid value_json")


# -- a whole turn ---------------------------------------------------------------------


class FarLoop(rpc.OrchestratorServiceServicer):
    """An orchestrator that does everything through the kernel that its call told it of."""

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        known = dict(context.invocation_metadata())
        token = (("x-amplifier-token", known["x-amplifier-kernel-token"]),)
        if request.prompt == "fail":
            return pb.OrchestratorExecuteResponse(error="no luck")
        async with grpc.aio.insecure_channel(known["x-amplifier-kernel-endpoint"]) as channel:
            kernel = rpc.KernelServiceStub(channel)
            message = pb.Message(role=pb.ROLE_USER, text_content=request.prompt)
            await kernel.AddMessage(pb.KernelAddMessageRequest(message=message), metadata=token)
            messages = (await kernel.GetMessages(pb.GetMessagesRequest(), metadata=token)).messages
            tool = pb.ExecuteToolRequest(tool_name="look", input_json="{}")
            seen = (await kernel.ExecuteTool(tool, metadata=token)).output_json
            asked = pb.CompleteWithProviderRequest(
                provider_name="parrot", request=pb.ChatRequest(messages=messages)
            )
            answer = await kernel.CompleteWithProvider(asked, metadata=token)
        text = answer.content_blocks[0].text_block.text
        return pb.OrchestratorExecuteResponse(response=f"{text}, {json.loads(seen)}")


async def test_a_remote_orchestrator_drives_a_session(tmp_path: Path) -> None:
    async with serving(FarLoop()) as port:
        loop = {"module": "loop-far", "source": str(grpc_dir(tmp_path, port))}
        session = AmplifierSession({"session": {"orchestrator": loop, "context": "context-simple"}})
        async with session:
            await session.coordinator.mount("providers", Parrot())
            tool = MockTool("look")
            tool.execute.side_effect = None
            tool.execute.return_value = ToolResult(output="a tree")
            await session.coordinator.mount("tools", tool)

            answer = await session.execute("What is there?")

            assert answer == "What is there?, a tree"
            with pytest.raises(RuntimeError, match="'loop-far' failed: no luck"):
                await session.execute("fail")
