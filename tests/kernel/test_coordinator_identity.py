"""What a coordinator is: its identity, its attributes, and how it may be subclassed."""

import weakref
from typing import Any, Self

import pytest
from amplifier_core import HookRegistry, ModuleCoordinator
from helpers_coordinator import session_with


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
        ModuleCoordinator(None, None, None, "more")
    with pytest.raises(TypeError):
        ModuleCoordinator(color="red")


def test_rebinding_the_session_leaves_the_identity_alone() -> None:
    coordinator = ModuleCoordinator(session_with(session_id="first"))
    other = session_with(session_id="second")

    coordinator._set_session(other)

    assert coordinator.session is other
    assert coordinator.session_id == "first"


READ_ONLY = """
session session_id parent_id config hooks cancellation channels
injection_budget_per_turn injection_size_limit _cleanup_fns
"""


@pytest.mark.parametrize("name", READ_ONLY.split())
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

    coordinator.todo_state = [1]

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
            super().__init__(session, approvals, display)
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
            return super().__new__(cls, None, None, display)

        def __init__(self) -> None:
            """Builds nothing: all state is there already."""

    assert Forwarding().display_system is display
