"""What modules offer each other: capabilities and contributions."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator

CHANNEL = "observability.events"


def channel_of(*callbacks: Any) -> ModuleCoordinator:
    """A coordinator with one contributor per callback, named n0, n1, ..."""
    coordinator = ModuleCoordinator()
    for number, callback in enumerate(callbacks):
        coordinator.register_contributor(CHANNEL, f"n{number}", callback)
    return coordinator


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


async def from_afar() -> list[str]:
    return ["async:event"]


# -- capabilities ---------------------------------------------------------------------


def test_a_capability_is_handed_out_as_the_same_object() -> None:
    coordinator = ModuleCoordinator()
    value = {"context_window": 200_000}

    coordinator.register_capability("provider.model_info", value)

    assert coordinator.get_capability("provider.model_info") is value
    assert coordinator.check_capability("provider.model_info")


def test_registering_a_capability_again_replaces_it() -> None:
    coordinator = ModuleCoordinator()

    coordinator.register_capability("session.working_dir", "/old")
    coordinator.register_capability("session.working_dir", "/new")

    assert coordinator.get_capability("session.working_dir") == "/new"


def test_an_unknown_capability_is_none_and_does_not_check() -> None:
    coordinator = ModuleCoordinator()

    assert coordinator.get_capability("unknown") is None
    assert not coordinator.check_capability("unknown")


def test_a_capability_registered_as_none_still_checks() -> None:
    coordinator = ModuleCoordinator()

    coordinator.register_capability("present", None)

    assert coordinator.get_capability("present") is None
    assert coordinator.check_capability("present")


@pytest.mark.parametrize("name", [5, None, b"name"])
def test_the_name_of_a_capability_must_be_a_str(name: Any) -> None:
    with pytest.raises(TypeError, match="must be a str"):
        ModuleCoordinator().register_capability(name, "value")


# -- a channel read as a capability ---------------------------------------------------


def test_a_channel_read_as_a_capability_gives_all_contributions_in_one_list() -> None:
    coordinator = channel_of(lambda: ["event:a1", "event:a2"], lambda: ("event:b1",), lambda: "c")

    assert coordinator.get_capability(CHANNEL) == ["event:a1", "event:a2", "event:b1", "c"]


def test_a_registered_capability_wins_over_the_channel_of_the_same_name() -> None:
    coordinator = channel_of(lambda: ["from the channel"])

    coordinator.register_capability(CHANNEL, None)

    assert coordinator.get_capability(CHANNEL) is None


def test_a_channel_alone_is_no_registered_capability() -> None:
    assert not channel_of(lambda: ["event"]).check_capability(CHANNEL)


def test_a_channel_read_as_a_capability_is_made_anew_each_time() -> None:
    coordinator = channel_of(lambda: ["event"])

    coordinator.get_capability(CHANNEL).append("mine")

    assert coordinator.get_capability(CHANNEL) == ["event"]


def test_only_none_is_left_out_of_a_channel_read_as_a_capability() -> None:
    coordinator = channel_of(lambda: None, lambda: 0, list, lambda: [None], dict)

    assert coordinator.get_capability(CHANNEL) == [0, None, {}]


def test_a_contributor_that_fails_does_not_hide_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    coordinator = channel_of(failing(ValueError("broken")), lambda: ["kept"])

    assert coordinator.get_capability(CHANNEL) == ["kept"]
    assert caplog.messages == [f"Contributor 'n0' on channel '{CHANNEL}' failed: broken"]


async def test_async_contributors_are_left_out_of_a_channel_read_as_a_capability() -> None:
    pending: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
    coordinator = channel_of(from_afar, lambda: ["sync:event"], lambda: pending)

    assert coordinator.get_capability(CHANNEL) == ["sync:event"]


def test_an_interrupt_in_a_contributor_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        channel_of(failing(KeyboardInterrupt())).get_capability(CHANNEL)


# -- contributions --------------------------------------------------------------------


def test_contributors_are_listed_by_channel() -> None:
    def give() -> None:
        """Contributes nothing."""

    coordinator = channel_of(give, give)

    assert coordinator.channels == {
        CHANNEL: [{"name": "n0", "callback": give}, {"name": "n1", "callback": give}]
    }


@pytest.mark.parametrize(("channel", "name"), [(5, "name"), ("channel", 5), (None, "name")])
def test_a_contributor_needs_names_that_are_str(channel: Any, name: Any) -> None:
    coordinator = ModuleCoordinator()

    with pytest.raises(TypeError, match="must be a str"):
        coordinator.register_contributor(channel, name, list)
    assert coordinator.channels == {}


async def test_contributions_are_collected_in_order_sync_or_async() -> None:
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    done.set_result("future")
    coordinator = channel_of(lambda: ["sync"], from_afar, lambda: from_afar(), lambda: done)

    collected = await coordinator.collect_contributions(CHANNEL)

    assert collected == [["sync"], ["async:event"], ["async:event"], "future"]


async def test_only_none_is_left_out_of_a_collection() -> None:
    async def nothing() -> None:
        """Contributes nothing, later."""

    coordinator = channel_of(lambda: None, nothing, lambda: 0, lambda: "", list, dict)

    assert await coordinator.collect_contributions(CHANNEL) == [0, "", [], {}]


async def test_an_unknown_channel_gives_nothing() -> None:
    assert await ModuleCoordinator().collect_contributions("unknown") == []


async def test_a_contributor_that_fails_is_logged_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail_later() -> None:
        raise ValueError("broken later")

    coordinator = channel_of(
        failing(ValueError("broken")), fail_later, failing(KeyError()), None, lambda: "kept"
    )

    assert await coordinator.collect_contributions(CHANNEL) == ["kept"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 4
    assert [message.rsplit("failed: ")[1] for message in caplog.messages[:3]] == [
        "broken",
        "broken later",
        "KeyError",
    ]
    assert "'n3'" in caplog.messages[3]


async def test_a_contributor_that_raises_cancelled_ends_the_collection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    coordinator = channel_of(lambda: 1, failing(asyncio.CancelledError()), lambda: 2)

    assert await coordinator.collect_contributions(CHANNEL) == [1]
    assert caplog.messages == [f"Contributor 'n1' on channel '{CHANNEL}' failed: CancelledError"]


async def test_cancelling_the_collecting_task_goes_through() -> None:
    started = asyncio.Event()

    async def wait_forever() -> None:
        started.set()
        await asyncio.Event().wait()

    collecting = asyncio.create_task(channel_of(wait_forever).collect_contributions(CHANNEL))
    async with asyncio.timeout(5):
        await started.wait()
        collecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await collecting


async def test_an_interrupt_in_a_contributor_ends_the_collection_at_once() -> None:
    later: list[int] = []
    coordinator = channel_of(failing(SystemExit(3)), lambda: later.append(1))

    with pytest.raises(SystemExit):
        await coordinator.collect_contributions(CHANNEL)
    assert later == []


async def test_a_contributor_that_joins_during_a_collection_is_asked_as_well() -> None:
    coordinator = ModuleCoordinator()

    def bring_a_friend() -> str:
        coordinator.register_contributor(CHANNEL, "friend", lambda: "friend")
        return "first"

    coordinator.register_contributor(CHANNEL, "first", bring_a_friend)

    assert await coordinator.collect_contributions(CHANNEL) == ["first", "friend"]
