"""Children of a session: what they inherit, how they stop, and how they are let go."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from helpers_modules import (
    Loop,
    MemoryLoader,
    listen,
    mounts,
    plan,
    session_of,
    until,
)


def _child(parent: AmplifierSession, modules: Any = None, **options: Any) -> AmplifierSession:
    return parent.fork(loader=MemoryLoader(modules), **options)


# -- what a child is ------------------------------------------------------------------


def test_a_child_knows_its_parent_and_is_not_yet_initialized() -> None:
    parent = session_of(session_id="parent")

    child = parent.fork()

    assert child.parent_id == child.coordinator.parent_id == "parent"
    assert child.session_id not in ("", "parent")
    assert not child.initialized
    assert not child.is_resumed


def test_a_child_shares_the_plan_and_the_systems_and_nothing_else() -> None:
    approval: Any = object()
    display: Any = object()
    parent = session_of(approval_system=approval, display_system=display)

    child = parent.fork(session_id="child")

    assert child.session_id == "child"
    assert child.config is parent.config
    assert child.coordinator.approval_system is approval
    assert child.coordinator.display_system is display
    assert child.coordinator.hooks is not parent.coordinator.hooks
    assert child.coordinator.session_state is not parent.coordinator.session_state
    assert child.status is not parent.status


def test_a_child_may_have_a_plan_and_systems_of_its_own() -> None:
    config, loader = plan(), MemoryLoader()
    parent = session_of(approval_system=object(), display_system=object())

    child = parent.fork(
        config, approval_system=None, display_system=None, loader=loader, is_resumed=True
    )

    assert child.config is config
    assert child.coordinator.approval_system is child.coordinator.display_system is None
    assert child.loader is loader
    assert child.is_resumed


def test_an_empty_plan_for_a_child_is_refused_and_does_not_mean_that_of_the_parent() -> None:
    with pytest.raises(ValueError, match="Configuration is required"):
        session_of().fork({})


async def test_a_child_mounts_modules_of_its_own() -> None:
    parent = session_of()
    child = _child(parent)

    assert await asyncio.gather(parent.execute("a"), child.execute("b")) == ["done", "done"]

    loops = [session.coordinator.get("orchestrator") for session in (parent, child)]
    assert [loop.calls[0]["prompt"] for loop in loops] == ["a", "b"]


async def test_events_of_a_child_are_not_heard_by_the_parent() -> None:
    parent = session_of()
    heard = listen(parent)

    await _child(parent).execute("hello")

    assert heard == []


# -- the event ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "extra"),
    [
        ({}, {}),
        ({"metadata": {}}, {}),
        ({"metadata": {"task": "x"}}, {"metadata": {"task": "x"}}),
    ],
)
async def test_a_child_that_comes_up_says_whose_it_is(
    session: dict[str, Any], extra: dict[str, Any]
) -> None:
    child = session_of(plan(session=session), session_id="child", parent_id="parent")
    heard = listen(child)

    await child.initialize()

    ids = {"parent": "parent", "child_id": "child", "session_id": "child", "parent_id": "parent"}
    assert heard == [("session:fork", {**ids, **extra})]


async def test_a_child_shows_its_plan_when_asked_with_the_secrets_masked() -> None:
    config = plan(session={"raw": True, "metadata": {"task": "x"}}, extra={"token": "t"})
    child = session_of(config, parent_id="parent")
    heard = listen(child, "session:fork")

    await child.initialize()

    assert heard[0][1]["raw"] == {**config, "extra": {"token": "[REDACTED]"}}
    assert heard[0][1]["metadata"] == {"task": "x"}


@pytest.mark.parametrize("parent_id", [None, ""])
async def test_a_session_without_a_parent_announces_no_fork(parent_id: str | None) -> None:
    session = session_of(parent_id=parent_id)
    heard = listen(session)

    await session.initialize()

    assert heard == []


# -- stopping -------------------------------------------------------------------------


@pytest.mark.parametrize("immediate", [False, True])
async def test_cancelling_the_parent_cancels_its_children_and_theirs(immediate: bool) -> None:
    parent = session_of()
    child = parent.fork()
    grandchild = child.fork()

    await parent.coordinator.request_cancel(immediate)

    states = [each.coordinator.cancellation.state for each in (parent, child, grandchild)]
    assert states == ["immediate" if immediate else "graceful"] * 3


async def test_a_child_made_after_the_cancel_is_cancelled_too() -> None:
    parent = session_of()
    await parent.coordinator.request_cancel()

    assert parent.fork().coordinator.cancellation.is_graceful


async def test_cancelling_a_child_leaves_parent_and_siblings_alone() -> None:
    parent = session_of()
    child, sibling = parent.fork(), parent.fork()

    await child.coordinator.request_cancel()

    assert not parent.coordinator.cancellation.is_cancelled
    assert not sibling.coordinator.cancellation.is_cancelled


async def test_a_running_child_sees_that_its_parent_was_cancelled() -> None:
    async def run(coordinator: Any, **_: Any) -> str:
        await until(lambda: coordinator.cancellation.is_cancelled)
        return "stopped"

    parent = session_of()
    child = _child(parent, {"loop": mounts("orchestrator", Loop(run))})
    heard = listen(child, "cancel:completed")
    turn = asyncio.create_task(child.execute("hello"))
    await until(lambda: child.initialized)

    await parent.coordinator.request_cancel()

    async with asyncio.timeout(5):
        assert await turn == "stopped"
    assert len(heard) == 1


# -- ending ---------------------------------------------------------------------------


async def _ends(*sessions: AmplifierSession) -> list[str]:
    """Bring sessions up, and note from now on which one ends."""
    ended: list[str] = []

    def note(event: str, data: dict[str, Any]) -> None:
        ended.append(data["session_id"])

    for session in sessions:
        await session.initialize()
        session.coordinator.hooks.register("session:end", note)
    return ended


async def test_ending_the_parent_leaves_its_children_up() -> None:
    parent = session_of(session_id="parent")
    child = _child(parent)
    ended = await _ends(parent, child)

    await parent.cleanup()

    assert ended == ["parent"]
    assert child.initialized


async def test_a_cascade_ends_all_descendants_before_the_parent() -> None:
    parent = session_of(session_id="parent")
    child = _child(parent, session_id="child")
    grandchild = _child(child, session_id="grandchild")
    ended = await _ends(parent, child, grandchild)

    await parent.cleanup(cascade_children=True)
    await parent.cleanup(cascade_children=True)

    assert ended == ["grandchild", "child", "parent"]
    assert not any(each.initialized for each in (parent, child, grandchild))


async def test_a_child_that_cannot_end_quietly_does_not_keep_the_others_from_ending() -> None:
    parent = session_of(session_id="parent")
    good, bad = _child(parent, session_id="good"), _child(parent, session_id="bad")
    ended = await _ends(parent, good, bad)

    def exits() -> None:
        raise SystemExit(3)

    bad.coordinator.register_cleanup(exits)

    with pytest.raises(SystemExit):
        await parent.cleanup(cascade_children=True)

    assert ended == ["bad", "good", "parent"]


async def test_a_child_that_has_ended_is_not_ended_again() -> None:
    parent = session_of(session_id="parent")
    child = _child(parent, session_id="child")
    ended = await _ends(parent, child)

    await child.cleanup()
    await child.initialize()
    await parent.cleanup(cascade_children=True)

    assert ended == ["child", "parent"]
    assert child.initialized


async def test_a_child_that_has_ended_is_no_longer_cancelled_with_its_parent() -> None:
    parent = session_of()
    child, sibling = _child(parent), _child(parent)
    await child.cleanup()

    await parent.coordinator.request_cancel()

    assert not child.coordinator.cancellation.is_cancelled
    assert sibling.coordinator.cancellation.is_cancelled


@pytest.mark.parametrize("fails", [False, True])
async def test_a_parent_keeps_no_child_alive_that_has_ended(fails: bool) -> None:
    parent = session_of()
    modules = {"loop": mounts("nowhere", Loop)} if fails else None

    async def life() -> "weakref.ref[AmplifierSession]":
        child = _child(parent, modules)
        try:
            async with child:
                assert await child.execute("hello") == "done"
        except RuntimeError:
            assert fails
        return weakref.ref(child)

    gone = await life()
    gc.collect()

    assert gone() is None
