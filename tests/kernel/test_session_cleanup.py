"""Ending a session: who is told, what runs, what is left."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock

import pytest
from amplifier_core import AmplifierSession
from helpers_modules import (
    Loop,
    MemoryLoader,
    Named,
    Tool,
    entries,
    failing,
    forever,
    listen,
    mounts,
    plan,
    session_of,
    until,
)


class Closing(Named):
    """Remembers which of its methods were called."""

    def __init__(self, name: str = "closing") -> None:
        super().__init__(name)
        self.calls: list[str] = []


class WithCleanup(Closing):
    async def cleanup(self) -> None:
        self.calls.append("cleanup")

    def close(self) -> None:
        self.calls.append("close")


class WithClose(Closing):
    def close(self) -> None:
        self.calls.append("close")


class CallableTool(WithClose):
    def __call__(self, *arguments: Any) -> None:
        self.calls.append("called")


def _returning(returned: Any, mounted: Any = None) -> Any:
    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        if mounted is not None:
            await coordinator.mount("tools", mounted, name="tool")
        return returned

    return mount


async def _ended_with(tool: Any) -> AmplifierSession:
    """A session with one tool module, brought up and ended."""
    session = session_of(plan(tools=entries("tool-x")), {"tool-x": tool})
    async with session:
        assert session.status.failed_modules is None
    return session


# -- order ----------------------------------------------------------------------------


async def test_hooks_hear_the_end_before_the_cleanups_run_newest_first() -> None:
    log: list[str] = []
    session = session_of(session_id="id")
    await session.initialize()

    def hear(event: str, data: dict[str, Any]) -> None:
        log.append(f"{event} {data['status']}")

    session.coordinator.hooks.register("session:end", hear)
    session.coordinator.register_cleanup(lambda: log.append("first"))
    session.coordinator.register_cleanup(lambda: log.append("second"))

    assert await session.cleanup() is None

    assert log == ["session:end running", "second", "first"]
    assert not session.initialized
    assert session.status.ended_at is not None


async def test_a_session_that_was_never_initialized_ends_silently_but_runs_its_cleanups() -> None:
    log: list[str] = []
    session = session_of()
    heard = listen(session)
    session.coordinator.register_cleanup(lambda: log.append("ran"))

    await session.cleanup()

    assert (heard, log) == ([], ["ran"])


@pytest.mark.parametrize("failed", [False, True])
async def test_the_end_carries_how_the_last_turn_went(failed: bool) -> None:
    loop = Loop(answer=5 if failed else "fine")
    session = session_of(modules={"loop": mounts("orchestrator", loop)})
    heard = listen(session, "session:end")
    await asyncio.gather(session.execute("hello"), return_exceptions=True)

    await session.cleanup()

    assert [data["status"] for _, data in heard] == ["failed" if failed else "completed"]


async def test_cleanups_still_see_the_modules_of_the_session() -> None:
    seen: list[Any] = []
    session = session_of()
    await session.initialize()
    session.coordinator.register_cleanup(
        lambda: seen.append((session.initialized, session.coordinator.get("orchestrator")))
    )

    await session.cleanup()

    assert seen[0][0] is True
    assert isinstance(seen[0][1], Loop)


# -- what mount() may return ----------------------------------------------------------


async def test_a_returned_function_sync_or_async_is_called_at_the_end() -> None:
    log: list[str] = []

    async def asynchronous() -> None:
        log.append("async")

    def returning_a_coroutine() -> Any:
        return asynchronous()

    for cleanup in (lambda: log.append("sync"), asynchronous, returning_a_coroutine):
        await _ended_with(_returning(cleanup))

    assert log == ["sync", "async", "async"]


@pytest.mark.parametrize(
    ("kind", "called"), [(WithCleanup, ["cleanup"]), (WithClose, ["close"]), (Closing, [])]
)
@pytest.mark.parametrize("is_mounted", [True, False])
async def test_a_returned_instance_is_cleaned_up_by_its_own_method(
    kind: type[Closing], called: list[str], is_mounted: bool
) -> None:
    instance = kind()

    await _ended_with(_returning(instance, instance if is_mounted else None))

    assert instance.calls == called


async def test_a_mounted_instance_that_can_be_called_is_closed_and_not_called() -> None:
    instance = CallableTool()

    await _ended_with(_returning(instance, instance))

    assert instance.calls == ["close"]


async def test_a_hook_object_that_can_be_called_is_closed_and_not_called() -> None:
    hook = CallableTool()

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        coordinator.hooks.register("some:event", hook)
        return hook

    await _ended_with(mount)

    assert hook.calls == ["close"]


async def test_a_callable_that_is_not_mounted_is_the_cleanup_itself() -> None:
    cleanup = CallableTool()

    await _ended_with(_returning(cleanup, Tool()))

    assert cleanup.calls == ["called"]


async def test_a_mock_given_as_cleanup_is_awaited_once() -> None:
    cleanup = AsyncMock()

    await _ended_with(_returning(cleanup))

    cleanup.assert_awaited_once_with()
    cleanup.cleanup.assert_not_called()


@pytest.mark.parametrize("garbage", [42, "text", ["list"], object(), True])
async def test_anything_else_that_mount_returns_is_ignored_with_a_warning(
    garbage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await _ended_with(_returning(garbage, Tool()))

    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "mount() of 'tool-x' (tools[0]) returned" in warning.getMessage()
    assert type(garbage).__name__ in warning.getMessage()


async def test_returning_what_was_mounted_is_no_reason_to_warn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tool = Tool()

    await _ended_with(_returning(tool, tool))

    assert caplog.records == []


# -- what is left ---------------------------------------------------------------------


async def test_cleanup_takes_out_what_the_modules_put_in_and_nothing_else() -> None:
    app_tool = Tool("app")

    async def busy(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Tool("busy"))
        coordinator.hooks.register("some:event", lambda event, data: None, name="busy")
        coordinator.register_capability("busy", 1)
        coordinator.register_contributor("channel", "busy", list)

    session = session_of(plan(tools=entries("tool-busy")), {"tool-busy": busy})
    coordinator = session.coordinator
    await coordinator.mount("tools", app_tool)
    coordinator.register_capability("app", 2)
    coordinator.hooks.register("some:event", lambda event, data: None, name="app")
    await session.initialize()
    assert coordinator.hooks.list_handlers("some:event") == {"some:event": ["app", "busy"]}

    await session.cleanup()

    assert coordinator.get("tools") == {"app": app_tool}
    assert coordinator.get("orchestrator") is coordinator.get("context") is None
    assert coordinator.hooks.list_handlers() == {"some:event": ["app"]}
    assert coordinator.to_dict()["capabilities"] == ["app"]
    assert coordinator.channels == {}


async def test_a_session_can_be_brought_up_again_and_starts_only_once() -> None:
    session = session_of(parent_id="parent")
    heard = listen(session)

    for _ in range(2):
        await session.execute("hello")
        await session.cleanup()

    assert [event for event, _ in heard] == [
        "session:fork", "session:start", "session:end", "session:fork", "session:end",
    ]  # fmt: skip


async def test_a_second_cleanup_runs_nothing() -> None:
    log: list[str] = []
    session = session_of()
    heard = listen(session, "session:end")
    await session.initialize()
    session.coordinator.register_cleanup(lambda: log.append("ran"))

    await session.cleanup()
    await session.cleanup()

    loader: Any = session.loader
    assert (log, len(heard), loader.cleanups) == (["ran"], 1, 1)


async def test_concurrent_cleanups_run_everything_once() -> None:
    log: list[str] = []
    session = session_of()
    heard = listen(session, "session:end")
    await session.initialize()

    async def slow() -> None:
        await asyncio.sleep(0)
        log.append("ran")

    session.coordinator.register_cleanup(slow)
    async with asyncio.timeout(5):
        await asyncio.gather(session.cleanup(), session.cleanup())

    loader: Any = session.loader
    assert (log, len(heard), loader.cleanups) == (["ran"], 1, 1)


async def test_cleanup_waits_for_a_running_initialize_and_undoes_it() -> None:
    gate = asyncio.Event()
    mounted: list[str] = []

    async def slow(coordinator: Any, config: dict[str, Any]) -> None:
        mounted.append("tool")
        await gate.wait()
        await coordinator.mount("tools", Tool())

    session = session_of(plan(tools=entries("tool-slow")), {"tool-slow": slow})
    bringing_up = asyncio.create_task(session.initialize())
    await until(lambda: mounted)
    ending = asyncio.create_task(session.cleanup())
    await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(5):
        await asyncio.gather(bringing_up, ending)

    assert not session.initialized
    assert session.coordinator.get("tools") == {}
    assert session.coordinator.get("orchestrator") is None


async def test_a_module_that_ends_the_session_while_being_mounted_does_not_hang_it() -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.session.cleanup()

    session = session_of(plan(tools=entries("tool-x")), {"tool-x": mount})

    async with asyncio.timeout(5):
        await session.initialize()


# -- failures -------------------------------------------------------------------------


async def test_a_failing_cleanup_is_logged_and_the_others_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []
    session = session_of()
    await session.initialize()

    async def broken() -> None:
        raise ValueError("broken")

    session.coordinator.register_cleanup(lambda: log.append("older"))
    session.coordinator.register_cleanup(broken)

    await session.cleanup()

    assert log == ["older"]
    assert "Error during cleanup: ValueError: broken" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_what_must_not_be_swallowed_is_raised_when_all_has_run(error: BaseException) -> None:
    log: list[str] = []
    session = session_of()

    async def life() -> None:
        await session.initialize()
        session.coordinator.register_cleanup(lambda: log.append("older"))

        def interrupted() -> None:
            raise error

        session.coordinator.register_cleanup(interrupted)
        await session.cleanup()

    with pytest.raises(type(error)):
        asyncio.run(life())

    loader: Any = session.loader
    assert (log, loader.cleanups, session.initialized) == (["older"], 1, False)
    assert session.coordinator.get("orchestrator") is None


async def test_a_cleanup_that_is_cancelled_half_way_still_does_everything() -> None:
    log: list[str] = []
    reached = asyncio.Event()
    session = session_of()
    await session.initialize()

    async def hanging() -> None:
        reached.set()
        await forever()

    session.coordinator.register_cleanup(lambda: log.append("older"))
    session.coordinator.register_cleanup(hanging)
    ending = asyncio.create_task(session.cleanup())
    async with asyncio.timeout(5):
        await reached.wait()
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending

    assert log == ["older"]
    assert session.coordinator.get("orchestrator") is None


async def test_a_hook_that_is_interrupted_by_the_end_does_not_keep_the_rest_from_running() -> None:
    log: list[str] = []
    session = session_of()
    await session.initialize()

    def interrupt(event: str, data: dict[str, Any]) -> None:
        raise SystemExit(3)

    session.coordinator.hooks.register("session:end", interrupt)
    session.coordinator.register_cleanup(lambda: log.append("ran"))

    with pytest.raises(SystemExit):
        await session.cleanup()

    assert log == ["ran"]
    assert not session.initialized


# -- the loader -----------------------------------------------------------------------


class BareLoader(MemoryLoader):
    cleanup = None  # type: ignore[assignment]


class BrokenLoader(MemoryLoader):
    def cleanup(self) -> None:
        super().cleanup()
        raise OSError("path is gone")


class AsyncLoader(MemoryLoader):
    async def cleanup(self) -> None:  # type: ignore[override]
        super().cleanup()


@pytest.mark.parametrize(
    ("kind", "cleaned"), [(MemoryLoader, 1), (BareLoader, 0), (BrokenLoader, 1), (AsyncLoader, 1)]
)
async def test_the_loader_is_cleaned_up_last_whatever_it_is(
    kind: type[MemoryLoader], cleaned: int
) -> None:
    seen: list[int] = []
    loader: Any = kind()
    session = AmplifierSession(plan(), loader=loader)
    async with session:
        session.coordinator.register_cleanup(lambda: seen.append(loader.cleanups))

    assert (seen, loader.cleanups) == ([0], cleaned)


async def test_a_session_that_never_had_a_loader_ends_without_one() -> None:
    session = AmplifierSession(plan())

    await session.cleanup()

    assert session.coordinator.loader is None


# -- as a context manager -------------------------------------------------------------


async def test_leaving_the_block_ends_the_session_and_lets_errors_through() -> None:
    session = session_of()
    inside: list[Any] = []

    async def body() -> None:
        async with session as entered:
            inside.append((entered, session.initialized))
            raise KeyError("body")

    with pytest.raises(KeyError):
        await body()

    assert inside == [(session, True)]
    assert not session.initialized


async def test_a_block_that_could_not_be_entered_still_runs_the_cleanups() -> None:
    log: list[str] = []
    session = session_of(modules={"loop": failing(ValueError("broken"))})
    session.coordinator.register_cleanup(lambda: log.append("app"))

    with pytest.raises(RuntimeError, match="broken"):
        async with session:
            raise AssertionError("unreachable")

    loader: Any = session.loader
    assert (log, loader.cleanups) == (["app"], 1)


async def test_the_exit_may_be_called_without_an_entry() -> None:
    assert await session_of().__aexit__(None, None, None) is None
