"""A session whose loop and provider are in Go, and whose memory is in TypeScript."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, HookResult
from amplifier_core.testing import MockTool
from built_examples import built

pytestmark = pytest.mark.slow

TOOL_CALL = '!tool look {"at": "é"}'
LOOP, PROVIDER, CONTEXT = (
    "grpc-orchestrator-go",
    "grpc-provider-go",
    "grpc-context-typescript",
)
Play = Callable[..., Any]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """A session that is made of the three, with a tool to call; keywords configure the loop."""

    @asynccontextmanager
    async def session(**config: Any) -> AsyncIterator[AmplifierSession]:
        part = {
            kind: {"module": f"{kind}-far", "source": str(_sidecar(tmp_path / kind, name))}
            for kind, name in (("loop", LOOP), ("provider", PROVIDER), ("context", CONTEXT))
        }
        plan = {
            "session": {
                "orchestrator": {**part["loop"], "config": config},
                "context": part["context"],
            },
            "providers": [part["provider"]],
        }
        async with AmplifierSession(plan) as session:
            await session.coordinator.mount("tools", MockTool("look", {"seen": "é"}))
            yield session

    return session


def _sidecar(folder: Path, example: str) -> Path:
    program = built(example) / "serve"
    folder.mkdir()
    shutil.copy(program, folder / "serve")
    text = '[module]\ntransport = "rust"\ncrate = "serve"\n[sidecar]\nstart_timeout = 60\n'
    (folder / "amplifier.toml").write_text(text)
    return folder


def _listen(session: AmplifierSession, *events: str) -> list[tuple[str, Any]]:
    heard: list[tuple[str, Any]] = []

    async def note(event: str, data: dict[str, Any]) -> HookResult:
        heard.append((event, data))
        return HookResult()

    for event in events:
        session.coordinator.hooks.register(event, note)
    return heard


def _answer(session: AmplifierSession, event: str, result: HookResult) -> None:
    async def answer(event: str, data: dict[str, Any]) -> HookResult:
        return result

    session.coordinator.hooks.register(event, answer)


async def _texts(session: AmplifierSession) -> list[tuple[str, Any]]:
    messages = await session.coordinator.get("context").get_messages()
    return [(each["role"], each["content"]) for each in messages]


async def test_a_turn_runs_through_three_processes_in_two_languages(play: Play) -> None:
    async with play(prefix="> ") as session:
        heard = _listen(session, "prompt:submit", "provider:request", "tool:pre", "tool:post")

        answer = await session.execute(TOOL_CALL)

        stored = await session.coordinator.get("context").get_messages()
        session.coordinator.get("tools", "look").execute.assert_awaited_once_with({"at": "é"})
    assert answer == '> {"seen":"é"}'
    assert [event for event, _ in heard] == [
        "prompt:submit", "provider:request", "tool:pre", "tool:post", "provider:request",
    ]  # fmt: skip
    assert heard[3][1]["result"]["output"] == {"seen": "é"}
    assert [each["role"] for each in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[1]["tool_calls"] == [{"id": "call-1", "tool": "look", "arguments": {"at": "é"}}]
    assert (stored[2]["tool_call_id"], stored[2]["name"]) == ("call-1", "look")


async def test_what_a_provider_streams_is_heard_in_pieces(play: Play) -> None:
    async with play(stream=True) as session:
        heard = _listen(session, "provider:stream")

        answer = await session.execute("one two three")

    assert answer == "one two three"
    assert [data["chunk"]["text"] for _, data in heard] == ["one ", "two ", "three"]


async def test_hooks_rule_over_a_loop_in_another_process(play: Play) -> None:
    async with play() as session:
        _answer(session, "tool:pre", HookResult(action="deny", reason="not now"))

        assert await session.execute(TOOL_CALL) == "Denied: not now"
        session.coordinator.get("tools", "look").execute.assert_not_awaited()

        _answer(session, "prompt:submit", HookResult(action="deny", reason="quiet"))
        assert await session.execute("hello") == "quiet"


async def test_hooks_change_what_a_tool_gets_and_what_the_model_reads(play: Play) -> None:
    async with play() as session:
        changed = HookResult(action="modify", data={"tool_input": {"at": "b"}})
        _answer(session, "tool:pre", changed)
        told = HookResult(
            action="inject_context", context_injection="hint", context_injection_role="user"
        )
        _answer(session, "tool:post", told)

        # The last thing that the model reads is what the hook said, and it is repeated.
        assert await session.execute(TOOL_CALL) == "hint"

        session.coordinator.get("tools", "look").execute.assert_awaited_once_with({"at": "b"})
        assert ("user", "hint") in await _texts(session)


async def test_the_model_is_told_of_tools_that_are_missing_or_broken(play: Play) -> None:
    async with play() as session:
        session.coordinator.get("tools", "look").execute.side_effect = RuntimeError("no eyes")
        heard = _listen(session, "tool:error")

        assert "Tool not available" in await session.execute("!tool touch {}")
        assert "Tool execution failed" in await session.execute(TOOL_CALL)

    assert [data["tool_name"] for _, data in heard] == ["touch", "look"]


async def test_a_turn_that_finds_no_end_is_stopped(play: Play) -> None:
    async with play(max_steps=1) as session:
        assert "within 1 steps" in await session.execute(TOOL_CALL)


async def test_a_cancelled_turn_stops_in_the_other_process_too(play: Play) -> None:
    async with play(stream=True) as session:
        answering = asyncio.Event()

        async def note(event: str, data: Any) -> HookResult:
            answering.set()
            return HookResult()

        session.coordinator.hooks.register("provider:stream", note)
        # What the user says would hold up the loop and the context; the model is to be slow.
        slow = HookResult(action="inject_context", context_injection="!sleep 300")
        _answer(session, "prompt:submit", slow)
        turn = asyncio.create_task(session.execute("hello"))
        await asyncio.wait_for(answering.wait(), 60)

        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

        provider = session.coordinator.get("providers", "echo")
        request = {"messages": [{"role": "user", "content": "!cancelled"}]}
        async with asyncio.timeout(60):
            while (await provider.complete(request)).content[0].text != "1":
                pass


async def test_a_wrong_config_is_refused_by_the_module_itself(play: Play) -> None:
    with pytest.raises(RuntimeError, match=r"max_steps is .many."):
        async with play(max_steps="many"):
            pass
