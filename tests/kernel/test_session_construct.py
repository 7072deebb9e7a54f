"""What a session accepts when it is made, and what it is before anything is mounted."""

import math
import weakref
from typing import Any
from uuid import UUID

import pytest
from amplifier_core import AmplifierSession
from amplifier_core import session as session_module
from amplifier_core._session_init import _safe_exception_str
from amplifier_core.loader import ModuleLoader
from helpers_modules import MemoryLoader, listen, plan, session_of


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "Configuration is required"),
        ({}, "Configuration is required"),
        ({"providers": []}, "Configuration must specify session.orchestrator"),
        ({"session": None}, "Configuration must specify session.orchestrator"),
        ({"session": "loop-basic"}, "Configuration must specify session.orchestrator"),
        ({"session": {}}, "Configuration must specify session.orchestrator"),
        (plan(session={"orchestrator": None}), "Configuration must specify session.orchestrator"),
        (plan(session={"orchestrator": ""}), "Configuration must specify session.orchestrator"),
        ({"session": {"orchestrator": "loop"}}, "Configuration must specify session.context"),
        (plan(session={"context": None}), "Configuration must specify session.context"),
        (plan(session={"context": ""}), "Configuration must specify session.context"),
    ],
)
def test_a_plan_that_lacks_what_every_session_needs_is_refused(config: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        AmplifierSession(config)


@pytest.mark.parametrize("config", [5, "plan", ["session"], object()])
def test_a_plan_that_is_no_dict_is_refused_with_its_type(config: Any) -> None:
    with pytest.raises(TypeError, match=f"must be a dict, not {type(config).__name__}"):
        AmplifierSession(config)


def test_a_plan_must_be_given() -> None:
    with pytest.raises(TypeError, match="config"):
        AmplifierSession()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "extra",
    [
        {"limit": math.nan},
        {"limit": math.inf},
        {("a", "tuple"): 1},
        {"object": object()},
        {"text": "\ud800"},
    ],
)
def test_a_plan_may_hold_values_that_json_cannot(extra: dict[Any, Any]) -> None:
    config = plan(extra=extra)

    assert AmplifierSession(config).config["extra"] is extra


def test_the_plan_is_kept_as_the_same_object_so_that_later_changes_are_seen() -> None:
    config = plan()
    session = AmplifierSession(config)

    config["session"]["injection_size_limit"] = 7

    assert session.config is config
    assert session.coordinator.config is config
    assert session.coordinator.injection_size_limit == 7


@pytest.mark.parametrize("given", [{}, {"session_id": None}, {"session_id": ""}])
@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_session_without_an_id_gets_its_own(given: dict[str, Any], is_resumed: bool) -> None:
    first = AmplifierSession(plan(), is_resumed=is_resumed, **given)
    second = AmplifierSession(plan(), is_resumed=is_resumed, **given)

    assert str(UUID(first.session_id)) == first.session_id
    assert first.session_id != second.session_id


@pytest.mark.parametrize("session_id", [5, b"id", UUID(int=1)])
def test_an_id_that_is_no_text_is_refused(session_id: Any) -> None:
    with pytest.raises(TypeError, match="session_id must be a str"):
        AmplifierSession(plan(), session_id=session_id)


def test_all_arguments_may_be_given_by_position() -> None:
    loader: Any = MemoryLoader()
    approval: Any = object()
    display: Any = object()

    session = AmplifierSession(plan(), loader, "id", "parent", approval, display, True)

    assert session.loader is loader
    assert (session.session_id, session.parent_id, session.is_resumed) == ("id", "parent", True)
    assert session.coordinator.approval_system is approval
    assert session.coordinator.display_system is display


def test_a_new_session_is_running_but_not_initialized() -> None:
    session = AmplifierSession(plan(), session_id="id")

    assert not session.initialized
    assert not session.is_resumed
    assert session.parent_id is None
    assert session.status.session_id == "id"
    assert session.status.status == "running"


def test_the_coordinator_knows_its_session_from_the_start() -> None:
    session = AmplifierSession(plan(), session_id="id", parent_id="parent")

    assert session.coordinator.session is session
    assert session.coordinator.session_id == "id"
    assert session.coordinator.parent_id == "parent"


@pytest.mark.parametrize("parent_id", [None, "parent"])
async def test_every_event_carries_the_ids_of_the_session_and_its_parent(
    parent_id: str | None,
) -> None:
    session = AmplifierSession(plan(), session_id="id", parent_id=parent_id)
    heard = listen(session, "any:event")

    await session.coordinator.hooks.emit("any:event", {"own": 1})

    assert heard == [("any:event", {"session_id": "id", "parent_id": parent_id, "own": 1})]


def test_a_loader_is_made_when_first_asked_for_and_then_kept() -> None:
    session = AmplifierSession(plan())

    assert session.coordinator.loader is None
    assert isinstance(session.loader, ModuleLoader)
    assert session.loader is session.coordinator.loader


def test_a_session_is_an_ordinary_object() -> None:
    class Subclass(AmplifierSession):
        pass

    session = Subclass(plan())
    session.anything = 1  # type: ignore[attr-defined]

    assert weakref.ref(session)() is session
    assert type(session.fork()) is Subclass


def test_the_initialized_flag_can_be_set_by_a_host() -> None:
    session = session_of()

    session._initialized = True

    assert session.initialized


@pytest.mark.parametrize("name", ["initialized", "is_resumed", "loader"])
def test_what_a_session_reports_of_itself_is_read_only(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(session_of(), name, True)


def test_the_session_file_offers_the_names_that_hosts_import_from_it() -> None:
    assert set(session_module.__all__) >= {
        "AmplifierSession",
        "ModuleCoordinator",
        "ModuleLoader",
        "SessionStatus",
        "initialize_session",
        "redact_secrets",
    }
    assert session_module._safe_exception_str is _safe_exception_str
    assert session_module.AmplifierSession is AmplifierSession


def test_an_exception_whose_text_cannot_be_decoded_is_still_described() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            return b"\xff".decode()

        def __repr__(self) -> str:
            return "Unreadable()"

    assert _safe_exception_str(Unreadable()) == "Unreadable()"
    assert _safe_exception_str(ValueError("plain")) == "plain"
