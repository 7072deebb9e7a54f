"""What one module put into a coordinator is found, taken out at the end, or undone."""

import asyncio
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core._mounting import Mounting
from hypothesis import given
from hypothesis import strategies as st


class Thing:
    """Equal to every other one, so that only identity tells them apart."""

    def __init__(self, name: str = "thing") -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    __hash__ = None  # type: ignore[assignment]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return list(one) == list(other) and all(one[name] is other[name] for name in one)


def contents(slot: Any) -> Any:
    if isinstance(slot, dict):
        return [(name, id(module)) for name, module in slot.items()]
    return id(slot)


def state(coordinator: ModuleCoordinator) -> list[Any]:
    """All that a module can change, by identity."""
    points = {point: contents(slot) for point, slot in coordinator.mount_points.items()}
    return [
        points,
        {name: id(value) for name, value in coordinator._capabilities.items()},
        {key: [each["name"] for each in group] for key, group in coordinator.channels.items()},
        coordinator.hooks.list_handlers(),
        id(coordinator.approval_system),
        id(coordinator.display_system),
        len(coordinator._cleanup_fns),
    ]


async def put_in_everything(coordinator: Any, mark: str) -> None:
    """Change a coordinator in every way that a module can."""
    await coordinator.mount("tools", Thing(), name=mark)
    await coordinator.mount("tools", Thing(), name="shared")
    await coordinator.mount("providers", Thing(), name=mark)
    await coordinator.mount("orchestrator", Thing(mark))
    await coordinator.mount("context", {"a dict": "may be a context"})
    coordinator.mount_points[f"slot-{mark}"] = {}
    coordinator.mount_points["judge"] = Thing(mark)
    coordinator.hooks.register("event", lambda event, data: None, name=mark)
    coordinator.register_capability("shared", Thing(mark))
    coordinator.register_capability(mark, None)
    coordinator.register_contributor("shared", mark, lambda: 1)
    coordinator.register_contributor(mark, mark, lambda: 1)
    coordinator.approval_system = Thing(mark)
    coordinator.display_system = Thing(mark)


# -- what is new ----------------------------------------------------------------------


async def test_what_was_there_before_is_not_new() -> None:
    coordinator = ModuleCoordinator()
    await put_in_everything(coordinator, "app")

    assert Mounting(coordinator).installed() == []


async def test_new_and_replaced_modules_are_installed() -> None:
    coordinator = ModuleCoordinator()
    old, new, other = Thing(), Thing(), Thing()
    await coordinator.mount("tools", old, name="kept")
    await coordinator.mount("tools", old, name="replaced")
    before = Mounting(coordinator)

    await coordinator.mount("tools", new, name="replaced")
    await coordinator.mount("tools", other, name="added")
    await coordinator.mount("context", new)

    found = {(point, name): module for point, name, module in before.installed()}
    assert list(found) == [("tools", "replaced"), ("tools", "added"), ("context", None)]
    assert found["tools", "replaced"] is new
    assert found["tools", "added"] is other


def test_modules_put_directly_into_the_slots_are_installed_too() -> None:
    coordinator = ModuleCoordinator()
    thing = Thing()
    before = Mounting(coordinator)

    coordinator.mount_points["tools"]["x"] = thing
    coordinator.mount_points["judge"] = thing
    coordinator.mount_points["agents"] = {"y": thing}
    coordinator.mount_points["providers"] = None

    places = [(point, name) for point, name, _ in before.installed()]
    assert places == [("tools", "x"), ("judge", None), ("agents", "y")]


def test_a_slot_that_becomes_a_table_holds_only_new_modules() -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points["agents"] = None
    before = Mounting(coordinator)

    coordinator.mount_points["agents"] = {"x": Thing()}

    assert [(point, name) for point, name, _ in before.installed()] == [("agents", "x")]


async def test_a_record_names_the_objects_that_serve() -> None:
    def handler(event: str, data: dict[str, Any]) -> None: ...

    coordinator, tool = ModuleCoordinator(), Thing()
    coordinator.hooks.register("event", lambda event, data: None)
    before = Mounting(coordinator)
    await coordinator.mount("tools", tool)
    coordinator.hooks.register("event", handler)

    serving = before.record().modules()

    assert len(serving) == 2
    assert serving[0] is tool
    assert serving[1] is handler


# -- taking out -----------------------------------------------------------------------


async def test_removing_takes_out_what_the_module_added() -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount("tools", Thing(), name="app")
    coordinator.register_contributor("both", "app", lambda: 1)
    untouched = state(coordinator)
    before = Mounting(coordinator)
    await coordinator.mount("tools", Thing(), name="module")
    await coordinator.mount("context", Thing())
    coordinator.hooks.register("event", lambda event, data: None)
    coordinator.register_capability("module", Thing())
    coordinator.register_contributor("both", "module", lambda: 1)
    coordinator.register_contributor("own", "module", lambda: 1)
    coordinator.approval_system = Thing()  # type: ignore[assignment]
    record = before.record()

    await record.remove(coordinator)
    assert state(coordinator) == untouched
    await record.remove(coordinator)
    assert state(coordinator) == untouched


async def test_removing_leaves_what_others_put_in_its_place() -> None:
    coordinator = ModuleCoordinator()
    before = Mounting(coordinator)
    await put_in_everything(coordinator, "module")
    record = before.record()
    later = Thing("later")
    await coordinator.mount("tools", later, name="shared")
    await coordinator.mount("orchestrator", later)
    coordinator.register_capability("shared", later)
    coordinator.approval_system = later  # type: ignore[assignment]
    coordinator.register_contributor("shared", "later", lambda: 1)

    await record.remove(coordinator)

    assert same(coordinator.get_all("tools"), {"shared": later})
    assert coordinator.get("orchestrator") is later
    assert coordinator.get_capability("shared") is later
    assert coordinator.approval_system is later
    assert coordinator.display_system is None
    assert [each["name"] for each in coordinator.channels["shared"]] == ["later"]


async def test_removing_minds_no_slot_that_is_gone() -> None:
    coordinator = ModuleCoordinator()
    before = Mounting(coordinator)
    coordinator.mount_points["judge"] = Thing()
    coordinator.register_contributor("channel", "x", lambda: 1)
    record = before.record()
    del coordinator.mount_points["judge"]
    coordinator.channels.clear()

    await record.remove(coordinator)

    assert "judge" not in coordinator.mount_points
    assert coordinator.channels == {}


# -- undoing --------------------------------------------------------------------------


@pytest.mark.parametrize("earlier", [[], ["app"], ["app", "other"]])
async def test_undoing_puts_everything_back(earlier: list[str]) -> None:
    coordinator = ModuleCoordinator()
    for mark in earlier:
        await put_in_everything(coordinator, mark)
    untouched = state(coordinator)
    before = Mounting(coordinator)

    await put_in_everything(coordinator, "module")
    assert state(coordinator) != untouched
    await before.undo()

    assert state(coordinator) == untouched


CHANGES = ("mount", "replace", "unmount", "clear", "drop slot", "new slot", "swap table")


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(["a", "b", "c"])), max_size=8))
def test_undoing_restores_slots_and_their_order_whatever_was_done(
    changes: list[tuple[str, str]],
) -> None:
    coordinator = ModuleCoordinator()
    for name in ("a", "b"):
        coordinator.mount_points["tools"][name] = Thing()
        coordinator.register_capability(name, Thing())
    coordinator.mount_points["context"] = Thing()
    untouched = state(coordinator)
    before = Mounting(coordinator)

    for change, name in changes:
        _change(coordinator, change, name)
    asyncio.run(before.undo())

    assert state(coordinator) == untouched


def _change(coordinator: ModuleCoordinator, change: str, name: str) -> None:
    points = coordinator.mount_points
    if change == "mount":
        points["tools"] = points.get("tools") or {}
        points["tools"][name] = Thing()
        coordinator.register_capability(name, Thing())
    elif change == "replace":
        points["context"] = {name: Thing()}
    elif change == "unmount":
        (points.get("tools") or {}).pop(name, None)
    elif change == "clear":
        points["tools"] = None
    elif change == "drop slot":
        points.pop("tools", None)
    elif change == "new slot":
        points[f"slot-{name}"] = {name: Thing()}
    else:
        points["tools"] = {name: Thing()}


async def test_undoing_keeps_the_live_table_that_others_hold() -> None:
    coordinator = ModuleCoordinator()
    tools = coordinator.get("tools")
    before = Mounting(coordinator)
    await coordinator.mount("tools", Thing())

    await before.undo()

    assert coordinator.get("tools") is tools
    assert tools == {}


async def test_undoing_runs_the_cleanups_registered_since() -> None:
    coordinator, ran = ModuleCoordinator(), []
    coordinator.register_cleanup(lambda: ran.append("app"))
    before = Mounting(coordinator)
    for n in (1, 2):
        coordinator.register_cleanup(lambda n=n: ran.append(n))  # type: ignore[misc]

    await before.undo()

    assert ran == [2, 1]
    await coordinator.cleanup()
    assert ran == [2, 1, "app"]


async def test_undoing_is_finished_even_when_a_cleanup_is_interrupted() -> None:
    coordinator = ModuleCoordinator()
    untouched = state(coordinator)
    before = Mounting(coordinator)
    await put_in_everything(coordinator, "module")

    def interrupted() -> None:
        raise KeyboardInterrupt

    coordinator.register_cleanup(interrupted)

    with pytest.raises(KeyboardInterrupt):
        await before.undo()

    assert state(coordinator) == untouched


async def test_what_only_stands_in_for_a_coordinator_is_left_alone() -> None:
    class Double:
        mount_points = "not to be touched"

    before = Mounting(Double())

    record = before.record()
    await before.undo()

    assert before.installed() == record.installed == record.modules() == []
    assert Double.mount_points == "not to be touched"
