"""Asking every listener of an event for data, without letting one of them end the round."""

import asyncio
import inspect
from typing import Any

import pytest
from amplifier_core import HookRegistry, HookResult
from helpers_hooks import answering, answering_later, keeping, noting, raising
from pydantic import BaseModel


async def forever(event: str, data: Any) -> None:
    await asyncio.Event().wait()


def hooks_answering(*answers: object) -> HookRegistry:
    hooks = HookRegistry()
    for index, answer in enumerate(answers):
        hooks.register("e", answering(answer), name=f"h{index}")
    return hooks


async def test_the_data_of_every_answer_is_collected_whatever_its_action() -> None:
    hooks = hooks_answering(
        HookResult(data={"n": 0}),
        HookResult(action="deny", data={"n": 1}),
        HookResult(action="ask_user", data={"n": 2}),
        HookResult(action="modify", data={"n": 3}),
        HookResult(action="inject_context", data={}),
        {"data": {"n": 5}},
    )

    assert await hooks.emit_and_collect("e", {}) == [{"n": n} for n in range(4)] + [{}, {"n": 5}]


async def test_answers_without_data_add_nothing() -> None:
    hooks = hooks_answering(None, HookResult(), {"source": "a"}, HookResult(action="deny"))

    assert await hooks.emit_and_collect("e", {}) == []


async def test_data_is_collected_in_the_order_of_priority() -> None:
    hooks = HookRegistry()
    hooks.register("e", answering_later({"data": {"n": 2}}), 2)
    hooks.register("*", answering({"data": {"n": 1}}), 1)
    hooks.register("e", answering({"data": {"n": 0}}), 0)

    assert await hooks.emit_and_collect("e", {}) == [{"n": 0}, {"n": 1}, {"n": 2}]


async def test_without_listeners_nothing_is_collected() -> None:
    collecting = HookRegistry().emit_and_collect("e", {})

    assert inspect.iscoroutine(collecting)
    assert await collecting == []


async def test_collecting_adds_no_default_fields_and_no_timestamp() -> None:
    hooks, seen = HookRegistry(), []
    hooks.set_default_fields(session_id="s")
    hooks.register("e", keeping(seen))

    await hooks.emit_and_collect("e", {"a": 1})

    assert seen == [{"a": 1}]


async def test_every_listener_gets_its_own_copy_with_the_same_values() -> None:
    hooks, seen, data = HookRegistry(), [], {"value": object()}
    hooks.register("e", lambda event, given: given.pop("value"))
    hooks.register("e", keeping(seen))

    await hooks.emit_and_collect("e", data)

    assert seen[0]["value"] is data["value"]


async def test_a_modification_is_not_seen_by_later_listeners() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", answering(HookResult(action="modify", data={"b": 2})))
    hooks.register("e", keeping(seen))

    await hooks.emit_and_collect("e", {"a": 1})

    assert seen == [{"a": 1}]


@pytest.mark.parametrize("data", [None, "text", [1]])
async def test_data_that_is_no_dict_is_given_as_it_is(data: Any) -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))

    await hooks.emit_and_collect("e", data)

    assert seen == [data]


class Payload(BaseModel):
    number: int = 1


async def test_a_model_is_given_to_listeners_as_a_dict_of_its_fields() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen))

    await hooks.emit_and_collect("e", Payload())

    assert seen == [{"number": 1}]


# -- failures -------------------------------------------------------------------------


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize(
    "error", [ValueError("broken"), asyncio.CancelledError(), TimeoutError("remote")]
)
async def test_a_listener_that_raises_is_logged_and_skipped(
    error: BaseException, guard: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = HookRegistry()
    hooks.register("e", raising(error), name="broken", guard=guard)
    hooks.register("e", answering({"data": {"n": 1}}))

    assert await hooks.emit_and_collect("e", {}) == [{"n": 1}]
    (record,) = caplog.records
    assert "for event 'e' (handler 'broken')" in record.message


async def test_a_malformed_answer_is_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    spoilt = HookResult()
    spoilt.data = [1]  # type: ignore[assignment]
    hooks = hooks_answering("nonsense", spoilt, {"data": {"n": 1}})

    assert await hooks.emit_and_collect("e", {}) == [{"n": 1}]
    assert caplog.text.count("SECURITY") == 2


# -- time limits ----------------------------------------------------------------------


async def test_a_listener_that_exceeds_the_limit_is_cancelled_and_the_next_one_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []

    async def stubborn(event: str, data: Any) -> None:
        try:
            await forever(event, data)
        finally:
            log.append("cancelled")

    hooks = HookRegistry()
    hooks.register("e", stubborn, name="slow")
    hooks.register("e", noting(log, "next", {"data": {"n": 1}}))

    async with asyncio.timeout(5):
        assert await hooks.emit_and_collect("e", {}, timeout=0.001) == [{"n": 1}]
    assert log == ["cancelled", "next"]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.message == "Hook handler timed out for event 'e' (handler 'slow')"


async def test_the_limit_holds_for_each_listener_not_for_all_together() -> None:
    hooks = HookRegistry()
    for n in range(5):
        hooks.register("e", forever if n % 2 else answering_later({"data": {"n": n}}))

    async with asyncio.timeout(5):
        collected = await hooks.emit_and_collect("e", {}, 0.001)

    assert collected == [{"n": 0}, {"n": 2}, {"n": 4}]


async def test_a_limit_of_zero_lets_listeners_finish_that_need_not_wait() -> None:
    hooks = HookRegistry()
    hooks.register("e", answering_later({"data": {"n": 0}}))
    hooks.register("e", forever)
    hooks.register("e", answering({"data": {"n": 1}}))

    async with asyncio.timeout(5):
        assert await hooks.emit_and_collect("e", {}, timeout=0) == [{"n": 0}, {"n": 1}]


async def test_without_a_limit_a_listener_may_take_its_time() -> None:
    hooks, release = HookRegistry(), asyncio.Event()

    async def wait(event: str, data: Any) -> HookResult:
        await release.wait()
        return HookResult(data={"n": 1})

    hooks.register("e", wait)
    collecting = asyncio.create_task(hooks.emit_and_collect("e", {}, timeout=None))
    await asyncio.sleep(0)
    release.set()

    async with asyncio.timeout(5):
        assert await collecting == [{"n": 1}]


async def test_the_limit_is_one_second_unless_told_otherwise() -> None:
    parameter = inspect.signature(HookRegistry.emit_and_collect).parameters["timeout"]

    assert parameter.default == 1.0


async def test_a_listener_keeps_its_own_limit_when_the_round_has_none() -> None:
    hooks = HookRegistry()
    hooks.register("e", forever, timeout=0.001)
    collecting = asyncio.create_task(hooks.emit_and_collect("e", {}, timeout=None))

    done, _ = await asyncio.wait([collecting], timeout=0.5)
    collecting.cancel()

    assert done == {collecting}


async def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="got -1"):
        await HookRegistry().emit_and_collect("e", {}, timeout=-1)


# -- cancellation ---------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 60])
async def test_cancelling_the_collecting_task_ends_the_round_at_once(timeout: float | None) -> None:
    hooks, started, log = HookRegistry(), asyncio.Event(), []

    async def wait(event: str, data: Any) -> None:
        started.set()
        try:
            await forever(event, data)
        finally:
            log.append("cancelled")

    hooks.register("e", wait)
    hooks.register("e", noting(log, "after"))
    task = asyncio.create_task(hooks.emit_and_collect("e", {}, timeout))

    async with asyncio.timeout(5):
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert log == ["cancelled"]


async def test_a_listener_removed_during_a_round_is_still_asked_in_it() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", lambda event, data: hooks.unregister("doomed"))
    hooks.register("e", noting(log, "doomed"), name="doomed")

    await hooks.emit_and_collect("e", {})
    await hooks.emit_and_collect("e", {})

    assert log == ["doomed"]
