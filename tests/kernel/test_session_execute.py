"""One turn: what the orchestrator gets, what the caller gets, and which events mark it."""

import asyncio
import gc
import weakref
from functools import partial
from typing import Any
from unittest.mock import AsyncMock

import pytest
from amplifier_core import AmplifierSession, HookResult, RateLimitError, _session_exec
from amplifier_core._session_exec import emit_raw_field_if_configured, run_orchestrator
from amplifier_core.testing import MockCoordinator, ScriptedOrchestrator
from helpers_modules import (
    Events,
    Loop,
    Memory,
    Named,
    Provider,
    Tool,
    entries,
    failing,
    forever,
    listen,
    mounts,
    plan,
    session_of,
)

DOCUMENTED = ("prompt", "context", "providers", "tools", "hooks")


def _with_loop(loop: Any, config: dict[str, Any] | None = None, **options: Any) -> AmplifierSession:
    return session_of(config, {"loop": mounts("orchestrator", loop)}, **options)


def _raising(error: BaseException) -> Loop:
    async def run(**arguments: Any) -> str:
        raise error

    return Loop(run)


def _names(heard: Events) -> list[str]:
    return [event for event, _ in heard]


async def test_the_orchestrator_gets_everything_it_may_use_by_keyword() -> None:
    loop, memory, provider, tool = Loop(), Memory(), Provider(), Tool()
    modules = {
        "loop": mounts("orchestrator", loop),
        "memory": mounts("context", memory),
        "provider-a": mounts("providers", provider, "a"),
        "tool-t": mounts("tools", tool, "t"),
    }
    config = plan(providers=entries("provider-a"), tools=entries("tool-t"))
    session = session_of(config, modules)

    assert await session.execute("hello") == "done"

    (call,) = loop.calls
    coordinator = session.coordinator
    assert sorted(call) == sorted([*DOCUMENTED, "coordinator"])
    assert call["prompt"] == "hello"
    assert call["context"] is memory
    assert call["providers"] is coordinator.get("providers")
    assert call["providers"] == {"a": provider}
    assert call["tools"] is coordinator.get("tools")
    assert call["tools"] == {"t": tool}
    assert call["hooks"] is coordinator.hooks
    assert call["coordinator"] is coordinator


async def test_slots_that_a_host_emptied_are_passed_as_empty_dicts() -> None:
    loop = Loop()
    session = _with_loop(loop)
    await session.initialize()
    session.coordinator.mount_points.update(providers=None, tools=None, context=None)

    await session.execute("hello")

    assert loop.calls[0]["providers"] == loop.calls[0]["tools"] == {}
    assert loop.calls[0]["context"] is None


@pytest.mark.parametrize("prompt", ["", "\ud800 broken", "x" * 100_000])
async def test_any_text_is_a_prompt(prompt: str) -> None:
    loop = Loop()

    await _with_loop(loop).execute(prompt)

    assert loop.calls[0]["prompt"] == prompt


@pytest.mark.parametrize("prompt", [None, 5, b"bytes", ["text"]])
async def test_a_prompt_that_is_no_text_is_refused_before_anything_happens(prompt: Any) -> None:
    session = session_of()

    with pytest.raises(TypeError, match=f"must be a str, not {type(prompt).__name__}"):
        await session.execute(prompt)

    assert not session.initialized


async def test_execute_initializes_when_nobody_did() -> None:
    session = session_of()

    assert await session.execute("hello") == "done"
    assert session.initialized


async def test_execute_raises_what_initialize_raises() -> None:
    session = session_of(modules={"loop": failing(ValueError("broken"))})

    with pytest.raises(RuntimeError, match="Cannot initialize without orchestrator: broken"):
        await session.execute("hello")


async def test_a_session_whose_orchestrator_was_taken_out_says_so() -> None:
    session = session_of()
    await session.initialize()
    await session.coordinator.unmount("orchestrator")

    with pytest.raises(RuntimeError, match=r"^No orchestrator module mounted$"):
        await session.execute("hello")


@pytest.mark.parametrize("answer", [None, 5, {"text": "hi"}])
async def test_an_answer_that_is_no_text_is_an_error_that_names_the_orchestrator(
    answer: Any,
) -> None:
    session = _with_loop(Loop(answer=answer))

    with pytest.raises(TypeError, match=f"Loop returned {type(answer).__name__}; .* return a str"):
        await session.execute("hello")

    assert session.status.status == "failed"


# -- the coordinator argument ---------------------------------------------------------


class DocumentedLoop:
    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any):
        return f"documented {prompt}"


class NamingLoop(DocumentedLoop):
    async def execute(self, prompt, context, providers, tools, hooks, coordinator=None):  # type: ignore[no-untyped-def, override]
        return f"with {coordinator.session_id}"


@pytest.mark.parametrize(
    ("loop", "answer"),
    [
        (DocumentedLoop(), "documented hi"),
        (NamingLoop(), "with id"),
        (ScriptedOrchestrator(["scripted"]), "scripted"),
    ],
)
async def test_coordinator_is_passed_unless_the_orchestrator_has_no_place_for_it(
    loop: Any, answer: str
) -> None:
    session = _with_loop(loop, session_id="id")

    assert await session.execute("hi") == answer
    assert session.status.status == "completed"


async def _documented(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
    return f"documented {prompt}"


class SlottedExecute:
    """A callable that can be neither cached nor weakly referenced."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    async def __call__(self, prompt, context, providers, tools, hooks):  # type: ignore[no-untyped-def]
        return f"slotted {prompt}"


class UnreadableExecute:
    """A callable whose signature cannot be read."""

    __signature__ = "none"

    async def __call__(self, **arguments: Any) -> str:
        return f"unreadable {arguments['coordinator'].session_id}"


@pytest.mark.parametrize(
    ("execute", "answer"),
    [
        (AsyncMock(return_value="mocked"), "mocked"),
        (partial(_documented), "documented hi"),
        (SlottedExecute(), "slotted hi"),
        (UnreadableExecute(), "unreadable id"),
    ],
)
async def test_execute_may_be_any_callable(execute: Any, answer: str) -> None:
    loop = Named()
    loop.execute = execute  # type: ignore[attr-defined]
    session = _with_loop(loop, session_id="id")

    assert [await session.execute("hi"), await session.execute("hi")] == [answer, answer]


async def test_remembering_signatures_keeps_no_orchestrator_alive() -> None:
    def make() -> Any:
        class Local:
            async def execute(self, prompt, context, providers, tools, hooks):  # type: ignore[no-untyped-def]
                return "local"

        return Local

    loop_class = make()
    session = _with_loop(loop_class())
    assert await session.execute("hi") == "local"
    gone = weakref.ref(loop_class), weakref.ref(loop_class.execute)
    remembered = len(_session_exec._takes_coordinator)

    del session, loop_class
    gc.collect()

    assert [each() for each in gone] == [None, None]
    assert len(_session_exec._takes_coordinator) < remembered


async def test_the_orchestrator_of_a_bare_coordinator_can_be_run() -> None:
    coordinator = MockCoordinator()
    await coordinator.mount("orchestrator", Loop(answer="bare"))

    assert await run_orchestrator(coordinator, "hi") == "bare"


# -- lifecycle events -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_resumed", "event"), [(False, "session:start"), (True, "session:resume")]
)
@pytest.mark.parametrize("metadata", [None, {}, {"project": "x"}])
async def test_the_first_turn_announces_the_session_once(
    is_resumed: bool, event: str, metadata: dict[str, Any] | None
) -> None:
    config = plan(session={"metadata": metadata})
    session = session_of(config, is_resumed=is_resumed, session_id="id")
    await session.initialize()
    heard = listen(session)

    await session.execute("one")
    await session.execute("two")

    ids = {"session_id": "id", "parent_id": None}
    assert heard == [(event, {**ids, "metadata": metadata} if metadata else ids)]


async def test_metadata_is_read_when_the_session_starts() -> None:
    config = plan(session={"metadata": {"old": True}})
    session = session_of(config)
    heard = listen(session, "session:start")
    config["session"]["metadata"] = {"new": True}

    await session.execute("hello")

    assert heard[0][1]["metadata"] == {"new": True}


async def test_concurrent_turns_announce_the_session_once_and_all_run() -> None:
    loop = Loop()
    session = _with_loop(loop)
    heard = listen(session)

    answers = await asyncio.gather(*(session.execute(f"turn {n}") for n in range(10)))

    assert answers == ["done"] * 10
    assert _names(heard) == ["session:start"]
    assert len(loop.calls) == 10


async def test_a_turn_may_start_another_turn_of_the_same_session() -> None:
    async def run(prompt: str, coordinator: Any, **_: Any) -> str:
        return "inner" if prompt == "in" else f"outer of {await coordinator.session.execute('in')}"

    assert await _with_loop(Loop(run)).execute("out") == "outer of inner"


async def test_a_hook_cannot_stop_a_turn_by_denying_its_announcement() -> None:
    session = session_of()

    async def deny(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny", reason="no")

    session.coordinator.hooks.register("session:start", deny)

    assert await session.execute("hello") == "done"


async def test_the_raw_plan_is_emitted_once_with_its_secrets_masked() -> None:
    config = plan(session={"raw": True}, extra=[{"api_key": "k", "deep": {"Password": "p"}}])
    session = session_of(config, session_id="id")
    heard = listen(session, "session:config")

    await session.execute("one")
    await session.execute("two")

    ((_, data),) = heard
    assert data["raw"]["extra"] == [{"api_key": "[REDACTED]", "deep": {"Password": "[REDACTED]"}}]
    assert data["raw"]["session"] == config["session"]
    assert data["session_id"] == "id"
    assert config["extra"][0]["api_key"] == "k"


@pytest.mark.parametrize("config", [{}, {"session": None}, plan(), plan(session={"raw": False})])
async def test_the_raw_plan_is_emitted_only_when_asked_for(config: dict[str, Any]) -> None:
    session = session_of()
    heard = listen(session)

    await emit_raw_field_if_configured(session.coordinator, config, "id")

    assert heard == []


async def test_the_kernel_marks_neither_prompts_nor_executions() -> None:
    session = session_of()
    heard = listen(session)

    await session.execute("hello")

    assert _names(heard) == ["session:start"]


# -- failure and cancellation ---------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RateLimitError("slow down", retry_after=3), KeyError("x"), TimeoutError("own")]
)
async def test_what_the_orchestrator_raises_reaches_the_caller_as_it_is(error: Exception) -> None:
    session = _with_loop(_raising(error))
    heard = listen(session)

    with pytest.raises(type(error)) as caught:
        await session.execute("hello")

    assert caught.value is error
    assert session.status.status == "failed"
    assert session.status.last_error == {"message": str(error), "type": type(error).__name__}
    assert _names(heard) == ["session:start"]


async def test_a_failed_turn_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError):
        await _with_loop(_raising(KeyError("x"))).execute("hello")

    assert [record.message for record in caplog.records] == ["Execution failed: KeyError: 'x'"]


async def test_a_turn_after_a_failed_one_completes() -> None:
    loop = _raising(ValueError("once"))
    session = _with_loop(loop)
    with pytest.raises(ValueError, match="once"):
        await session.execute("one")
    loop.run = None

    await session.execute("two")

    assert session.status.status == "completed"


@pytest.mark.parametrize("immediate", [False, True])
async def test_a_turn_that_ends_after_a_cancel_request_says_so_and_still_answers(
    immediate: bool,
) -> None:
    async def run(coordinator: Any, **_: Any) -> str:
        await coordinator.request_cancel(immediate)
        return "partial"

    session = _with_loop(Loop(run))
    heard = listen(session, "cancel:completed")

    assert await session.execute("hello") == "partial"
    assert [data["was_immediate"] for _, data in heard] == [immediate]
    assert "error" not in heard[0][1]
    assert session.status.status == "cancelled"


@pytest.mark.parametrize("immediate", [False, True])
async def test_a_turn_that_fails_after_a_cancel_request_reports_both(immediate: bool) -> None:
    async def run(coordinator: Any, **_: Any) -> str:
        await coordinator.request_cancel(immediate)
        raise KeyError("x")

    session = _with_loop(Loop(run))
    heard = listen(session, "cancel:completed")

    with pytest.raises(KeyError):
        await session.execute("hello")

    ((_, data),) = heard
    assert (data["was_immediate"], data["error"]) == (immediate, "KeyError: 'x'")
    assert session.status.status == "cancelled"
    assert session.status.last_error is None


async def test_a_token_that_is_not_reset_cancels_the_next_turn_too() -> None:
    session = session_of()
    heard = listen(session, "cancel:completed")
    session.coordinator.cancellation.request_graceful()

    await session.execute("one")
    await session.execute("two")
    session.coordinator.cancellation.reset()
    await session.execute("three")

    assert len(heard) == 2
    assert session.status.status == "completed"


async def test_cancelling_the_task_emits_nothing_unless_the_token_is_cancelled() -> None:
    started = asyncio.Event()

    async def run(**_: Any) -> str:
        started.set()
        await forever()
        return "never"

    session = _with_loop(Loop(run))
    heard = listen(session, "cancel:completed")

    for request in (False, True):
        started.clear()
        turn = asyncio.create_task(session.execute("hello"))
        async with asyncio.timeout(5):
            await started.wait()
            if request:
                session.coordinator.cancellation.request_immediate()
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
        assert session.status.status == "cancelled"
        assert len(heard) == int(request)

    assert heard[0][1]["error"].startswith("CancelledError")
