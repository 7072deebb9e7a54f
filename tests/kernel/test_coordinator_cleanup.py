"""How a coordinator ends things: cleanups, a wish to stop, and a new turn's budget."""

import asyncio
import logging
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator
from amplifier_core.events import CANCEL_REQUESTED
from helpers_coordinator import session_with


class Log:
    """Cleanups that note when they ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def sync(self, name: str) -> Callable[[], None]:
        return lambda: self.ran.append(name)

    def late(self, name: str) -> Callable[[], Any]:
        async def cleanup() -> None:
            await asyncio.sleep(0)
            self.ran.append(name)

        return cleanup

    def failing(self, name: str, error: BaseException) -> Callable[[], None]:
        def cleanup() -> None:
            self.ran.append(name)
            raise error

        return cleanup


def registered(*cleanups: Any) -> ModuleCoordinator:
    coordinator = ModuleCoordinator()
    for cleanup in cleanups:
        coordinator.register_cleanup(cleanup)
    return coordinator


# -- cleanups -------------------------------------------------------------------------


async def test_cleanups_run_newest_first_sync_or_async() -> None:
    log = Log()
    coordinator = registered(log.sync("a"), log.late("b"), lambda: log.late("c")(), log.sync("d"))

    await coordinator.cleanup()

    assert log.ran == ["d", "c", "b", "a"]


async def test_a_future_handed_out_by_a_cleanup_is_awaited() -> None:
    pending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    finishing = asyncio.create_task(registered(lambda: pending).cleanup())

    await asyncio.sleep(0)
    assert not finishing.done()

    pending.set_result(None)
    async with asyncio.timeout(5):
        await finishing


def test_what_cannot_be_called_is_not_registered() -> None:
    assert registered(None, 5, "text", object())._cleanup_fns == []


async def test_what_was_put_among_the_cleanups_by_hand_and_cannot_be_called_is_passed_over() -> (
    None
):
    log = Log()
    coordinator = registered(log.sync("a"))
    coordinator._cleanup_fns.extend([None, 5])

    await coordinator.cleanup()

    assert log.ran == ["a"]


async def test_a_second_cleanup_runs_nothing_again() -> None:
    log = Log()
    coordinator = registered(log.sync("a"))
    cleanups = coordinator._cleanup_fns

    await coordinator.cleanup()
    await coordinator.cleanup()

    assert log.ran == ["a"]
    assert coordinator._cleanup_fns is cleanups
    assert cleanups == []


async def test_a_cleanup_registered_during_cleanup_runs_too() -> None:
    log = Log()
    coordinator = ModuleCoordinator()
    coordinator.register_cleanup(log.sync("first registered"))
    coordinator.register_cleanup(lambda: coordinator.register_cleanup(log.sync("late")))

    await coordinator.cleanup()

    assert log.ran == ["late", "first registered"]


async def test_a_cleanup_that_fails_is_logged_and_the_others_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    coordinator = registered(log.sync("a"), log.failing("b", ValueError("stuck")), log.sync("c"))

    await coordinator.cleanup()

    assert log.ran == ["c", "b", "a"]
    assert caplog.messages == ["Error during cleanup: ValueError: stuck"]
    assert caplog.records[0].levelno == logging.ERROR


@pytest.mark.parametrize(
    "fatal", [KeyboardInterrupt("stop"), SystemExit(3), asyncio.CancelledError("stop")]
)
async def test_what_must_not_be_swallowed_is_raised_when_all_cleanups_have_run(
    fatal: BaseException,
) -> None:
    log = Log()
    coordinator = registered(
        log.sync("a"), log.failing("b", GeneratorExit()), log.failing("c", fatal), log.late("d")
    )

    with pytest.raises(type(fatal)) as raised:
        await coordinator.cleanup()

    assert raised.value is fatal
    assert log.ran == ["d", "c", "b", "a"]
    assert coordinator._cleanup_fns == []


async def test_cancelling_a_cleanup_lets_the_remaining_ones_run_first() -> None:
    log = Log()
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    cleaning = asyncio.create_task(registered(log.late("last"), hang).cleanup())
    async with asyncio.timeout(5):
        await started.wait()
        cleaning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cleaning

    assert log.ran == ["last"]


async def test_cleaning_up_a_coordinator_empties_no_slot_and_emits_nothing() -> None:
    seen: list[str] = []
    coordinator = ModuleCoordinator()
    coordinator.hooks.register("*", lambda event, data: seen.append(event))
    coordinator.register_capability("kept", 1)
    await coordinator.mount("tools", "module", name="tool")

    await coordinator.cleanup()

    assert seen == []
    assert coordinator.get("tools") == {"tool": "module"}
    assert coordinator.check_capability("kept")


class OneModuleLoader:
    """Mounts what `mounts` says for a module id."""

    def __init__(self, mounts: dict[str, Any]) -> None:
        self.mounts = mounts

    async def load(self, module_id: str, config: Any = None, **hints: Any) -> Any:
        return self.mounts[module_id]

    def get_on_session_ready_queue(self) -> list[Any]:
        return []

    def clear_on_session_ready_queue(self) -> None:
        """Nothing is ever queued."""

    def cleanup(self) -> None:
        """Nothing is held."""


async def test_ending_a_session_unmounts_what_its_modules_mounted_and_nothing_else() -> None:
    async def mount_loop(coordinator: ModuleCoordinator) -> None:
        await coordinator.mount("orchestrator", "loop")

    async def mount_context(coordinator: ModuleCoordinator) -> None:
        await coordinator.mount("context", "memory")
        coordinator.register_capability("memory", "capability")
        coordinator.register_contributor("names", "memory", lambda: ["memory"])

    loader = OneModuleLoader({"loop": mount_loop, "memory": mount_context})
    config = {"session": {"orchestrator": "loop", "context": "memory"}}
    session = AmplifierSession(config, loader=loader)
    coordinator = session.coordinator
    await coordinator.mount("tools", "the app's own", name="tool")
    await session.initialize()
    assert coordinator.get("context") == "memory"

    await session.cleanup()

    assert coordinator.get("orchestrator") is None
    assert coordinator.get("context") is None
    assert not coordinator.check_capability("memory")
    assert coordinator.channels == {}
    assert coordinator.get("tools") == {"tool": "the app's own"}


# -- a wish to stop -------------------------------------------------------------------


async def test_a_request_to_cancel_is_graceful_unless_it_is_immediate() -> None:
    coordinator = ModuleCoordinator()

    await coordinator.request_cancel()
    assert coordinator.cancellation.state == "graceful"

    await coordinator.request_cancel(True)
    assert coordinator.cancellation.state == "immediate"

    await coordinator.request_cancel(immediate=False)
    assert coordinator.cancellation.state == "immediate"


async def test_a_request_to_cancel_only_sets_the_token() -> None:
    seen: list[str] = []
    coordinator = ModuleCoordinator()
    coordinator.hooks.register(CANCEL_REQUESTED, lambda event, data: seen.append(event))
    coordinator.cancellation.on_cancel(lambda: seen.append("callback"))

    await coordinator.request_cancel(immediate=True)

    assert seen == []


# -- limits ---------------------------------------------------------------------------

LIMITS = ["injection_budget_per_turn", "injection_size_limit"]


def limit_in(config: Any, key: str) -> int | None:
    value: int | None = getattr(ModuleCoordinator(session_with(config)), key)
    return value


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("config", [{}, {"session": None}, {"session": {}}, None, [], object()])
def test_without_a_limit_in_the_plan_there_is_none(key: str, config: Any) -> None:
    assert limit_in(config, key) is None


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("limit", [0, 5, 2**70])
def test_a_limit_is_read_from_the_session_section(key: str, limit: int) -> None:
    assert limit_in({"session": {key: limit}}, key) == limit
    assert limit_in(MappingProxyType({"session": MappingProxyType({key: limit})}), key) == limit


@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_changed_later_counts_at_once(key: str) -> None:
    config: dict[str, Any] = {"session": {key: 5}}
    coordinator = ModuleCoordinator(session_with(config))

    config["session"][key] = 7

    assert getattr(coordinator, key) == 7


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("limit", [1.5, "5", []])
def test_a_limit_must_be_an_int(key: str, limit: Any) -> None:
    with pytest.raises(TypeError, match=f"session.{key} must be an int"):
        limit_in({"session": {key: limit}}, key)


@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_must_not_be_negative(key: str) -> None:
    with pytest.raises(OverflowError, match=f"session.{key} must not be negative, got -1"):
        limit_in({"session": {key: -1}}, key)


def test_a_new_turn_begins_with_an_unused_budget_and_the_same_wish_to_stop() -> None:
    coordinator = ModuleCoordinator()
    coordinator.cancellation.request_graceful()
    coordinator._current_turn_injections = 2**40
    assert coordinator._current_turn_injections == 2**40

    coordinator.reset_turn()

    assert coordinator._current_turn_injections == 0
    assert coordinator.cancellation.is_graceful


def test_the_injection_counter_is_a_whole_number_from_zero_on() -> None:
    coordinator = ModuleCoordinator()
    coordinator._current_turn_injections = 3

    with pytest.raises(OverflowError, match="must not be negative, got -1"):
        coordinator._current_turn_injections = -1
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError):
            coordinator._current_turn_injections = wrong
    assert coordinator._current_turn_injections == 3
