"""What handlers are given when an event is emitted, and how they are run."""

import asyncio
import inspect
import math
import threading
import types
from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from amplifier_core import HookRegistry, HookResult
from helpers_hooks import answering, answering_later, keeping, noting
from pydantic import BaseModel

who: ContextVar[str] = ContextVar("who", default="nobody")


class Payload(BaseModel):
    number: int = 1
    inner: dict[str, Any] = {}


# -- nobody listens -------------------------------------------------------------------


async def test_without_handlers_the_data_comes_back_as_the_same_object_untouched() -> None:
    hooks, data = HookRegistry(), {"a": 1}
    hooks.set_default_fields(session_id="s")

    result = await hooks.emit("e", data)

    assert result == HookResult(action="continue", data={"a": 1})
    assert result.data is data
    assert data == {"a": 1}


async def test_results_without_handlers_share_nothing() -> None:
    hooks = HookRegistry()
    first = await hooks.emit("e", {})
    first.context_injections.append(None)  # type: ignore[arg-type]
    first.user_messages.append(None)  # type: ignore[arg-type]

    second = await hooks.emit("e", {})

    assert (second.context_injections, second.user_messages) == ([], [])


@pytest.mark.parametrize("data", [None, "text", [1], 5])
async def test_without_handlers_data_that_is_no_dict_becomes_an_empty_one(data: Any) -> None:
    assert (await HookRegistry().emit("e", data)).data == {}


@pytest.mark.parametrize("listened_to", ["e", "*"])
async def test_an_event_is_unheard_until_somebody_listens(listened_to: str) -> None:
    hooks = HookRegistry()
    assert hooks.unheard("e")

    stop = hooks.register(listened_to, noting([], "it"))
    assert not hooks.unheard("e")

    stop()
    assert hooks.unheard("e")


async def test_events_of_a_model_call_have_to_be_emitted_in_any_case() -> None:
    assert not HookRegistry().unheard("llm:request")


async def test_a_model_comes_back_dumped_whether_or_not_anybody_listens() -> None:
    assert (await HookRegistry().emit("e", Payload())).data == {"number": 1, "inner": {}}


# -- default fields and timestamp -----------------------------------------------------


async def test_default_fields_are_added_and_the_event_wins_even_with_none() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))
    hooks.set_default_fields(session_id="s", parent_id="p", tool="default")

    result = await hooks.emit("e", {"tool": "bash", "parent_id": None})

    expected = {"session_id": "s", "parent_id": None, "tool": "bash"}
    assert seen[0].items() >= expected.items()
    assert result.data == seen[0]


async def test_new_default_fields_replace_all_earlier_ones() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))
    hooks.set_default_fields(a=1)
    hooks.set_default_fields(b=2)
    await hooks.emit("e", {})
    hooks.set_default_fields()
    await hooks.emit("e", {})

    assert [set(data) for data in seen] == [{"b", "timestamp"}, {"timestamp"}]


def test_default_fields_are_given_by_keyword() -> None:
    with pytest.raises(TypeError):
        HookRegistry().set_default_fields({"a": 1})  # type: ignore[call-arg]


async def test_the_timestamp_is_the_moment_in_utc_and_callers_cannot_set_it() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))
    hooks.set_default_fields(timestamp="default")
    before = datetime.now(UTC)

    await hooks.emit("e", {"timestamp": "mine"})

    stamp = seen[0]["timestamp"]
    assert stamp.endswith("+00:00")
    assert before <= datetime.fromisoformat(stamp) <= datetime.now(UTC)


async def test_all_handlers_of_one_emit_see_the_same_timestamp() -> None:
    hooks, seen = HookRegistry(), []
    for _ in range(3):
        hooks.register("e", keeping(seen))

    await hooks.emit("e", {})

    assert len({data["timestamp"] for data in seen}) == 1


async def test_fields_keep_their_order() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))
    hooks.set_default_fields(z=0)

    result = await hooks.emit("e", {"y": 1, "a": 2, "m": 3})

    assert list(seen[0]) == list(result.data or {}) == ["z", "y", "a", "m", "timestamp"]


# -- what handlers are given ----------------------------------------------------------


async def test_a_handler_cannot_change_the_data_of_anyone_else() -> None:
    hooks, seen, data = HookRegistry(), [], {"a": 1}

    def spoil(event: str, given: dict[str, Any]) -> None:
        given["a"] = 2
        del given["timestamp"]

    hooks.register("e", spoil)
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", data)

    assert seen[0]["a"] == 1
    assert result.data == seen[0]
    assert data == {"a": 1}


async def test_a_handler_cannot_change_data_that_an_earlier_one_put_in_its_place() -> None:
    hooks, seen = HookRegistry(), []
    modified = HookResult(action="modify", data={"a": 1})
    hooks.register("e", answering(modified))
    hooks.register("e", lambda event, given: given.clear())
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", {})

    assert seen == [{"a": 1}]
    assert result.data == modified.data == {"a": 1}


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, "\ud800", 2**100, _cycle(), object(), {1: {2}}, b"\xff", Payload(), print],
    ids=lambda value: type(value).__name__,
)
async def test_any_value_rides_through_an_event_as_the_same_object(value: Any) -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))
    hooks.register("e", lambda e, data: HookResult(action="modify", data=data))
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", {"value": value})

    assert result.data is not None
    assert all(data["value"] is value for data in [*seen, result.data])


async def test_keys_need_not_be_strings() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))

    await hooks.emit("e", {1: "a", (2, 3): "b", None: "c"})

    assert {1: "a", (2, 3): "b", None: "c"}.items() <= seen[0].items()


async def test_a_model_is_given_to_handlers_as_a_dict_of_its_fields() -> None:
    hooks, seen, value = HookRegistry(), [], object()
    hooks.register("e", keeping(seen))

    await hooks.emit("e", Payload(inner={"value": value}))

    assert seen[0]["number"] == 1
    assert seen[0]["inner"]["value"] is value
    assert "timestamp" in seen[0]


@pytest.mark.parametrize("data", [None, "text", [1], 5])
async def test_data_that_is_no_dict_is_given_as_it_is(data: Any) -> None:
    hooks, seen = HookRegistry(), []
    hooks.set_default_fields(session_id="s")
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", data)

    assert seen == [data]
    assert result == HookResult(action="continue", data={})


async def test_data_that_is_no_dict_may_be_replaced_by_one() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", answering(HookResult(action="modify", data={"a": 1})))
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", "text")

    assert seen == [{"a": 1}]
    assert result.data == {"a": 1}


async def test_a_handler_cannot_change_a_list_for_anyone_else() -> None:
    hooks, seen, data = HookRegistry(), [], [1]
    hooks.register("e", lambda event, given: given.append(2))
    hooks.register("e", keeping(seen))

    await hooks.emit("e", data)

    assert (seen, data) == ([[1]], [1])


# -- how handlers are run -------------------------------------------------------------


async def test_emit_gives_a_coroutine_that_runs_as_a_task() -> None:
    hooks = HookRegistry()
    hooks.register("heard", answering(None))

    for event in ("heard", "unheard"):
        emitting = hooks.emit(event, {"a": 1})
        assert inspect.iscoroutine(emitting)
        assert (await asyncio.create_task(emitting)).action == "continue"


async def test_sync_handlers_run_on_the_loops_own_thread_in_the_callers_context() -> None:
    hooks, seen = HookRegistry(), []

    def handler(event: str, data: Any) -> None:
        seen.append((threading.get_ident(), asyncio.get_running_loop(), who.get()))
        who.set("handler")

    hooks.register("e", handler)
    who.set("caller")

    await hooks.emit("e", {})

    assert seen == [(threading.get_ident(), asyncio.get_running_loop(), "caller")]


async def test_async_handlers_see_the_context_of_the_task_that_emits() -> None:
    hooks, seen = HookRegistry(), []

    async def handler(event: str, data: Any) -> None:
        await asyncio.sleep(0)
        seen.append(who.get())

    async def emit_as(name: str) -> None:
        who.set(name)
        await hooks.emit("e", {})

    hooks.register("e", handler)
    await asyncio.gather(emit_as("a"), emit_as("b"))

    assert sorted(seen) == ["a", "b"]


class Answering:
    async def __call__(self, event: str, data: Any) -> HookResult:
        return HookResult(action="deny", reason="seen")

    def method(self, event: str, data: Any) -> HookResult:
        return HookResult(action="deny", reason="seen")


class Awaits:
    def __await__(self) -> Generator[Any, None, HookResult]:
        yield from asyncio.sleep(0).__await__()
        return HookResult(action="deny", reason="seen")


@types.coroutine
def _generator_based(event: str, data: Any) -> Generator[Any, None, HookResult]:
    yield
    return HookResult(action="deny", reason="seen")


def _in_a_future(event: str, data: Any) -> Awaitable[HookResult]:
    future: asyncio.Future[HookResult] = asyncio.get_running_loop().create_future()
    future.get_loop().call_soon(future.set_result, HookResult(action="deny", reason="seen"))
    return future


def _in_a_task(event: str, data: Any) -> Awaitable[HookResult]:
    return asyncio.create_task(Answering()(event, data))


@pytest.mark.parametrize("timeout", [None, 5])
@pytest.mark.parametrize(
    "handler",
    [
        Answering(),
        Answering().method,
        partial(Answering().method),
        lambda event, data: Awaits(),
        _generator_based,
        _in_a_future,
        _in_a_task,
    ],
    ids=["object", "method", "partial", "awaitable", "generator", "future", "task"],
)
async def test_handlers_may_be_any_callable_and_return_any_awaitable(
    handler: Callable[..., Any], timeout: float | None
) -> None:
    hooks = HookRegistry()
    hooks.register("e", handler, timeout=timeout)

    result = await hooks.emit("e", {})

    assert (result.action, result.reason) == ("deny", "seen")


async def test_handlers_run_strictly_one_after_the_other() -> None:
    hooks, log = HookRegistry(), []

    async def slow(event: str, data: Any) -> None:
        for step in range(3):
            log.append(f"slow {step}")
            await asyncio.sleep(0)

    hooks.register("e", slow)
    hooks.register("e", noting(log, "next"))

    await hooks.emit("e", {})

    assert log == ["slow 0", "slow 1", "slow 2", "next"]


async def test_many_emits_at_once_do_not_mix() -> None:
    hooks = HookRegistry()

    async def double(event: str, data: dict[str, Any]) -> HookResult:
        await asyncio.sleep(0)
        return HookResult(action="modify", data={"n": data["n"] * 2})

    hooks.register("e", double)
    hooks.register("e", double)

    results = await asyncio.gather(*(hooks.emit("e", {"n": n}) for n in range(100)))

    assert [result.data for result in results] == [{"n": n * 4} for n in range(100)]


async def test_a_handler_may_emit_the_same_event_again() -> None:
    hooks, depths = HookRegistry(), []

    async def deeper(event: str, data: dict[str, Any]) -> None:
        depths.append(data["depth"])
        if data["depth"] < 50:
            await hooks.emit(event, {"depth": data["depth"] + 1})

    hooks.register("e", deeper)

    await hooks.emit("e", {"depth": 1})

    assert depths == list(range(1, 51))


def test_every_loop_runs_the_handlers_of_its_own_emits() -> None:
    hooks, seen = HookRegistry(), []
    together = threading.Barrier(4, timeout=5)

    async def handler(event: str, data: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        own = asyncio.get_running_loop() is data["loop"]
        seen.append(own and threading.get_ident() == data["thread"])

    async def emit_often() -> None:
        here = {"loop": asyncio.get_running_loop(), "thread": threading.get_ident()}
        together.wait()
        for _ in range(25):
            await hooks.emit("e", here)

    hooks.register("e", handler)
    threads = [threading.Thread(target=lambda: asyncio.run(emit_often())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert seen == [True] * 100


async def test_an_emit_waits_for_slow_handlers_of_other_emits_not_at_all() -> None:
    hooks, release = HookRegistry(), asyncio.Event()

    async def wait(event: str, data: Any) -> None:
        await release.wait()

    hooks.register("slow", wait)
    hooks.register("quick", answering_later(None))
    slow = asyncio.create_task(hooks.emit("slow", {}))
    await asyncio.sleep(0)

    async with asyncio.timeout(5):
        await hooks.emit("quick", {})
        assert not slow.done()
        release.set()
        await slow
