"""Servers that answer with what is no answer: one failed call, one clear line, and on it goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core import AmplifierSession
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.transports.serving.served import ServedModule
from amplifier_core.transports.serving.services import add_services
from stage import CONFIG, PYTHON, USUALLY, Failed, Mounted, at_port, plan_with
from subjects import KINDS, Subject

WORK = {
    "tool": ("Execute",),
    "provider": ("Complete", "CompleteStreaming"),
    "orchestrator": ("Execute",),
    "context": ("GetMessages", "GetMessagesForRequest"),
    "hook": ("Handle",),
    "approval": ("RequestApproval",),
}
NO_JSON = {
    "tool": pb.ToolExecuteResponse(success=True, output=b"{no"),
    "provider": pb.ChatResponse(
        tool_calls=[pb.ToolCallMessage(id="1", name="t", arguments_json="{no")]
    ),
    "context": pb.GetMessagesResponse(
        messages=[pb.Message(role=pb.ROLE_USER, text_content="x", metadata_json="{no")]
    ),
    "hook": pb.HookResult(action=pb.HOOK_ACTION_MODIFY, data_json="{no"),
}
NO_OBJECT = {
    "tool": pb.ToolExecuteResponse(success=True, output=b"[1"),
    "provider": pb.ChatResponse(
        tool_calls=[pb.ToolCallMessage(id="1", name="t", arguments_json="[1]")]
    ),
    "context": pb.GetMessagesResponse(
        messages=[pb.Message(role=99, block_content=pb.ContentBlockList(), metadata_json="[1]")]
    ),
    "hook": pb.HookResult(action=99, data_json="[1]"),
}
NOISE = b"\xff\xfe\xfd\xfc"
WRONG_TYPES = b"".join(bytes([number << 3 | 5]) + b"\x01\x02\x03\x04" for number in range(1, 12))
"""Each of the first fields as a number of four bytes, which none of them is."""
HUGE = b"\x0a\x80\xe1\xeb\x17" + b"x" * 50_000_000
"""The first field, with 50 MB in it."""


NOTHING_EVER = b"it stalls"


class Tongue(grpc.aio.ServerInterceptor):
    """Answers the calls that matter with `says`, if there is such a thing."""

    def __init__(self, kind: str) -> None:
        self.says: bytes | None = None
        self._methods = WORK[kind]

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = await continuation(details)
        method = details.method.rpartition("/")[2]
        if self.says is None or method not in self._methods:
            return handler
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._answer)

    async def _answer(self, request: bytes, context: Any) -> bytes | None:
        if self.says is NOTHING_EVER:
            await asyncio.Event().wait()
        return self.says

    async def _stream(self, request: bytes, context: Any) -> AsyncIterator[bytes | None]:
        yield self.says


@asynccontextmanager
async def hostile(kind: str, folder: Path, more: str = "") -> AsyncIterator[tuple[Mounted, Tongue]]:
    """A module in a session, and what its server says in its place."""
    subject, tongue = Subject(kind, "grpc", "Python"), Tongue(kind)
    module = ServedModule(subject.module_id, PYTHON, {}, None)
    server = grpc.aio.server(interceptors=[tongue], options=[("grpc.max_send_message_length", -1)])
    add_services(module, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        plan = plan_with(subject, CONFIG[kind], at_port(kind, folder, port, more))
        async with AmplifierSession(plan) as session:
            yield Mounted(subject, session), tongue
    finally:
        await server.stop(None)
        await module.cleanup()


@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_that_are_no_message_fail_the_call(kind: str, tmp_path: Path) -> None:
    async with hostile(kind, tmp_path) as (it, tongue):
        tongue.says = NOISE

        with pytest.raises(Failed) as told:
            await it.say("hello")

        assert len(str(told.value).splitlines()) == 1
        assert f"Module {it.subject.module_id!r} at 127.0.0.1:" in str(told.value)
        assert "with bytes that are no message" in str(told.value)
        await goes_on(it, tongue)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_of_50_mb_is_not_taken(kind: str, tmp_path: Path) -> None:
    async with hostile(kind, tmp_path) as (it, tongue):
        tongue.says = HUGE

        with pytest.raises(Failed, match="more than 16 MB"):
            await it.say("hello")

        await goes_on(it, tongue)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", ["wrong types", "no json", "no object", "nothing"])
async def test_fields_that_make_no_sense_are_a_failure_or_left_out(
    kind: str, bad: str, tmp_path: Path
) -> None:
    said = {
        "wrong types": WRONG_TYPES,
        "no json": NO_JSON.get(kind, pb.Empty()).SerializeToString(),
        "no object": NO_OBJECT.get(kind, pb.Empty()).SerializeToString(),
        "nothing": b"",
    }[bad]
    async with hostile(kind, tmp_path) as (it, tongue):
        tongue.says = said

        try:
            answer = await it.say("hello")
        except Failed as failed:
            answer = str(failed)

        assert len(answer.splitlines()) <= 1
        assert "Error:" not in answer
        await goes_on(it, tongue)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_stalls_is_given_up(kind: str, tmp_path: Path) -> None:
    async with hostile(kind, tmp_path, "timeout = 0.3\n") as (it, tongue):
        tongue.says = NOTHING_EVER

        with pytest.raises((Failed, TimeoutError), match=r"no answer to \w+\(\) within 0.3 s"):
            await it.say("hello")

        await goes_on(it, tongue)


async def goes_on(it: Mounted, tongue: Tongue) -> None:
    tongue.says = None
    if it.subject.kind == "orchestrator":
        # There is no way back from a server in this very process: being called is enough.
        with pytest.raises(Failed, match="no kernel to call back"):
            await it.say("on")
    else:
        assert await it.say("on") == USUALLY[it.subject.kind].format("on")


async def test_a_stream_of_bytes_that_are_no_message_fails_the_call(tmp_path: Path) -> None:
    async with hostile("provider", tmp_path) as (it, tongue):
        tongue.says = NOISE
        provider = it.coordinator.get("providers", "echo")
        request = ChatRequest(messages=[Message(role="user", content="hello")])

        with pytest.raises(LLMError, match="with bytes that are no message"):
            async for _ in provider.stream_complete(request):
                pass

        await goes_on(it, tongue)
