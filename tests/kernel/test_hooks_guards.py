"""When a handler fails: observers are skipped, guards deny, and cancellation goes through."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from amplifier_core import HookRegistry, HookResult
from helpers_hooks import answering, noting, raising

Handler = Callable[[str, Any], Any]


async def forever(event: str, data: Any) -> None:
    await asyncio.Event().wait()


def later(error: BaseException) -> Handler:
    async def handler(event: str, data: Any) -> None:
        await asyncio.sleep(0)
        raise error

    return handler


async def emit_past(
    handler: Handler, *, guard: bool, timeout: float | None = None
) -> tuple[HookResult, list[str]]:
    """The result of an event with this handler, and which others ran."""
    hooks, log = HookRegistry(), []
    hooks.register("e", noting(log, "before"), -1)
    hooks.register("e", handler, 0, "lock", guard=guard, timeout=timeout)
    hooks.register("e", noting(log, "after"), 1)
    async with asyncio.timeout(5):
        return await hooks.emit("e", {"a": 1}), log


FAILING = [
    pytest.param(raising(ValueError("broken")), None, "ValueError: broken", id="sync"),
    pytest.param(later(ValueError("broken")), None, "ValueError: broken", id="async"),
    pytest.param(later(ValueError("broken")), 5, "ValueError: broken", id="async with limit"),
    pytest.param(raising(StopIteration("x")), None, "StopIteration: x", id="stop iteration"),
    pytest.param(raising(asyncio.CancelledError()), None, "CancelledError", id="cancel"),
    pytest.param(later(asyncio.CancelledError()), None, "CancelledError", id="cancel later"),
    pytest.param(later(asyncio.CancelledError()), 5, "CancelledError", id="cancel with limit"),
    pytest.param(raising(TimeoutError("remote")), None, "TimeoutError: remote", id="own timeout"),
    pytest.param(forever, 0.001, "no answer within 0.001 s", id="limit"),
    pytest.param(lambda event: None, None, "TypeError", id="wrong signature"),
]


@pytest.mark.parametrize(("handler", "timeout", "what"), FAILING)
async def test_an_observer_that_fails_is_logged_and_skipped(
    handler: Handler, timeout: float | None, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    result, log = await emit_past(handler, guard=False, timeout=timeout)

    assert (result.action, result.reason) == ("continue", None)
    assert (result.data or {})["a"] == 1
    assert log == ["before", "after"]
    (record,) = caplog.records
    assert record.name == "amplifier_core.hooks"
    assert "for event 'e' (handler 'lock')" in record.message


@pytest.mark.parametrize(("handler", "timeout", "what"), FAILING)
async def test_a_guard_that_fails_denies_and_the_reason_names_it(
    handler: Handler, timeout: float | None, what: str
) -> None:
    result, log = await emit_past(handler, guard=True, timeout=timeout)

    assert result.action == "deny"
    assert "'lock'" in str(result.reason)
    assert what in str(result.reason)
    assert log == ["before"]


async def test_errors_are_logged_with_their_traceback_and_time_limits_as_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await emit_past(raising(ValueError("broken")), guard=False)
    await emit_past(forever, guard=False, timeout=0.001)

    failed, expired = caplog.records
    assert (failed.levelname, expired.levelname) == ("ERROR", "WARNING")
    assert failed.message.endswith("ValueError: broken")
    assert failed.exc_info is not None
    assert expired.message == "Hook handler timed out for event 'e' (handler 'lock')"


@pytest.mark.parametrize("answer", ["yes", {"action": "approve"}, 5, HookResult])
async def test_a_guard_that_answers_nonsense_denies(answer: object) -> None:
    result, log = await emit_past(answering(answer), guard=True)

    assert (result.action, log) == ("deny", ["before"])
    assert str(result.reason).endswith("Hook handler returned invalid response")


async def test_the_denial_of_a_guard_that_answers_nonsense_names_it() -> None:
    result, _ = await emit_past(answering("yes"), guard=True)

    assert "'lock'" in str(result.reason)


@pytest.mark.parametrize("answer", [None, HookResult(), {"action": "continue"}])
async def test_a_guard_that_answers_well_is_like_any_handler(answer: object) -> None:
    result, log = await emit_past(answering(answer), guard=True, timeout=5)

    assert (result.action, log) == ("continue", ["before", "after"])


async def test_the_denial_of_a_failed_guard_keeps_what_others_said() -> None:
    hooks = HookRegistry()
    hooks.register("e", answering(HookResult(user_message="hello")), name="friend")
    hooks.register("e", answering({"action": "inject_context", "context_injection": "x"}))
    hooks.register("e", raising(ValueError("broken")), guard=True)

    result = await hooks.emit("e", {})

    assert result.action == "deny"
    assert [message.text for message in result.user_messages] == ["hello"]
    assert [item.content for item in result.context_injections] == ["x"]


async def test_a_handler_that_exceeds_its_limit_is_cancelled() -> None:
    log: list[str] = []

    async def stubborn(event: str, data: Any) -> None:
        try:
            await forever(event, data)
        finally:
            log.append("cancelled")

    await emit_past(stubborn, guard=False, timeout=0.001)

    assert log == ["cancelled"]


async def test_a_handler_that_answers_within_its_limit_is_heard() -> None:
    async def handler(event: str, data: Any) -> HookResult:
        await asyncio.sleep(0)
        return HookResult(action="deny", reason="in time")

    result, _ = await emit_past(handler, guard=False, timeout=5)

    assert result.reason == "in time"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(("guard", "action"), [(False, "continue"), (True, "deny")])
async def test_an_error_without_a_printable_text_is_an_error_like_others(
    guard: bool, action: str
) -> None:
    result, _ = await emit_past(raising(Unprintable()), guard=guard)

    assert result.action == action


# -- what nobody may swallow ----------------------------------------------------------


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("make", [raising, later])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_ctrl_c_and_exit_go_through(
    error: type[BaseException], make: Callable[[BaseException], Handler], guard: bool
) -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", make(error()), guard=guard)
    hooks.register("e", noting(log, "after"))

    with pytest.raises(error):
        await hooks.emit("e", {})
    with pytest.raises(error):
        await hooks.emit_and_collect("e", {})
    assert log == []


class Waiting:
    """A handler that waits until its task is cancelled, and tells how it ended."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.saw: list[str] = []

    async def __call__(self, event: str, data: Any) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            self.saw.append(type(error).__name__)
            raise


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("timeout", [None, 60])
async def test_cancelling_the_emitting_task_reaches_the_running_handler_and_ends_the_run(
    guard: bool, timeout: float | None
) -> None:
    hooks, waiting, log = HookRegistry(), Waiting(), []
    hooks.register("e", waiting, guard=guard, timeout=timeout)
    hooks.register("e", noting(log, "after"))
    task = asyncio.create_task(hooks.emit("e", {}))

    async with asyncio.timeout(5):
        await waiting.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert task.cancelled()
    assert (waiting.saw, log) == (["CancelledError"], [])


async def test_a_time_limit_around_emit_ends_it() -> None:
    hooks, waiting, log = HookRegistry(), Waiting(), []
    hooks.register("e", waiting, guard=True)
    hooks.register("e", noting(log, "after"))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await hooks.emit("e", {})

    assert (waiting.saw, log) == (["CancelledError"], [])


async def test_cancelling_before_the_emit_begins_runs_no_handler() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", noting(log, "x"))
    task = asyncio.create_task(hooks.emit("e", {}))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

    assert log == []


async def test_a_sync_handler_may_cancel_the_emitting_task() -> None:
    hooks, waiting, log = HookRegistry(), Waiting(), []

    def cancel_the_task(event: str, data: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    hooks.register("e", cancel_the_task)
    hooks.register("e", waiting)
    hooks.register("e", noting(log, "after"))

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(hooks.emit("e", {}))

    assert (waiting.saw, log) == (["CancelledError"], [])


async def test_awaiting_something_cancelled_elsewhere_is_a_failure_of_the_handler_alone() -> None:
    async def wait_for_the_dead(event: str, data: Any) -> None:
        dead = asyncio.create_task(forever(event, data))
        asyncio.get_running_loop().call_soon(dead.cancel)
        await dead

    result, log = await emit_past(wait_for_the_dead, guard=False)

    assert (result.action, log) == ("continue", ["before", "after"])
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def _swallow(error: BaseException) -> None:
    pass


async def _replace(error: BaseException) -> None:
    raise ValueError("while cleaning up") from error


@pytest.mark.parametrize("end", [_swallow, _replace])
async def test_no_handler_can_keep_its_caller_from_being_cancelled(end: Any) -> None:
    hooks, started, log = HookRegistry(), asyncio.Event(), []

    async def careless(event: str, data: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            await end(error)

    hooks.register("e", careless)
    hooks.register("e", noting(log, "after"))
    task = asyncio.create_task(hooks.emit("e", {}))

    async with asyncio.timeout(5):
        await started.wait()
        task.cancel()
        await asyncio.wait([task])

    assert (task.cancelled(), log) == (True, [])
