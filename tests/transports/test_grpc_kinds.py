"""Providers, contexts, hooks and approvals behind gRPC are mounted as what they are."""

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.llm_errors import LLMError, LLMTimeoutError, StreamError
from amplifier_core.loader import ModuleLoader
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.models import HookResult
from helpers_grpc import Lifecycle, grpc_dir, serving

ASKED = ChatRequest(
    messages=[Message(role="user", content="hi")],
    tools=[ToolSpec(name="t", parameters={"type": "object"}, description="d")],
    metadata={"a": 1},
)


def text(words: str, **more: Any) -> Any:
    block = pb.ContentBlock(text_block=pb.TextBlock(text=words))
    return pb.ChatResponse(content_blocks=[block], **more)


async def mounted(
    folder: Path, module_id: str, port: int, kind: str | None, **manifest: Any
) -> Any:
    """The coordinator with the module of the server at `port`, and its cleanup."""
    coordinator = ModuleCoordinator()
    path = grpc_dir(folder, port, kind, **manifest)
    mount = await ModuleLoader().load(module_id, {"depth": 3}, path, coordinator)
    return coordinator, await mount(coordinator)


# -- providers ------------------------------------------------------------------------


class Echo(rpc.ProviderServiceServicer):
    """Answers every request with the text of its last message."""

    streams: list[Any] | None = None
    failure: grpc.StatusCode | None = None

    async def GetInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        field = pb.ConfigField(id="key", field_type=pb.CONFIG_FIELD_TYPE_SECRET, prompt="Key?")
        return pb.ProviderInfo(
            id="echo", defaults_json='{"context_window": 1000}', config_fields=[field]
        )

    async def ListModels(self, request: Any, context: Any) -> Any:  # noqa: N802
        priced = '{"input_per_million": 1, "output_per_million": 2}'
        models = [
            pb.ModelInfo(id="small", context_window=10, pricing_json=priced),
            pb.ModelInfo(id="odd", pricing_json='{"currency": 7}'),
        ]
        return pb.ListModelsResponse(models=models)

    async def Complete(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.failure is not None:
            await context.abort(self.failure, "not today")
        self.request = request
        call = pb.ToolCallMessage(id="1", name="t", arguments_json='{"x": "é"}')
        usage = pb.Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3, cost_usd="0.01")
        return text(request.messages[-1].text_content, tool_calls=[call], usage=usage)

    async def CompleteStreaming(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.streams is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no")
        for element in self.streams or ():
            yield element


async def test_a_remote_provider_completes(tmp_path: Path) -> None:
    async with serving(Echo()) as port:
        coordinator, cleanup = await mounted(tmp_path, "provider-echo", port, "provider")
        provider = coordinator.get("providers", "echo")

        response = await provider.complete(ASKED, temperature=0.5)

        assert response.content[0].text == "hi"
        assert [call.arguments for call in provider.parse_tool_calls(response)] == [{"x": "é"}]
        assert (response.usage.total_tokens, str(response.usage.cost_usd)) == (3, "0.01")
        assert provider.get_info().defaults == {"context_window": 1000}
        assert provider.get_info().config_fields[0].field_type == "secret"
        small, odd = await provider.list_models()
        assert (small.id, small.pricing.output_per_million, odd.pricing) == ("small", 2, None)
        await cleanup()


async def chunks_of(provider: Any) -> list[dict[str, Any]]:
    return [chunk async for chunk in provider.stream_complete(ASKED)]


@pytest.mark.parametrize(
    ("streams", "pieces", "whole"),
    [
        (None, ["hi"], "hi"),
        ([text("a"), text("b"), text("ab", finish_reason="stop")], ["a", "b"], "ab"),
        ([text("a"), text("b")], ["a", "b"], "ab"),
        ([text("only", finish_reason="stop")], [], "only"),
    ],
)
async def test_a_remote_provider_streams(
    tmp_path: Path, streams: Any, pieces: list[str], whole: str
) -> None:
    echo = Echo()
    echo.streams = streams
    async with serving(echo) as port:
        coordinator, cleanup = await mounted(tmp_path, "provider-echo", port, "provider")

        *said, last = await chunks_of(coordinator.get("providers", "echo"))

        assert [chunk["text"] for chunk in said] == pieces
        assert last["response"].content[0].text == whole
        await cleanup()


async def test_a_stream_without_a_response_is_an_error(tmp_path: Path) -> None:
    echo = Echo()
    echo.streams = []
    async with serving(echo) as port:
        coordinator, cleanup = await mounted(tmp_path, "provider-echo", port, "provider")

        with pytest.raises(StreamError, match="without a response"):
            await chunks_of(coordinator.get("providers", "echo"))
        await cleanup()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, LLMTimeoutError),
        (grpc.StatusCode.INTERNAL, LLMError),
    ],
)
async def test_a_failing_remote_provider_fails_like_a_provider(
    tmp_path: Path, code: grpc.StatusCode, kind: type[Exception]
) -> None:
    echo = Echo()
    echo.failure = code
    async with serving(echo) as port:
        coordinator, cleanup = await mounted(tmp_path, "provider-echo", port, "provider")
        provider = coordinator.get("providers", "echo")

        with pytest.raises(kind) as caught:
            await provider.complete(ASKED)
        with pytest.raises(kind):
            await chunks_of(provider)

        assert caught.value.provider == "echo"  # type: ignore[attr-defined]
        await cleanup()


# -- contexts -------------------------------------------------------------------------


class Memory(rpc.ContextServiceServicer):
    """Keeps messages as they come."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    async def AddMessage(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.kept.append(request.message)
        return pb.Empty()

    async def GetMessages(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.GetMessagesResponse(messages=self.kept)

    async def GetMessagesForRequest(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.GetMessagesResponse(messages=self.kept[-request.token_budget :])

    async def SetMessages(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.kept = list(request.messages)
        return pb.Empty()

    async def Clear(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.kept = []
        return pb.Empty()


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "é"},
            {"type": "tool_call", "id": "1", "name": "t", "input": {"a": 1}},
        ],
        "tool_calls": [{"id": "1", "tool": "t", "arguments": {"a": 1}}],
        "metadata": {"at": "now"},
    },
    {"role": "tool", "content": "", "tool_call_id": "1", "name": "t"},
    {"role": "robot", "content": None},
]


async def test_a_remote_context_keeps_messages_as_they_are(tmp_path: Path) -> None:
    async with serving(Memory()) as port:
        coordinator, cleanup = await mounted(tmp_path, "context-far", port, None)
        context = coordinator.get("context")

        for message in MESSAGES:
            await context.add_message(message)

        assert await context.get_messages() == MESSAGES
        assert await context.get_messages_for_request(token_budget=2) == MESSAGES[-2:]
        await context.set_messages(MESSAGES[:1])
        assert await context.get_messages() == MESSAGES[:1]
        await context.clear()
        assert await context.get_messages() == []
        await cleanup()


# -- hooks ----------------------------------------------------------------------------


class Watch(rpc.HookServiceServicer):
    """Answers every event with one and the same result."""

    def __init__(self, answer: Any, subscriptions: list[Any] | None = None) -> None:
        self.answer = answer
        self.subscriptions = subscriptions
        self.heard: list[Any] = []
        self.config = ""

    async def GetSubscriptions(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.config = request.config_json
        if self.subscriptions is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no")
        return pb.GetSubscriptionsResponse(subscriptions=self.subscriptions)

    async def Handle(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.heard.append((request.event, json.loads(request.data_json)))
        if isinstance(self.answer, grpc.StatusCode):
            await context.abort(self.answer, "broken")
        return self.answer


TOOL_PRE = [pb.EventSubscription(event="tool:pre", priority=5, name="watch")]


async def test_a_remote_hook_hears_what_it_subscribed_to_and_may_deny(tmp_path: Path) -> None:
    watch = Watch(pb.HookResult(action=pb.HOOK_ACTION_DENY, reason="no"), TOOL_PRE)
    async with serving(watch) as port:
        coordinator, cleanup = await mounted(tmp_path, "hooks-watch", port, "hook")

        denied = await coordinator.hooks.emit("tool:pre", {"x": {1, 2}})
        passed = await coordinator.hooks.emit("tool:post", {})

        assert (denied.action, denied.reason, passed.action) == ("deny", "no", "continue")
        assert watch.config == '{"depth":3}'
        assert watch.heard[0][1]["x"] == [1, 2]
        assert coordinator.hooks.list_handlers("tool:pre") == {"tool:pre": ["watch"]}
        await cleanup()


async def test_a_hook_that_names_no_events_hears_all(tmp_path: Path) -> None:
    watch = Watch(pb.HookResult())
    async with serving(watch) as port:
        coordinator, cleanup = await mounted(tmp_path, "hooks-watch", port, "hook")

        await coordinator.hooks.emit("whatever", {})

        assert [event for event, _ in watch.heard] == ["whatever"]
        await cleanup()


async def test_a_modified_event_keeps_the_objects_that_were_not_changed(tmp_path: Path) -> None:
    odd = object()
    changed = json.dumps({"odd": str(odd), "n": 2})
    answer = pb.HookResult(action=pb.HOOK_ACTION_MODIFY, data_json=changed)
    async with serving(Watch(answer, TOOL_PRE)) as port:
        coordinator, cleanup = await mounted(tmp_path, "hooks-watch", port, "hook")

        result = await coordinator.hooks.emit("tool:pre", {"odd": odd, "n": 1})

        assert result.data == {"odd": odd, "n": 2}
        await cleanup()


@pytest.mark.parametrize(("more", "action"), [("", "continue"), ("guard = true", "deny")])
async def test_a_broken_remote_hook_is_skipped_and_a_broken_guard_denies(
    tmp_path: Path, more: str, action: str
) -> None:
    async with serving(Watch(grpc.StatusCode.INTERNAL, TOOL_PRE)) as port:
        coordinator, cleanup = await mounted(tmp_path, "hooks-watch", port, "hook", more=more)

        result = await coordinator.hooks.emit("tool:pre", {})

        assert result.action == action
        await cleanup()


# -- approvals ------------------------------------------------------------------------


class Judge(rpc.ApprovalServiceServicer):
    """Allows what is called "read"."""

    failure: grpc.StatusCode | None = None

    async def RequestApproval(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.failure is not None:
            await context.abort(self.failure, "asleep")
        approved = request.action == "read"
        return pb.ApprovalResponse(approved=approved, reason="" if approved else "no")


async def test_a_remote_approval_answers_requests_and_hooks(tmp_path: Path) -> None:
    async with serving(Judge()) as port:
        coordinator, cleanup = await mounted(tmp_path, "approval-far", port, None)
        judge = coordinator.approval_system
        assert judge is not None

        asked = ApprovalRequest(tool_name="t", action="write", risk_level="low", timeout=1.0)
        answer = await judge.request_approval(asked)
        question = HookResult(action="ask_user", approval_prompt="read")
        allowed = await coordinator.process_hook_result(question, "tool:pre")
        question = HookResult(action="ask_user", approval_prompt="write")
        denied = await coordinator.process_hook_result(question, "tool:pre")

        assert (answer.approved, answer.reason) == (False, "no")
        assert (allowed.action, denied.action) == ("continue", "deny")
        await cleanup()


async def test_an_approval_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    judge = Judge()
    judge.failure = grpc.StatusCode.DEADLINE_EXCEEDED
    async with serving(judge) as port:
        coordinator, cleanup = await mounted(tmp_path, "approval-far", port, "approval")
        system = coordinator.approval_system

        with pytest.raises(ApprovalTimeoutError):
            await system.request_approval("read", ["Allow", "Deny"], 1.0, "deny")
        judge.failure = grpc.StatusCode.INTERNAL
        with pytest.raises(RuntimeError, match="asleep"):
            await system.request_approval("read", ["Allow", "Deny"], 1.0, "deny")
        await cleanup()


# -- which kind -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("servicers", "point"),
    [
        ([Memory()], "context"),
        ([Echo()], "providers"),
        ([Memory(), Lifecycle(module_type=pb.MODULE_TYPE_MEMORY)], "context"),
        (
            [rpc.OrchestratorServiceServicer(), Lifecycle(mount_point="orchestrator")],
            "orchestrator",
        ),
    ],
)
async def test_without_a_type_the_services_tell_it(
    tmp_path: Path, servicers: list[Any], point: str
) -> None:
    async with serving(*servicers) as port:
        coordinator, cleanup = await mounted(tmp_path, "far", port, None)

        assert coordinator.get(point)
        assert "Remote" in repr(coordinator.get(point))
        await cleanup()


async def test_an_orchestrator_is_told_by_its_id_when_nothing_else_tells(tmp_path: Path) -> None:
    async with serving(rpc.OrchestratorServiceServicer()) as port:
        coordinator, cleanup = await mounted(tmp_path, "loop-far", port, None)

        assert coordinator.get("orchestrator") is not None
        await cleanup()


async def test_a_server_that_tells_nothing_is_refused(tmp_path: Path) -> None:
    async with serving(Lifecycle()) as port:
        with pytest.raises(RuntimeError, match="Add `type` to its"):
            await mounted(tmp_path, "far", port, None)


async def test_a_resolver_cannot_be_remote(tmp_path: Path) -> None:
    async with serving(Lifecycle()) as port:
        with pytest.raises(RuntimeError, match="is a resolver, which cannot be"):
            await mounted(tmp_path, "far", port, "resolver")
