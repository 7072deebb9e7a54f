"""Faults that users of the public kernel met, each shown to be absent here.

Faults of a single part are ruled out where that part is tested; these need a whole session.
"""

import asyncio
import gc
import math
import subprocess
import sys
import threading
import warnings
import weakref
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, HookResult, RateLimitError
from amplifier_core.loader import ModuleLoader
from helpers_modules import (
    Loop,
    Memory,
    MemoryLoader,
    Named,
    entries,
    forever,
    listen,
    module_directory,
    mounts,
    plan,
    session_of,
    tool_source,
    until,
)


def _with_loop(run: Any, **options: Any) -> AmplifierSession:
    return session_of(modules={"loop": mounts("orchestrator", Loop(run))}, **options)


# -- leaving the interpreter ----------------------------------------------------------

EXITING = """
import asyncio
import threading
from amplifier_core import AmplifierSession

class Loop:
    async def execute(self, prompt, context, providers, tools, hooks, coordinator):
        for number in range(40):
            await hooks.emit("some:event", {"number": number})
        return prompt

class Loader:
    async def load(self, module_id, config, source_hint=None, coordinator=None):
        async def mount(coordinator):
            await coordinator.mount(module_id, Loop())
        return mount
    def get_on_session_ready_queue(self):
        return []
    def clear_on_session_ready_queue(self):
        pass

PLAN = {"session": {"orchestrator": "orchestrator", "context": "context"}}

async def handler(event, data):
    await asyncio.sleep(0)

async def never(event, data):
    await asyncio.Event().wait()

async def life(number):
    session = AmplifierSession(PLAN, loader=Loader())
    session.coordinator.hooks.register("some:event", handler)
    session.coordinator.hooks.register("some:event", lambda event, data: None)
    assert await session.execute(str(number)) == str(number)
    if number % 2:
        await session.cleanup()
    return session

async def main():
    sessions = await asyncio.gather(*(life(number) for number in range(50)))
    session = sessions[0]
    session.coordinator.hooks.register("hanging:event", never)
    # Left pending on purpose, as by a program that ends in the middle of things.
    session.pending = asyncio.create_task(session.coordinator.hooks.emit("hanging:event", {}))
    await asyncio.sleep(0)
    return sessions

kept = asyncio.run(main())
thread = threading.Thread(target=lambda: asyncio.run(main()))
thread.start()
thread.join()
print(len(kept), threading.active_count())
"""


@pytest.mark.slow
def test_a_program_with_many_sessions_ends_cleanly_every_time() -> None:
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", EXITING],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "50 1\n", "")


# -- stopping -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_an_orchestrator_does_not_go_on_after_its_caller_has_left(how: str) -> None:
    log: list[str] = []

    async def run(**_: Any) -> str:
        try:
            log.append("started")
            await forever()
        finally:
            log.append("stopped")
        return "never"

    session = _with_loop(run)
    await session.initialize()
    turn = asyncio.create_task(
        session.execute("hello")
        if how == "cancel"
        else asyncio.wait_for(session.execute("x"), 0.01)
    )
    await until(lambda: log)
    if how == "cancel":
        turn.cancel()

    with pytest.raises(asyncio.CancelledError if how == "cancel" else TimeoutError):
        async with asyncio.timeout(5):
            await turn

    assert log == ["started", "stopped"]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_cancellation_inside_the_orchestrator_stays_a_cancellation() -> None:
    async def run(**_: Any) -> str:
        raise asyncio.CancelledError("inner")

    session = _with_loop(run)

    with pytest.raises(asyncio.CancelledError, match="inner"):
        await session.execute("hello")

    assert session.status.status == "cancelled"


async def test_a_task_group_around_turns_is_torn_down_by_the_first_that_fails() -> None:
    started: list[str] = []
    stopped: list[str] = []

    async def run(prompt: str, **_: Any) -> str:
        if prompt == "bad":
            await until(lambda: len(started) == 2)
            raise RateLimitError("slow down", retry_after=3)
        try:
            started.append(prompt)
            await forever()
        finally:
            stopped.append(prompt)
        return "never"

    session = _with_loop(run)

    async def turns() -> None:
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            for prompt in ("a", "b", "bad"):
                group.create_task(session.execute(prompt))

    with pytest.raises(ExceptionGroup) as caught:
        await turns()

    (error,) = caught.value.exceptions
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 3
    assert sorted(stopped) == ["a", "b"]


# -- being let go ---------------------------------------------------------------------


@pytest.mark.parametrize("use", ["initialize", "execute", "fail", "cleanup"])
async def test_a_session_is_freed_whatever_was_done_with_it(use: str) -> None:
    async def life() -> "list[weakref.ref[Any]]":
        async def run(prompt: str, **_: Any) -> str:
            if prompt == "fail":
                raise ValueError(prompt)
            return prompt

        memory = Memory()
        session = session_of(
            modules={"loop": mounts("orchestrator", Loop(run)), "memory": mounts("context", memory)}
        )
        await session.initialize()
        if use == "cleanup":
            await session.cleanup()
        elif use != "initialize":
            with suppress(ValueError):
                await session.execute(use)
        return [weakref.ref(each) for each in (session, session.coordinator, memory)]

    watched = [each for _ in range(50) for each in await life()]
    gc.collect()

    assert len(watched) == 150
    assert not [each for each in watched if each() is not None]


# -- threads and loops ----------------------------------------------------------------


async def test_a_busy_session_starts_no_thread_and_leaves_no_task() -> None:
    async def run(hooks: Any, **_: Any) -> str:
        for _number in range(50):
            await hooks.emit("some:event", {})
        return "done"

    threads = threading.active_count()
    session = _with_loop(run)
    session.coordinator.hooks.register("some:event", lambda event, data: None)

    async with session:
        await asyncio.gather(*(session.execute("hello") for _ in range(5)))
        assert threading.active_count() == threads

    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_sessions_in_threads_with_loops_of_their_own_do_not_meet() -> None:
    answers: dict[int, Any] = {}

    async def run(hooks: Any, coordinator: Any, **_: Any) -> str:
        for _number in range(20):
            await hooks.emit("some:event", {})
            await asyncio.sleep(0)
        return str(coordinator.session_id)

    def life(number: int) -> None:
        session = _with_loop(run, session_id=f"s{number}")
        heard = listen(session, "some:event")
        answer = asyncio.run(session.execute("hello"))
        answers[number] = (answer, {data["session_id"] for _, data in heard}, len(heard))

    threads = [threading.Thread(target=life, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)

    assert answers == {n: (f"s{n}", {f"s{n}"}, 20) for n in range(8)}


def test_a_session_may_be_used_on_one_loop_after_the_other() -> None:
    session = session_of()
    ids = [asyncio.run(session.execute("main thread"))]

    thread = threading.Thread(target=lambda: ids.append(asyncio.run(session.execute("other"))))
    thread.start()
    thread.join(timeout=20)
    asyncio.run(session.cleanup())

    assert ids == ["done", "done"]
    assert not session.initialized


async def test_a_token_may_be_cancelled_from_another_thread() -> None:
    async def run(coordinator: Any, **_: Any) -> str:
        thread = threading.Thread(target=coordinator.cancellation.request_immediate)
        thread.start()
        await until(lambda: coordinator.cancellation.is_immediate)
        thread.join(timeout=20)
        return "stopped"

    session = _with_loop(run)

    assert await session.execute("hello") == "stopped"
    assert session.status.status == "cancelled"


async def test_a_cancel_callback_runs_on_the_callers_thread_in_its_context() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")
    seen: list[Any] = []
    token = session_of().coordinator.cancellation
    token.on_cancel(lambda: seen.append((threading.get_ident(), variable.get())))

    await token.trigger_callbacks()

    assert seen == [(threading.get_ident(), "set")]


# -- using the session from inside ----------------------------------------------------


async def test_a_sync_handler_may_look_at_its_session() -> None:
    seen: list[Any] = []
    session = session_of()

    def look(event: str, data: dict[str, Any]) -> None:
        seen.append((session.initialized, session.status.status, session.coordinator.to_dict()))

    session.coordinator.hooks.register("session:start", look)

    await session.execute("hello")

    assert seen[0][:2] == (True, "running")
    assert seen[0][2]["has_orchestrator"]


async def test_a_handler_may_run_a_turn_of_its_own() -> None:
    session = session_of()
    answers: list[str] = []

    async def nested(event: str, data: dict[str, Any]) -> None:
        answers.append(await session.execute("nested"))

    session.coordinator.hooks.register("session:start", nested)

    async with asyncio.timeout(5):
        assert await session.execute("hello") == "done"

    assert answers == ["done"]


# -- nothing lost ---------------------------------------------------------------------


async def test_values_that_json_cannot_hold_end_no_turn() -> None:
    payload = {"nan": math.nan, "inf": math.inf, "text": "\ud800", "big": 2**80, 5: "five"}
    heard: list[dict[Any, Any]] = []

    async def run(hooks: Any, **_: Any) -> str:
        result = await hooks.emit("tool:post", payload)
        return str(result.action)

    session = _with_loop(run)
    session.coordinator.hooks.register("tool:post", lambda event, data: heard.append(data))

    assert await session.execute("hello") == "continue"
    assert {key: heard[0][key] for key in payload} == payload


async def test_what_a_hook_injects_beside_a_question_reaches_the_context() -> None:
    memory = Memory()
    asked: list[str] = []

    async def request_approval(*question: Any) -> str:
        asked.append(question[0])
        return "Allow"

    approval: Any = Named()
    approval.request_approval = request_approval

    async def run(hooks: Any, coordinator: Any, **_: Any) -> str:
        result = await hooks.emit("tool:pre", {"tool_name": "t"})
        return str((await coordinator.process_hook_result(result, "tool:pre", "t")).action)

    session = session_of(
        modules={"loop": mounts("orchestrator", Loop(run)), "memory": mounts("context", memory)},
        approval_system=approval,
    )
    answers = [
        HookResult(action="inject_context", context_injection="remember this"),
        HookResult(action="ask_user", approval_prompt="May I?"),
    ]
    for answer in answers:
        session.coordinator.hooks.register("tool:pre", lambda event, data, own=answer: own)

    assert await session.execute("hello") == "continue"
    assert asked == ["May I?"]
    assert [message["content"] for message in memory.messages] == ["remember this"]


# -- calling without awaiting ---------------------------------------------------------


@pytest.mark.parametrize("call", ["initialize", "execute", "cleanup"])
def test_a_call_that_is_never_awaited_does_nothing(call: str) -> None:
    session = session_of()
    arguments = ["hello"] if call == "execute" else []

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coroutine = getattr(session, call)(*arguments)
        coroutine.close()
        gc.collect()

    loader: Any = session.loader
    assert (loader.loaded, loader.cleanups, caught) == ([], 0, [])


# -- the loader -----------------------------------------------------------------------


async def test_a_given_loader_is_used_and_what_it_added_to_sys_path_is_taken_back(
    tmp_path: Path,
) -> None:
    with module_directory(tmp_path) as modules:
        modules.write_session_modules("given-loop", "given-context")
        modules.write("tool-given", tool_source("given"))
        before = list(sys.path)
        config = {
            "session": {"orchestrator": "given-loop", "context": "given-context"},
            "tools": entries("tool-given"),
        }
        loader = ModuleLoader(search_paths=[tmp_path])
        async with AmplifierSession(config, loader=loader) as session:
            assert session.coordinator.loader is loader
            assert list(session.coordinator.get("tools")) == ["given"]
            assert sys.path != before

        assert sys.path == before


async def test_a_failed_start_that_is_tried_again_leaves_one_cleanup_each() -> None:
    log: list[str] = []
    broken = [True]

    async def loop(coordinator: Any, config: dict[str, Any]) -> Any:
        await coordinator.mount("orchestrator", Loop())
        return lambda: log.append("loop cleaned")

    async def memory(coordinator: Any, config: dict[str, Any]) -> None:
        if broken:
            broken.pop()
            raise ValueError("not yet")
        await coordinator.mount("context", Memory())

    loader: Any = MemoryLoader({"loop": loop, "memory": memory})
    session = AmplifierSession(plan(), loader)
    with pytest.raises(RuntimeError, match="not yet"):
        await session.initialize()
    assert log == ["loop cleaned"]

    async with session:
        assert log == ["loop cleaned"]

    assert log == ["loop cleaned"] * 2
