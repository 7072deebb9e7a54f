"""Mounting providers: several of one kind, names, rollback, and the app's say in it."""

from itertools import count
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core._session_init import initialize_session
from amplifier_core.testing import MockCoordinator
from helpers_modules import (
    Events,
    MemoryLoader,
    Named,
    entries,
    failing,
    listen,
    mounts,
    mounts_nothing,
    plan,
    session_of,
)


def _numbered(name: str) -> Any:
    """A mount() that installs `name#1`, then `name#2` and so on, always at `name`."""
    numbers = count(1)

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("providers", Named(f"{name}#{next(numbers)}"), name=name)

    return mount


def _session(
    providers: list[dict[str, Any]], modules: dict[str, Any] | None = None, **capabilities: Any
) -> tuple[AmplifierSession, Events]:
    known = {"provider-x": _numbered("x"), "provider-y": _numbered("y"), **(modules or {})}
    session = session_of(plan(providers=providers), known, session_id="id")
    for name, callback in capabilities.items():
        session.coordinator.register_capability(f"provider.{name}", callback)
    return session, listen(session, "module:load_failed")


def _mounted(session: AmplifierSession) -> list[tuple[str, str]]:
    return [(name, module.name) for name, module in session.coordinator.get("providers").items()]


def _named(module_id: str, key: str, name: str) -> dict[str, Any]:
    return {"module": module_id, key: name}


# -- names and instances --------------------------------------------------------------


@pytest.mark.parametrize("key", ["instance_id", "name"])
async def test_one_module_may_serve_several_named_instances(key: str) -> None:
    session, heard = _session(
        [
            {"module": "provider-x"},
            _named("provider-x", key, "second"),
            _named("provider-x", key, "third"),
        ]
    )

    await session.initialize()

    assert _mounted(session) == [("x", "x#1"), ("second", "x#2"), ("third", "x#3")]
    assert heard == []


async def test_a_named_instance_before_the_default_one_leaves_its_place_free() -> None:
    session, _ = _session([_named("provider-x", "name", "first"), {"module": "provider-x"}])

    await session.initialize()

    assert _mounted(session) == [("first", "x#1"), ("x", "x#2")]


async def test_an_instance_may_be_named_as_it_would_be_anyway() -> None:
    session, heard = _session([_named("provider-x", "instance_id", "x")])

    await session.initialize()

    assert _mounted(session) == [("x", "x#1")]
    assert heard == []


async def test_a_module_id_without_the_prefix_is_its_own_default_name() -> None:
    session, _ = _session([_named("plain", "name", "renamed")], {"plain": _numbered("plain")})

    await session.initialize()

    assert _mounted(session) == [("renamed", "plain#1")]


async def test_instance_id_and_name_may_both_be_given_if_they_agree() -> None:
    session, _ = _session([{"module": "provider-x", "instance_id": "a", "name": "a"}])

    await session.initialize()

    assert _mounted(session) == [("a", "x#1")]


@pytest.mark.parametrize(
    ("providers", "unmounted"),
    [
        (entries("provider-x"), []),
        ([_named("provider-x", "instance_id", "x")], []),
        ([_named("provider-x", "instance_id", "other")], ["x"]),
        ([*entries("provider-x"), _named("provider-x", "instance_id", "other")], []),
    ],
)
async def test_renaming_unmounts_the_default_name_only_where_nobody_had_it(
    providers: list[dict[str, Any]], unmounted: list[str]
) -> None:
    coordinator = MockCoordinator()
    loader: Any = MemoryLoader({"provider-x": _numbered("x")})
    coordinator.loader = loader

    await initialize_session(plan(providers=providers), coordinator, "id", None)

    assert [call["name"] for call in coordinator.unmount_history] == unmounted


async def test_a_named_provider_must_appear_at_its_default_name() -> None:
    session, heard = _session(
        [_named("provider-z", "instance_id", "wanted")],
        {"provider-z": mounts("providers", Named(), "elsewhere")},
    )

    await session.initialize()

    assert _mounted(session) == []
    assert heard[0][1]["error"] == (
        "Named provider mount did not install a new instance at its default mount name"
    )
    assert heard[0][1]["instance_id"] == "wanted"


# -- failures and rollback ------------------------------------------------------------


async def test_a_failed_provider_is_reported_with_all_that_is_known_of_it() -> None:
    session, heard = _session(
        [{"module": "provider-x"}, _named("provider-bad", "instance_id", "bad")],
        {"provider-bad": failing(ValueError("no luck"))},
    )

    await session.initialize()

    payload = {
        "module_type": "provider",
        "module_id": "provider-bad",
        "error": "no luck",
        "reason_code": "unknown",
        "instance_id": "bad",
    }
    assert heard == [("module:load_failed", {**payload, "session_id": "id", "parent_id": None})]
    assert session.status.failed_modules == [{**payload, "entry": "providers[1]"}]
    assert _mounted(session) == [("x", "x#1")]
    assert session.initialized


async def test_a_provider_without_a_name_is_reported_without_one() -> None:
    session, heard = _session(entries("provider-missing"))

    await session.initialize()

    assert "instance_id" not in heard[0][1]


async def test_a_failed_provider_leaves_the_others_as_they_were_in_the_same_order() -> None:
    async def meddling(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("providers", Named("new"), name="new")
        await coordinator.unmount("providers", name="x")
        await coordinator.mount("providers", Named("usurper"), name="x")
        await coordinator.mount("providers", Named("other"), name="y")
        raise RuntimeError("half way")

    session, _ = _session(
        entries("provider-x", "provider-y", "provider-bad"), {"provider-bad": meddling}
    )
    live = session.coordinator.get("providers")

    await session.initialize()

    assert _mounted(session) == [("x", "x#1"), ("y", "y#1")]
    assert session.coordinator.get("providers") is live


async def test_a_failed_named_instance_leaves_the_default_one_in_place() -> None:
    attempts = count(1)

    async def second_time_unlucky(coordinator: Any, config: dict[str, Any]) -> None:
        number = next(attempts)
        await coordinator.mount("providers", Named(f"z#{number}"), name="z")
        if number == 2:
            raise RuntimeError("second")

    session, _ = _session(
        [{"module": "provider-z"}, _named("provider-z", "name", "b"), {"module": "provider-x"}],
        {"provider-z": second_time_unlucky},
    )

    await session.initialize()

    assert _mounted(session) == [("z", "z#1"), ("x", "x#1")]


async def test_a_provider_with_a_cleanup_that_mounts_nothing_has_failed_and_is_cleaned() -> None:
    cleaned: list[str] = []

    async def odd(coordinator: Any, config: dict[str, Any]) -> Any:
        return lambda: cleaned.append("odd")

    session, heard = _session(entries("provider-odd"), {"provider-odd": odd})

    await session.initialize()

    assert heard[0][1]["error"] == "Provider mount did not install a new provider instance"
    assert cleaned == ["odd"]


async def test_mounting_the_same_object_again_is_no_new_provider() -> None:
    same = Named("same")
    session, heard = _session(
        [{"module": "provider-s"}, _named("provider-s", "name", "again")],
        {"provider-s": mounts("providers", same, "s", returns=lambda: None)},
    )

    await session.initialize()

    assert _mounted(session) == [("s", "same")]
    assert heard[0][1]["error"] == "Provider mount did not install a new provider instance"


# -- without credentials --------------------------------------------------------------


@pytest.mark.parametrize(
    "entry", [{"module": "provider-none"}, _named("provider-none", "name", "wanted")]
)
async def test_a_provider_without_credentials_is_skipped_and_is_no_failure(
    entry: dict[str, Any],
) -> None:
    session, heard = _session([entry, {"module": "provider-x"}], {"provider-none": mounts_nothing})

    await session.initialize()

    assert _mounted(session) == [("x", "x#1")]
    assert heard == []
    assert session.status.failed_modules is None


async def test_what_a_skipped_provider_registered_ends_with_the_session() -> None:
    async def only_a_hook(coordinator: Any, config: dict[str, Any]) -> None:
        coordinator.hooks.register("some:event", lambda event, data: None, name="login")

    session, _ = _session(entries("provider-none"), {"provider-none": only_a_hook})
    await session.initialize()
    assert session.coordinator.hooks.list_handlers("some:event") == {"some:event": ["login"]}

    await session.cleanup()

    assert session.coordinator.hooks.list_handlers("some:event") == {"some:event": []}


async def test_a_skipped_provider_is_not_asked_to_get_ready() -> None:
    called: list[str] = []

    async def ready(coordinator: Any) -> None:
        called.append("ready")

    config = plan(providers=entries("provider-none"))
    session = session_of(config, {"provider-none": mounts_nothing}, {"provider-none": ready})

    await session.initialize()

    assert called == []


# -- the app's say --------------------------------------------------------------------


async def test_the_app_sees_each_entry_before_it_is_loaded_but_cannot_change_the_plan() -> None:
    seen: list[dict[str, Any]] = []

    async def before_load(coordinator: Any, entry: dict[str, Any]) -> None:
        seen.append({**entry, "loaded": len(coordinator.get("providers"))})
        entry["module"] = "changed"
        entry["config"]["deep"].append("changed")

    listed = [{"module": "provider-x", "config": {"deep": []}}]
    session, heard = _session(listed, before_load=before_load)

    await session.initialize()

    assert [(each["module"], each["loaded"]) for each in seen] == [("provider-x", 0)]
    assert listed == [{"module": "provider-x", "config": {"deep": []}}]
    assert heard == []


async def test_an_app_that_objects_before_loading_turns_the_provider_into_a_failure() -> None:
    async def before_load(coordinator: Any, entry: dict[str, Any]) -> None:
        if entry["module"] == "provider-x":
            raise PermissionError("not this one")

    session, heard = _session(entries("provider-x", "provider-y"), before_load=before_load)

    await session.initialize()

    assert _mounted(session) == [("y", "y#1")]
    assert heard[0][1]["error"] == "not this one"


async def test_the_app_is_told_of_a_failure_after_the_event_and_after_the_rollback() -> None:
    told: list[Any] = []
    error = ValueError("no luck")

    async def half(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("providers", Named(), name="half")
        raise error

    async def load_failure(coordinator: Any, entry: dict[str, Any], failure: Exception) -> None:
        told.append((entry, failure, dict(coordinator.get("providers")), len(heard)))

    entry = _named("provider-half", "instance_id", "a")
    session, heard = _session([entry], {"provider-half": half}, load_failure=load_failure)

    await session.initialize()

    assert told == [(entry, error, {}, 1)]
    assert told[0][0] is not entry


async def test_an_app_that_raises_on_a_failure_aborts_the_whole_session() -> None:
    async def load_failure(coordinator: Any, entry: dict[str, Any], failure: Exception) -> None:
        raise LookupError("abort") from failure

    session, heard = _session(entries("provider-x", "provider-missing"), load_failure=load_failure)

    with pytest.raises(RuntimeError, match="Session initialization failed: LookupError: abort"):
        await session.initialize()

    assert len(heard) == 1
    assert _mounted(session) == []
    assert not session.initialized


async def test_the_app_is_consulted_about_providers_only() -> None:
    async def refuse(*arguments: Any) -> None:
        raise AssertionError("not a provider")

    session = session_of(plan(tools=entries("tool-missing")))
    for name in ("provider.before_load", "provider.load_failure"):
        session.coordinator.register_capability(name, refuse)

    await session.initialize()

    assert session.status.failed_modules is not None
    assert session.status.failed_modules[0]["module_id"] == "tool-missing"
