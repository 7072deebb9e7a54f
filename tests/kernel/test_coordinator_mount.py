"""How modules get into the slots of a coordinator and out again."""

import inspect
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from helpers_coordinator import Named

MANY = ["providers", "tools"]
ONE = ["orchestrator", "context", "module-source-resolver"]


def test_a_new_coordinator_has_the_six_slots_in_order() -> None:
    coordinator = ModuleCoordinator()

    assert list(coordinator.mount_points.items()) == [
        ("orchestrator", None),
        ("providers", {}),
        ("tools", {}),
        ("context", None),
        ("hooks", coordinator.hooks),
        ("module-source-resolver", None),
    ]


def test_mounting_takes_effect_before_the_result_is_awaited() -> None:
    coordinator = ModuleCoordinator()

    mounting = coordinator.mount("tools", "module", name="tool")
    assert coordinator.get("tools", "tool") == "module"
    unmounting = coordinator.unmount("tools", name="tool")
    assert coordinator.get("tools", "tool") is None

    for pending in (mounting, unmounting):
        assert inspect.iscoroutine(pending)
        pending.close()


async def test_mounting_and_unmounting_return_nothing() -> None:
    coordinator = ModuleCoordinator()

    assert await coordinator.mount("tools", "module", name="tool") is None
    assert await coordinator.unmount("tools", name="tool") is None


@pytest.mark.parametrize("slot", ONE)
async def test_a_single_slot_holds_the_last_module_whatever_its_name(slot: str) -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount(slot, "first")

    await coordinator.mount(slot, "second", name="any")

    assert coordinator.get(slot) == "second"
    assert coordinator.get(slot, "other") == "second"
    assert coordinator.mount_points[slot] == "second"


@pytest.mark.parametrize("slot", ONE)
async def test_a_single_slot_keeps_a_module_that_happens_to_be_a_dict(slot: str) -> None:
    coordinator = ModuleCoordinator()
    module: dict[str, Any] = {"name": "inner"}
    await coordinator.mount(slot, module)

    assert coordinator.get(slot, "name") is module
    assert coordinator.get_all(slot) == {slot: module}

    await coordinator.mount(slot, "second", name="name")
    assert coordinator.get(slot) == "second"
    assert module == {"name": "inner"}

    await coordinator.unmount(slot, name="any")
    assert coordinator.get(slot) is None


@pytest.mark.parametrize("slot", MANY)
async def test_a_named_slot_keeps_every_module_in_the_order_of_mounting(slot: str) -> None:
    coordinator = ModuleCoordinator()

    for name in ("z", "a", "m"):
        await coordinator.mount(slot, name.upper(), name=name)
    await coordinator.mount(slot, "replaced", name="a")

    assert list(coordinator.get(slot).items()) == [("z", "Z"), ("a", "replaced"), ("m", "M")]
    assert coordinator.get(slot, "m") == "M"
    assert coordinator.get(slot, name="unknown") is None


@pytest.mark.parametrize("slot", MANY)
async def test_a_module_mounts_under_its_own_name_unless_another_is_given(slot: str) -> None:
    coordinator = ModuleCoordinator()

    await coordinator.mount(slot, Named("own"))
    await coordinator.mount(slot, Named("own"), "given")
    await coordinator.mount(slot, Named(""))
    await coordinator.mount(slot, None, name="nothing")

    assert list(coordinator.get(slot)) == ["own", "given", "", "nothing"]


class _NameFails:
    @property
    def name(self) -> str:
        raise RuntimeError("not ready")


@pytest.mark.parametrize("slot", MANY)
@pytest.mark.parametrize("module", [object(), None, _NameFails()])
def test_a_module_without_a_name_needs_one(slot: str, module: Any) -> None:
    coordinator = ModuleCoordinator()

    with pytest.raises(ValueError, match=f"^Name required for {slot}$"):
        coordinator.mount(slot, module)
    assert coordinator.get(slot) == {}


@pytest.mark.parametrize("name", [None, 5, b"tool"])
def test_a_modules_own_name_must_be_a_str(name: Any) -> None:
    with pytest.raises(TypeError, match="name must be a str"):
        ModuleCoordinator().mount("tools", Named(name))


def test_a_given_name_must_be_a_str() -> None:
    coordinator = ModuleCoordinator()

    with pytest.raises(TypeError, match="name must be a str, not int"):
        coordinator.mount("tools", Named("own"), name=5)
    assert coordinator.get("tools") == {}


def test_an_interrupt_while_the_name_is_read_goes_through() -> None:
    class Interrupted:
        @property
        def name(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ModuleCoordinator().mount("tools", Interrupted())


@pytest.mark.parametrize("name", [None, "logging"])
def test_hooks_are_registered_not_mounted(name: str | None) -> None:
    with pytest.raises(ValueError, match="registered directly with the HookRegistry"):
        ModuleCoordinator().mount("hooks", Named("logging"), name)


@pytest.mark.parametrize("unknown", ["toolz", "session", "", None, 5])
def test_an_unknown_mount_point_is_named_in_the_error(unknown: Any) -> None:
    coordinator = ModuleCoordinator()
    uses = [
        lambda: coordinator.mount(unknown, Named("x")),
        lambda: coordinator.unmount(unknown, "x"),
        lambda: coordinator.get(unknown),
        lambda: coordinator.get_all(unknown),
        lambda: coordinator.get_mounted(unknown),
    ]

    for use in uses:
        with pytest.raises(ValueError, match=f"^Unknown mount point: {unknown}$"):
            use()


@pytest.mark.parametrize("part", ["orchestrator", "context"])
async def test_the_loop_and_the_context_may_be_mounted_as_parts_of_the_session(part: str) -> None:
    coordinator = ModuleCoordinator()

    await coordinator.mount("session", "module", name=part)

    assert coordinator.get(part) == "module"
    assert "session" not in coordinator.mount_points


@pytest.mark.parametrize("name", [None, "tools", "module-source-resolver"])
def test_nothing_else_is_a_part_of_the_session(name: str | None) -> None:
    with pytest.raises(ValueError, match="Unknown mount point: session"):
        ModuleCoordinator().mount("session", Named("x"), name=name)


# -- unmounting -----------------------------------------------------------------------


@pytest.mark.parametrize("slot", ONE)
@pytest.mark.parametrize("name", [None, "any"])
async def test_unmounting_empties_a_single_slot(slot: str, name: str | None) -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount(slot, "module")

    await coordinator.unmount(slot, name)

    assert coordinator.get(slot) is None


@pytest.mark.parametrize("slot", MANY)
async def test_unmounting_takes_one_module_out_of_a_named_slot(slot: str) -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount(slot, "A", name="a")
    await coordinator.mount(slot, "B", name="b")

    await coordinator.unmount(slot, name="a")
    await coordinator.unmount(slot, name="never there")

    assert coordinator.get(slot) == {"b": "B"}


@pytest.mark.parametrize("slot", MANY)
async def test_unmounting_from_a_named_slot_needs_a_name(slot: str) -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount(slot, "A", name="a")

    with pytest.raises(ValueError, match=f"^Name required to unmount from {slot}$"):
        coordinator.unmount(slot)
    assert coordinator.get(slot) == {"a": "A"}


async def test_the_hook_registry_cannot_be_unmounted() -> None:
    coordinator = ModuleCoordinator()

    await coordinator.unmount("hooks")

    assert coordinator.get("hooks") is coordinator.hooks


# -- looking --------------------------------------------------------------------------


def test_a_named_slot_without_a_name_is_the_live_dict() -> None:
    coordinator = ModuleCoordinator()

    coordinator.get("tools")["direct"] = "module"

    assert coordinator.get("tools") is coordinator.mount_points["tools"]
    assert coordinator.get("tools", "direct") == "module"


def test_replacing_the_hooks_slot_does_not_replace_the_registry() -> None:
    coordinator = ModuleCoordinator()
    registry = coordinator.hooks

    coordinator.mount_points["hooks"] = "other"

    assert coordinator.get("hooks") == "other"
    assert coordinator.get("hooks", "any") == "other"
    assert coordinator.hooks is registry


@pytest.mark.parametrize("listing", ["get_all", "get_mounted"])
async def test_all_modules_of_a_slot_come_as_a_copy_by_name(listing: str) -> None:
    coordinator = ModuleCoordinator()
    await coordinator.mount("tools", "A", name="a")
    await coordinator.mount("context", "C")
    list_modules = getattr(coordinator, listing)

    list_modules("tools")["b"] = "B"

    assert list_modules("tools") == {"a": "A"}
    assert list_modules("context") == {"context": "C"}
    assert list_modules("orchestrator") == {}
    assert list_modules("hooks") == {"hooks": coordinator.hooks}


# -- slots that an app changed --------------------------------------------------------


async def test_a_slot_that_an_app_added_holds_many_if_it_is_a_dict() -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points["agents"] = {}

    await coordinator.mount("agents", Named("own"))
    await coordinator.mount("agents", "B", name="b")
    await coordinator.unmount("agents", name="own")

    assert coordinator.get("agents") == {"b": "B"}
    assert coordinator.get("agents", "b") == "B"
    assert coordinator.get_all("agents") == {"b": "B"}


async def test_a_slot_that_an_app_added_holds_one_if_it_is_no_dict() -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points["judge"] = None

    await coordinator.mount("judge", "module")
    assert coordinator.get("judge") == "module"
    assert coordinator.get_all("judge") == {"judge": "module"}

    await coordinator.unmount("judge")
    assert coordinator.get("judge") is None


@pytest.mark.parametrize("slot", MANY)
async def test_a_named_slot_that_was_set_to_none_counts_as_empty(slot: str) -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points[slot] = None

    assert coordinator.get(slot) is None
    assert coordinator.get(slot, "a") is None
    assert coordinator.get_all(slot) == {}
    assert coordinator.to_dict()[slot] == []
    await coordinator.unmount(slot, name="a")
    await coordinator.mount(slot, "A", name="a")

    assert coordinator.get(slot) == {"a": "A"}


def test_a_slot_that_was_removed_is_unknown() -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points = {"tools": {"a": "A"}}

    assert coordinator.get("tools") == {"a": "A"}
    with pytest.raises(ValueError, match="Unknown mount point: providers"):
        coordinator.get("providers")


# -- summary --------------------------------------------------------------------------

EMPTY = {
    "tools": [],
    "providers": [],
    "has_orchestrator": False,
    "has_context": False,
    "capabilities": [],
    "has_approval_provider": False,
    "has_display_service": False,
}


def test_the_summary_of_a_new_coordinator_is_empty() -> None:
    summary = ModuleCoordinator().to_dict()

    assert summary == EMPTY
    assert list(summary) == list(EMPTY)


async def test_the_summary_names_what_is_there_in_order() -> None:
    coordinator = ModuleCoordinator()
    for name in ("z", "a"):
        await coordinator.mount("tools", object(), name=name)
        await coordinator.mount("providers", object(), name=name)
        coordinator.register_capability(name, None)
    await coordinator.mount("orchestrator", object())
    await coordinator.mount("context", object())

    assert coordinator.to_dict() == {
        "tools": ["z", "a"],
        "providers": ["z", "a"],
        "has_orchestrator": True,
        "has_context": True,
        "capabilities": ["z", "a"],
        "has_approval_provider": False,
        "has_display_service": False,
    }


def test_the_summary_knows_systems_given_to_the_constructor_and_systems_taken_away() -> None:
    coordinator = ModuleCoordinator(None, object(), object())
    assert coordinator.to_dict() == EMPTY | {
        "has_approval_provider": True,
        "has_display_service": True,
    }

    coordinator.approval_system = None
    coordinator.display_system = None

    assert coordinator.to_dict() == EMPTY


def test_the_summary_copes_with_slots_that_an_app_removed() -> None:
    coordinator = ModuleCoordinator()
    coordinator.mount_points = {}

    assert coordinator.to_dict() == EMPTY
