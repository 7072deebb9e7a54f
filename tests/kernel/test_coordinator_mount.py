"""How a coordinator is made, and how modules get into its slots and out again."""

import inspect
import weakref
from types import MappingProxyType, SimpleNamespace
from typing import Any, Self

import amplifier_core
import pytest
from amplifier_core import HookRegistry, ModuleCoordinator
from helpers_coordinator import Context, Named, session_with

MANY = ["providers", "tools"]
ONE = ["orchestrator", "context", "module-source-resolver"]


# -- construction ---------------------------------------------------------------------


def test_a_coordinator_without_a_session_is_anonymous_and_empty() -> None:
    coordinator = ModuleCoordinator()

    assert coordinator.session is None
    assert coordinator.session_id == ""
    assert coordinator.parent_id is None
    assert coordinator.config == {}
    assert coordinator.loader is None
    assert coordinator.session_state == {}
    assert coordinator.channels == {}


def test_a_coordinator_takes_its_identity_from_the_session() -> None:
    session = session_with({"session": {}}, "child", "parent")

    coordinator = ModuleCoordinator(session)

    assert coordinator.session is session
    assert coordinator.session_id == "child"
    assert coordinator.parent_id == "parent"
    assert coordinator.config is session.config


def test_a_config_of_any_type_is_kept_as_it_is() -> None:
    config = object()

    assert ModuleCoordinator(session_with(config)).config is config


@pytest.mark.parametrize("session_id", [5, None, b"id"])
def test_a_session_id_that_is_no_str_is_refused(session_id: Any) -> None:
    with pytest.raises(TypeError, match="session_id must be a str"):
        ModuleCoordinator(session_with(session_id=session_id))


@pytest.mark.parametrize("parent_id", [5, b"id"])
def test_a_parent_id_that_is_no_str_is_refused(parent_id: Any) -> None:
    with pytest.raises(TypeError, match="parent_id must be a str"):
        ModuleCoordinator(session_with(parent_id=parent_id))


@pytest.mark.parametrize("missing", ["session_id", "parent_id", "config"])
def test_a_session_that_lacks_an_attribute_is_refused(missing: str) -> None:
    session = session_with()
    delattr(session, missing)

    with pytest.raises(AttributeError, match=missing):
        ModuleCoordinator(session)


def test_arguments_that_a_coordinator_does_not_know_are_refused() -> None:
    with pytest.raises(TypeError):
        ModuleCoordinator(None, None, None, "more")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ModuleCoordinator(color="red")  # type: ignore[call-arg]


def test_rebinding_the_session_leaves_the_identity_alone() -> None:
    coordinator = ModuleCoordinator(session_with(session_id="first"))
    other = session_with(session_id="second")

    coordinator._set_session(other)

    assert coordinator.session is other
    assert coordinator.session_id == "first"


@pytest.mark.parametrize(
    "name",
    ["session", "session_id", "parent_id", "config", "hooks", "cancellation", "channels"]
    + ["injection_budget_per_turn", "injection_size_limit", "_cleanup_fns"],
)
def test_what_belongs_to_the_kernel_can_be_neither_replaced_nor_deleted(name: str) -> None:
    coordinator = ModuleCoordinator()

    with pytest.raises(AttributeError):
        setattr(coordinator, name, None)
    with pytest.raises(AttributeError):
        delattr(coordinator, name)


@pytest.mark.parametrize("name", ["session_state", "mount_points"])
def test_a_dict_of_the_coordinator_can_be_replaced_only_by_a_dict(name: str) -> None:
    coordinator = ModuleCoordinator()
    replacement: dict[str, Any] = {"tools": {}}

    setattr(coordinator, name, replacement)

    assert getattr(coordinator, name) is replacement
    for wrong in (None, [], "text", 5):
        with pytest.raises(TypeError, match=f"{name} must be a dict"):
            setattr(coordinator, name, wrong)
    assert getattr(coordinator, name) is replacement


def test_session_state_is_not_shared_between_coordinators() -> None:
    one, other = ModuleCoordinator(), ModuleCoordinator()

    one.session_state["key"] = 1

    assert other.session_state == {}


@pytest.mark.parametrize("name", ["loader", "approval_system", "display_system"])
def test_the_apps_own_parts_can_be_assigned_and_taken_away(name: str) -> None:
    coordinator = ModuleCoordinator()
    part = object()

    setattr(coordinator, name, part)
    assert getattr(coordinator, name) is part

    setattr(coordinator, name, None)
    assert getattr(coordinator, name) is None


def test_vars_shows_only_what_modules_added() -> None:
    coordinator = ModuleCoordinator(session_with(), object(), object())
    assert vars(coordinator) == {}

    coordinator.todo_state = [1]  # type: ignore[attr-defined]

    assert vars(coordinator) == {"todo_state": [1]}


def test_a_coordinator_can_be_referenced_weakly() -> None:
    coordinator = ModuleCoordinator()

    assert weakref.ref(coordinator)() is coordinator


# -- subclasses -----------------------------------------------------------------------


def test_a_subclass_whose_init_never_calls_super_is_complete() -> None:
    class Double(ModuleCoordinator):
        def __init__(self, session: Any) -> None:
            self.note = "mine"

    double = Double(session_with(session_id="bound"))

    assert double.session_id == "bound"
    assert isinstance(double.hooks, HookRegistry)
    assert vars(double) == {"note": "mine"}


def test_a_subclass_may_take_arguments_that_are_no_session() -> None:
    class Labelled(ModuleCoordinator):
        def __init__(self, label: str, size: int, *more: Any, color: str) -> None:
            self.given = (label, size, more, color)

    labelled = Labelled("label", 3, 4, 5, 6, color="red")

    assert labelled.given == ("label", 3, (4, 5, 6), "red")
    assert labelled.session_id == ""
    assert labelled.approval_system is None
    assert labelled.display_system is None


def test_a_subclass_may_hand_its_session_to_init() -> None:
    approvals, display = object(), object()

    class Labelled(ModuleCoordinator):
        def __init__(self, label: str, session: Any) -> None:
            super().__init__(session, approvals, display)  # type: ignore[arg-type]
            self.label = label

    labelled = Labelled("label", session_with({"session": {}}, "handed-on", "parent"))

    assert labelled.session_id == "handed-on"
    assert labelled.parent_id == "parent"
    assert labelled.config == {"session": {}}
    assert labelled.approval_system is approvals
    assert labelled.display_system is display


def test_what_a_subclass_forwards_through_new_stays_when_init_is_given_nothing() -> None:
    approvals = object()

    class Forwarding(ModuleCoordinator):
        def __new__(cls, label: str) -> Self:
            return super().__new__(cls, session_with(session_id="forwarded"), approvals)

        def __init__(self, label: str) -> None:
            super().__init__()
            self.label = label

    forwarding = Forwarding("label")

    assert forwarding.session_id == "forwarded"
    assert forwarding.approval_system is approvals
    assert forwarding.label == "label"


def test_a_subclass_may_forward_systems_without_a_session() -> None:
    display = object()

    class Forwarding(ModuleCoordinator):
        def __new__(cls) -> Self:
            return super().__new__(cls, None, None, display)  # type: ignore[arg-type]

        def __init__(self) -> None:
            """Builds nothing: all state is there already."""

    assert Forwarding().display_system is display


# -- slots ----------------------------------------------------------------------------


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

    assert await coordinator.mount("tools", "module", name="tool") is None  # type: ignore[func-returns-value]
    assert await coordinator.unmount("tools", name="tool") is None  # type: ignore[func-returns-value]


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
        coordinator.mount("tools", Named("own"), name=5)  # type: ignore[arg-type]
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
