"""A Python module served over gRPC answers every call of the contract."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult
from amplifier_core.transports.grpc.kernel_host import hold_kernel
from amplifier_core.transports.serving import callers
from amplifier_core.transports.serving.callers import Callers
from amplifier_core.transports.serving.served import ServedModule
from amplifier_core.transports.serving.services import add_services
from helpers_isolation import HOOKS, TOOLS, python_module

USER = pb.Message(role=pb.ROLE_USER, text_content="hi")
ASKED = pb.ChatRequest(messages=[USER])

CONTEXT = """\
class Memory:
    def __init__(self):
        self.kept = []

    async def add_message(self, message):
        self.kept.append(message)

    async def get_messages(self):
        return self.kept

    async def set_messages(self, messages):
        self.kept = messages

    async def clear(self):
        self.kept = []

    async def compact(self):
        pass


async def mount(coordinator, config):
    await coordinator.mount("context", Memory())
"""

PROVIDER = """\
from amplifier_core.message_models import ChatResponse, TextBlock, ToolCall
from amplifier_core.models import ModelInfo, ProviderInfo


class Echo:
    name = "echo"

    def get_info(self):
        return ProviderInfo(id="echo", display_name="Echo")

    async def list_models(self):
        return [ModelInfo(id="m", display_name="M", context_window=1, max_output_tokens=1)]

    async def complete(self, request, **kwargs):
        return ChatResponse(content=[TextBlock(text=request.messages[-1].content)])

    def parse_tool_calls(self, response):
        return [ToolCall(id="1", name="t", arguments={"a": 1})]


async def mount(coordinator, config):
    await coordinator.mount("providers", Echo(), name="echo")
"""

LOOP = """\
class Loop:
    async def execute(self, prompt, context, providers, tools, hooks):
        return prompt


async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""


@asynccontextmanager
async def served(
    folder: Path, module_id: str, code: str, *interceptors: grpc.aio.ServerInterceptor
) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server of that module, which has no session of its own to call back."""
    path = Path(python_module(folder, module_id, code))
    module = ServedModule(module_id, path, {}, None)
    server = grpc.aio.server(interceptors=interceptors)
    add_services(module, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)
    await module.cleanup()


async def test_a_context_of_the_older_contract_is_served(tmp_path: Path) -> None:
    async with served(tmp_path, "context-served", CONTEXT) as channel:
        memory = rpc.ContextServiceStub(channel)

        await memory.AddMessage(pb.AddMessageRequest(message=USER))
        whole = await memory.GetMessages(pb.Empty())
        fitting = await memory.GetMessagesForRequest(pb.GetMessagesForRequestParams())
        await memory.SetMessages(pb.SetMessagesRequest(messages=[USER, USER]))
        replaced = await memory.GetMessages(pb.Empty())
        await memory.Clear(pb.Empty())

        assert list(whole.messages) == list(fitting.messages) == [USER]
        assert len(replaced.messages) == 2
        assert not (await memory.GetMessages(pb.Empty())).messages


async def test_a_provider_without_streaming_is_served(tmp_path: Path) -> None:
    async with served(tmp_path, "provider-served", PROVIDER) as channel:
        provider = rpc.ProviderServiceStub(channel)

        models = await provider.ListModels(pb.Empty())
        whole = await provider.Complete(ASKED)
        streamed = [each async for each in provider.CompleteStreaming(ASKED)]
        calls = await provider.ParseToolCalls(whole)

        assert [each.id for each in models.models] == ["m"]
        assert [whole] == streamed
        assert calls.tool_calls[0].arguments_json == '{"a":1}'


async def test_an_orchestrator_without_a_session_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, "loop-served", LOOP) as channel:
        loop = rpc.OrchestratorServiceStub(channel)

        answer = await loop.Execute(pb.OrchestratorExecuteRequest(prompt="hi"))

        assert "There is no kernel to call back" in answer.error


async def test_what_a_module_does_not_offer_is_unimplemented(tmp_path: Path) -> None:
    async with served(tmp_path, "tool-served", TOOLS) as channel:
        for call in (
            rpc.HookServiceStub(channel).GetSubscriptions(pb.GetSubscriptionsRequest()),
            rpc.ApprovalServiceStub(channel).RequestApproval(pb.ApprovalRequest()),
            rpc.ContextServiceStub(channel).Clear(pb.Empty()),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_another_config_mounts_a_module_anew_and_the_same_one_does_not(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "tool-again", TOOLS) as channel:
        life, tool = rpc.ModuleLifecycleStub(channel), rpc.ToolServiceStub(channel)

        async def config_after(**config: str) -> Any:
            answer = await life.Mount(pb.MountRequest(config=config))
            assert answer.success, answer.error
            return (await tool.Execute(pb.ToolExecuteRequest(input=b"{}"))).output

        assert b'"a": 1' in await config_after(a="1")
        assert b'"a": 1' in await config_after(a="1")
        assert b'"b": "x y"' in await config_after(b="x y")
        broken = await life.Mount(pb.MountRequest(config={"broken": "true"}))
        assert (broken.success, broken.error) == (False, "ValueError: broken as asked")
        await life.Cleanup(pb.Empty())


async def test_hooks_of_a_served_module_are_one_listener_per_event(tmp_path: Path) -> None:
    async with served(tmp_path, "hooks-served", HOOKS) as channel:
        hooks = rpc.HookServiceStub(channel)

        told = await hooks.GetSubscriptions(pb.GetSubscriptionsRequest())
        info = await rpc.ModuleLifecycleStub(channel).GetModuleInfo(pb.Empty())
        heard = await hooks.Handle(pb.HookHandleRequest(event="other", data_json="{}"))

        assert [(each.event, each.priority) for each in told.subscriptions] == [("tool:pre", 0)]
        assert list(info.capabilities) == ["amplifier:hook", "guard"]
        assert heard.action == pb.HOOK_ACTION_CONTINUE


WHO_ASKS = """\
class Loop:
    async def execute(self, prompt, context, providers, tools, hooks, coordinator):
        return (await hooks.emit("who", {})).data["name"]


async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""


async def _told(name: str, event: str, data: Any) -> HookResult:
    return HookResult(action="modify", data={"name": name})


async def test_a_served_module_calls_back_whoever_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when there are more sessions than it keeps connections to."""
    monkeypatch.setattr(callers, "MOST_KERNELS", 1)
    sessions = {name: ModuleCoordinator() for name in ("one", "two")}
    back, hosts = {}, []
    for name, coordinator in sessions.items():
        coordinator.hooks.register("who", partial(_told, name))
        hosts.append(host := await hold_kernel(coordinator))
        back[name] = (
            ("x-amplifier-kernel-endpoint", host.endpoint),
            ("x-amplifier-kernel-token", host.token),
        )
    ways_back = Callers()
    async with served(tmp_path, "loop-asks", WHO_ASKS, ways_back) as channel:
        loop = rpc.OrchestratorServiceStub(channel)
        asked = pb.OrchestratorExecuteRequest(prompt="who?")

        assert (await loop.Execute(asked)).error
        answers = [await loop.Execute(asked, metadata=back[name]) for name in ("one", "two", "one")]

        assert [each.response for each in answers] == ["one", "two", "one"]
    await ways_back.close()
    for host in hosts:
        await host.release()


async def test_a_served_module_is_not_sent_to_other_machines(tmp_path: Path) -> None:
    async with served(tmp_path, "loop-stays", WHO_ASKS, Callers()) as channel:
        for endpoint in ("192.0.2.1:9", "ftp://localhost:9"):
            back = ("x-amplifier-kernel-endpoint", endpoint), ("x-amplifier-kernel-token", "t")
            asked = pb.OrchestratorExecuteRequest(prompt="who?")

            answer = await rpc.OrchestratorServiceStub(channel).Execute(asked, metadata=back)

            assert "no kernel to call back" in answer.error


SILENT = """\
from amplifier_core.approval import ApprovalTimeoutError


class Silent:
    async def request_approval(self, prompt, options, timeout, default):
        raise ApprovalTimeoutError("nobody there")


async def mount(coordinator, config):
    coordinator.approval_system = Silent()
"""


async def test_when_nobody_answers_the_asker_is_told_and_nothing_is_decided(tmp_path: Path) -> None:
    request = pb.ApprovalRequest(tool_name="bash", details_json='{"default": "allow"}')
    async with served(tmp_path, "approval-silent", SILENT) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.ApprovalServiceStub(channel).RequestApproval(request)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert caught.value.details() == "nobody there"
