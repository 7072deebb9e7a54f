"""Mount points, capabilities, contributions, cleanup: what modules meet first."""

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

from amplifier_core import HookRegistry, ModuleCoordinator
from facts import Facts, Named, async_message, async_outcome, message, outcome


def _session(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"session_id": "s", "parent_id": None, "config": {}, **fields})


def a_coordinator_of_its_own() -> Facts:
    made = ModuleCoordinator()
    return {
        "session_id": made.session_id,
        "parent_id": made.parent_id,
        "config": made.config,
        "session": made.session,
        "loader": made.loader,
        "approval": made.approval_system,
        "display": made.display_system,
        "limits": [made.injection_budget_per_turn, made.injection_size_limit],
        "state": made.session_state,
        "channels": made.channels,
        "hooks": isinstance(made.hooks, HookRegistry),
        "one registry": made.hooks is made.get("hooks") is made.mount_points["hooks"],
        "cancelled": made.cancellation.is_cancelled,
    }


def a_coordinator_of_a_session() -> Facts:
    config = {"session": {"injection_budget_per_turn": 5, "injection_size_limit": 7}}
    session = _session(parent_id="p", config=config)
    made = ModuleCoordinator(session, "approval", "display")
    return {
        "ids": [made.session_id, made.parent_id],
        "config": made.config is config,
        "session": made.session is session,
        "systems": [made.approval_system, made.display_system],
        "limits": [made.injection_budget_per_turn, made.injection_size_limit],
    }


def sessions_that_a_coordinator_refuses() -> Facts:
    return {
        "no id": outcome(lambda: ModuleCoordinator(SimpleNamespace(parent_id=None, config={}))),
        "no config": outcome(
            lambda: ModuleCoordinator(SimpleNamespace(session_id="s", parent_id=None))
        ),
        "number as id": outcome(lambda: ModuleCoordinator(_session(session_id=5))),
        "object": outcome(lambda: ModuleCoordinator(object())),
    }


def mount_points_at_first() -> Facts:
    points = ModuleCoordinator().mount_points
    return {
        "order": list(points),
        "values": {key: value for key, value in points.items() if key != "hooks"},
    }


def what_can_be_assigned() -> Facts:
    made = ModuleCoordinator()

    def assign(name: str, value: Any) -> Any:
        return outcome(lambda: setattr(made, name, value))

    read_only = "session_id parent_id config session hooks cancellation channels"
    return {
        **{name: assign(name, "x") for name in read_only.split()},
        "session_state": assign("session_state", {"a": 1}),
        "odd session_state": assign("session_state", []),
        "mount_points": assign("mount_points", {"tools": {}}),
        "odd mount_points": assign("mount_points", []),
        "loader": assign("loader", "l"),
        "approval_system": assign("approval_system", "a"),
        "display_system": assign("display_system", "d"),
        "anything": assign("my_own", 1),
        "kept": [made.session_state, made.loader, made.approval_system, made.my_own],
    }


async def mounting_into_single_slots() -> Facts:
    made, first, second = ModuleCoordinator(), object(), object()
    facts = {}
    for slot in ("orchestrator", "context", "module-source-resolver"):
        await made.mount(slot, first)
        await made.mount(slot, second, name="ignored")
        facts[slot] = [made.get(slot) is second, made.get(slot, "any") is second]
        await made.unmount(slot)
        facts[slot].append(made.get(slot))
    return facts


async def mounting_into_named_slots() -> Facts:
    made = ModuleCoordinator()
    facts: Facts = {}
    for slot in ("tools", "providers"):
        first, second = Named("a"), Named("b")
        await made.mount(slot, first)
        await made.mount(slot, second, name="other")
        await made.mount(slot, second, "a")
        facts[slot] = [
            list(made.get(slot)),
            made.get(slot, "a") is second,
            made.get(slot, name="other") is second,
            made.get(slot, "nobody"),
        ]
        await made.unmount(slot, "a")
        await made.unmount(slot, name="nobody")
        facts[f"{slot} left"] = list(made.get(slot))
    return facts


async def what_mounting_returns() -> Facts:
    made = ModuleCoordinator()
    return {
        "mount": await made.mount("tools", Named("a")),
        "unmount": await made.unmount("tools", "a"),
        "request_cancel": await made.request_cancel(),
        "cleanup": await made.cleanup(),
    }


async def mounting_errors() -> Facts:
    made = ModuleCoordinator()

    class Broken:
        @property
        def name(self) -> str:
            raise RuntimeError("boom")

    return {
        "unknown": await async_message(lambda: made.mount("gadgets", object())),
        "hooks": await async_message(lambda: made.mount("hooks", object())),
        "nameless tool": await async_message(lambda: made.mount("tools", object())),
        "nameless provider": await async_message(lambda: made.mount("providers", object())),
        "broken name": await async_message(lambda: made.mount("tools", Broken())),
        "number as name": await async_outcome(lambda: made.mount("tools", Named(5))),
        "unknown unmount": await async_message(lambda: made.unmount("gadgets")),
        "nameless unmount": await async_message(lambda: made.unmount("tools")),
        "hooks unmount": await async_outcome(lambda: made.unmount("hooks")) in ((), None),
        "unknown get": message(lambda: made.get("gadgets")),
    }


async def odd_names_are_accepted() -> Facts:
    made = ModuleCoordinator()
    await made.mount("tools", Named(""))
    await made.mount("tools", None, name="none")
    return {"names": list(made.get("tools")), "none": made.get("tools", "none")}


async def mounting_takes_effect_before_it_is_awaited() -> Facts:
    made = ModuleCoordinator()
    waiting = made.mount("tools", Named("a"))
    facts = {"mounted": list(made.get("tools")), "coroutine": inspect.iscoroutine(waiting)}
    await waiting
    waiting = made.unmount("tools", "a")
    facts["unmounted"] = list(made.get("tools"))
    await waiting
    return facts


def mounting_without_an_event_loop() -> Facts:
    made = ModuleCoordinator()

    def mount() -> str:
        made.mount("tools", Named("a")).close()
        return "done"

    return {"outcome": outcome(mount), "mounted": list(made.get("tools"))}


async def named_slots_are_live_dicts() -> Facts:
    made = ModuleCoordinator()
    tools = made.get("tools")
    await made.mount("tools", Named("a"))
    tools["b"] = Named("b")
    made.mount_points["context"] = "direct"
    return {
        "seen": list(tools),
        "direct": made.get("tools", "b").name,
        "same": made.get("tools") is made.mount_points["tools"],
        "context": made.get("context"),
    }


async def custom_mount_points() -> Facts:
    made = ModuleCoordinator()
    made.mount_points["gadgets"] = {}
    await made.mount("gadgets", Named("a"))
    return {"dict": list(made.mount_points["gadgets"]), "get": list(made.get("gadgets") or [])}


async def the_session_as_a_mount_point() -> Facts:
    made = ModuleCoordinator()
    return {
        "orchestrator": await async_outcome(
            lambda: made.mount("session", Named("x"), name="orchestrator")
        ),
        "mounted": made.get("orchestrator") is not None,
        "without a name": await async_message(lambda: made.mount("session", Named("x"))),
    }


async def names_that_only_documents_promise() -> Facts:
    made = ModuleCoordinator()
    await made.mount("tools", Named("a"))
    made.register_capability("c", None)
    return {
        "get_all": outcome(lambda: list(made.get_all("tools"))),
        "get_mounted": outcome(lambda: list(made.get_mounted("tools"))),
        "check_capability": outcome(
            lambda: [made.check_capability("c"), made.check_capability("d")]
        ),
    }


# -- capabilities and contributions ---------------------------------------------------


def capabilities() -> Facts:
    made = ModuleCoordinator()
    value = object()
    return {
        "returns": made.register_capability("a", value),
        "same": made.get_capability("a") is value,
        "unknown": made.get_capability("b"),
        "overwritten": [made.register_capability("a", 1), made.get_capability("a")],
        "none": [made.register_capability("n", None), made.get_capability("n")],
        "number": outcome(lambda: made.register_capability(5, 1)),
        "number asked": outcome(lambda: made.get_capability(5)),
    }


async def contributions_are_collected_in_order() -> Facts:
    made = ModuleCoordinator()

    async def later() -> str:
        return "async"

    facts = {"returns": made.register_contributor("c", "one", lambda: 1)}
    made.register_contributor("c", "two", later)
    made.register_contributor("c", "three", lambda: later())
    made.register_contributor("c", "four", lambda: None)
    made.register_contributor("c", "five", lambda: 0)
    made.register_contributor("c", "five", list)
    return {
        **facts,
        "collected": await made.collect_contributions("c"),
        "unknown": await made.collect_contributions("d"),
        "channels": [[each["name"] for each in made.channels["c"]], sorted(made.channels["c"][0])],
    }


async def contributors_that_fail_are_skipped() -> Facts:
    made = ModuleCoordinator()

    def boom() -> None:
        raise ValueError("boom")

    made.register_contributor("c", "a", boom)
    made.register_contributor("c", "b", lambda: 1)
    made.register_contributor("c", "c", "not callable")
    made.register_contributor("c", "d", lambda: 2)
    return {"collected": await made.collect_contributions("c")}


async def contributors_that_raise_cancelled_end_the_collection() -> Facts:
    made = ModuleCoordinator()

    async def cancelled() -> None:
        raise asyncio.CancelledError

    made.register_contributor("c", "a", lambda: 1)
    made.register_contributor("c", "b", cancelled)
    made.register_contributor("c", "c", lambda: 2)
    return {"collected": await async_outcome(lambda: made.collect_contributions("c"))}


async def contributors_that_give_futures() -> Facts:
    made = ModuleCoordinator()
    future = asyncio.get_running_loop().create_future()
    future.set_result(7)
    made.register_contributor("c", "a", lambda: future)
    return {"collected": await made.collect_contributions("c")}


async def channels_asked_for_as_capabilities() -> Facts:
    made = ModuleCoordinator()
    made.register_contributor("observability.events", "a", lambda: ["x", "y"])
    facts = {"contributions": made.get_capability("observability.events")}
    made.register_capability("observability.events", ["own"])
    return {**facts, "registered": made.get_capability("observability.events")}


# -- cleanup --------------------------------------------------------------------------


async def cleanups_run_newest_first() -> Facts:
    made, log = ModuleCoordinator(), []

    async def later() -> None:
        log.append("async")

    made.register_cleanup(lambda: log.append("sync"))
    made.register_cleanup(later)
    made.register_cleanup(lambda: later())
    facts = {
        "returns": made.register_cleanup(lambda: log.append("last")),
        "none": made.register_cleanup(None),
        "text": made.register_cleanup("text"),
    }
    await made.cleanup()
    return {**facts, "ran": log}


async def cleanups_that_fail_are_skipped() -> Facts:
    made, log = ModuleCoordinator(), []

    def boom() -> None:
        raise ValueError("boom")

    for fn in (lambda: log.append(1), boom, lambda: log.append(2)):
        made.register_cleanup(fn)
    return {"outcome": await async_outcome(made.cleanup) in ((), None), "ran": log}


async def cleanups_that_must_not_be_swallowed() -> Facts:
    made, log = ModuleCoordinator(), []

    async def cancelled() -> None:
        raise asyncio.CancelledError

    for fn in (lambda: log.append(1), cancelled, lambda: log.append(2)):
        made.register_cleanup(fn)
    return {"outcome": await async_outcome(made.cleanup), "ran": log}


async def cleaning_up_twice() -> Facts:
    made, log = ModuleCoordinator(), []
    made.register_cleanup(lambda: log.append(1))
    await made.cleanup()
    await made.cleanup()
    return {"ran": log}


# -- the rest -------------------------------------------------------------------------


async def as_a_dict() -> Facts:
    made = ModuleCoordinator()
    facts = {"empty": made.to_dict()}
    await made.mount("tools", Named("t"))
    await made.mount("providers", Named("p"))
    await made.mount("context", object())
    await made.mount("orchestrator", object())
    made.register_capability("c", 1)
    made.approval_system = made.display_system = object()
    facts["full"] = made.to_dict()
    made.approval_system = None
    return {**facts, "approval taken back": made.to_dict()["has_approval_provider"]}


def as_a_dict_with_systems_from_the_constructor() -> Facts:
    made = ModuleCoordinator(None, object(), object())
    return {
        "approval": made.to_dict()["has_approval_provider"],
        "display": made.to_dict()["has_display_service"],
    }


def as_a_dict_after_the_display_went() -> Facts:
    made = ModuleCoordinator()
    made.display_system = object()
    made.display_system = None
    return {"display": made.to_dict()["has_display_service"]}


async def cancelling_through_the_coordinator() -> Facts:
    made, log = ModuleCoordinator(), []
    made.cancellation.on_cancel(lambda: log.append("called"))
    made.hooks.register("cancel:requested", lambda event, data: log.append(event))
    await made.request_cancel()
    states = [made.cancellation.state]
    await made.request_cancel(immediate=True)
    states.append(made.cancellation.state)
    await made.request_cancel()
    return {"states": [*states, made.cancellation.state], "called": log}


def turns() -> Facts:
    made = ModuleCoordinator()
    made._current_turn_injections = 5
    made.cancellation.request_graceful()
    return {
        "returns": made.reset_turn(),
        "counter": made._current_turn_injections,
        "still cancelled": made.cancellation.is_cancelled,
        "negative": outcome(lambda: setattr(made, "_current_turn_injections", -1)),
    }


def limits_are_read_live() -> Facts:
    config: Facts = {"session": {}}
    made = ModuleCoordinator(_session(config=config))
    before = [made.injection_size_limit, made.injection_budget_per_turn]
    config["session"].update(injection_size_limit=5, injection_budget_per_turn=6)
    return {"before": before, "after": [made.injection_size_limit, made.injection_budget_per_turn]}


def subclasses_of_the_coordinator() -> Facts:
    class Silent(ModuleCoordinator):
        def __init__(self) -> None:
            self.mine = 1

    class Forwarding(ModuleCoordinator):
        def __new__(cls) -> Any:
            return super().__new__(cls, _session(session_id="sub"))

        def __init__(self) -> None:
            pass

    silent, forwarding = Silent(), Forwarding()
    return {
        "silent": [silent.session_id, silent.mine, list(silent.mount_points)],
        "forwarding": forwarding.session_id,
    }


def subclasses_with_arguments_of_their_own() -> Facts:
    class Special(ModuleCoordinator):
        def __init__(self, session: Any, color: str) -> None:
            super().__init__(session)
            self.color = color

    return {"made": outcome(lambda: Special(_session(), "red").color)}


async def state_of_a_session_is_a_plain_dict() -> Facts:
    made = ModuleCoordinator()
    made.session_state["a"] = 1
    other = ModuleCoordinator()
    return {"mine": made.session_state, "other": other.session_state}
