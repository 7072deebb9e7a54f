"""Making a session, ending it, and what it is in between."""

import asyncio
from typing import Any

from amplifier_core import AmplifierSession
from facts import (
    Facts,
    Loop,
    Shelf,
    async_message,
    async_outcome,
    entries,
    message,
    mounting,
    outcome,
    plan,
    session_of,
    trace,
)


def _made(config: Any, **options: Any) -> Any:
    return message(lambda: type(AmplifierSession(config, **options)).__name__ and "made")


def configs_that_are_refused() -> Facts:
    return {
        "empty": _made({}),
        "no session": _made({"tools": []}),
        "empty session": _made({"session": {}}),
        "no orchestrator": _made({"session": {"context": "c"}}),
        "orchestrator none": _made({"session": {"orchestrator": None, "context": "c"}}),
        "no context": _made({"session": {"orchestrator": "o"}}),
        "context none": _made({"session": {"orchestrator": "o", "context": None}}),
        "both": _made({"session": {"orchestrator": "o", "context": "c"}}),
        "dicts": _made({"session": {"orchestrator": {"module": "o"}, "context": {"module": "c"}}}),
    }


def configs_of_a_wrong_type() -> Facts:
    return {
        "text": outcome(lambda: AmplifierSession("text")),
        "list": outcome(lambda: AmplifierSession([])),
        "missing": outcome(lambda: AmplifierSession()),
    }


def no_config_at_all() -> Facts:
    return {"none": outcome(lambda: AmplifierSession(None))}


def a_session_section_of_a_wrong_type() -> Facts:
    return {
        "none": outcome(lambda: AmplifierSession({"session": None})),
        "text": outcome(lambda: AmplifierSession({"session": "x"})),
    }


def empty_names_of_required_modules() -> Facts:
    return {"empty": str(_made({"session": {"orchestrator": "", "context": "c"}}))[:6]}


def configs_that_json_cannot_hold() -> Facts:
    return {
        "object": _made(plan(extra=object())),
        "nan": str(_made(plan(extra=float("nan"))))[:6],
        "tuple key": str(_made(plan(extra={(1, 2): 3})))[:6],
    }


def ids_of_a_session() -> Facts:
    def made(**options: Any) -> AmplifierSession:
        return AmplifierSession(plan(), **options)

    return {
        "given": made(session_id="mine").session_id,
        "generated": made().session_id,
        "generated when resumed": made(is_resumed=True).session_id,
        "unique": made().session_id != made().session_id,
        "parent": [made().parent_id, made(parent_id="p").parent_id],
        "number": outcome(lambda: made(session_id=5)),
    }


def an_empty_id() -> Facts:
    return {"id": AmplifierSession(plan(), session_id="").session_id}


def attributes_of_a_new_session() -> Facts:
    config = plan()
    session = AmplifierSession(config, None, "s", "p", "approval", "display", True)
    return {
        "ids": [session.session_id, session.parent_id],
        "config": [session.config is config, session.coordinator.config is config],
        "flags": [session.initialized, session.is_resumed],
        "systems": [session.coordinator.approval_system, session.coordinator.display_system],
        "coordinator": [session.coordinator.session_id, session.coordinator.parent_id],
        "loader": session.coordinator.loader,
        "session": session.coordinator.session.session_id,
        "hooks": session.coordinator.hooks.list_handlers(),
    }


def status_and_loader_of_a_session() -> Facts:
    session = AmplifierSession(plan(), session_id="s")
    return {
        "status": outcome(lambda: session.status.status),
        "loader": outcome(lambda: type(session.loader).__name__),
        "real session": session.coordinator.session is session,
    }


def a_session_is_an_ordinary_object() -> Facts:
    import weakref

    session = AmplifierSession(plan())
    return {
        "attribute": outcome(lambda: setattr(session, "my_own", 1)),
        "weak reference": outcome(lambda: weakref.ref(session)() is session),
        "subclass": outcome(lambda: type("Mine", (AmplifierSession,), {}).__name__),
    }


async def a_loader_given_at_construction() -> Facts:
    shelf = Shelf({})
    session = AmplifierSession(plan(), loader=shelf)
    return {"used": session.coordinator.loader is shelf}


async def events_carry_the_session() -> Facts:
    session = session_of(parent_id="p")
    heard = trace(session, ["custom"])
    await session.coordinator.hooks.emit("custom", {"a": 1})
    return {"heard": heard}


async def initializing_twice() -> Facts:
    session = session_of()
    await session.initialize()
    await session.initialize()
    return {"loads": len(session.coordinator.loader.asked), "initialized": session.initialized}


async def initializing_at_the_same_time() -> Facts:
    mounts = []

    async def slow(coordinator: Any, config: Facts) -> None:
        mounts.append(1)
        await asyncio.sleep(0)
        await coordinator.mount("orchestrator", Loop())

    session = session_of(modules={"loop": slow})
    await asyncio.gather(*(session.initialize() for _ in range(3)))
    return {"mounts": len(mounts), "initialized": session.initialized}


async def what_lifecycle_methods_return() -> Facts:
    session = session_of()
    return {"initialize": await session.initialize(), "cleanup": await session.cleanup()}


async def a_session_as_context_manager() -> Facts:
    session = session_of()
    heard = trace(session)
    async with session as entered:
        facts = {"same": entered is session, "initialized": session.initialized}
        await session.execute("hi")
    return {**facts, "after": session.initialized, "events": [event for event, _ in heard]}


async def errors_leave_the_context_manager() -> Facts:
    session = session_of()

    async def body() -> None:
        async with session:
            raise ValueError("mine")

    return {"outcome": await async_message(body), "initialized": session.initialized}


async def a_context_manager_that_cannot_enter() -> Facts:
    log: list[str] = []

    async def broken(coordinator: Any, config: Facts) -> None:
        coordinator.register_cleanup(lambda: log.append("cleaned"))
        raise ValueError("boom")

    session = session_of(modules={"memory": broken})

    async def body() -> None:
        async with session:
            log.append("never")

    return {"outcome": await async_message(body), "log": log, "initialized": session.initialized}


async def leaving_without_entering() -> Facts:
    session, log = session_of(), []
    session.coordinator.register_cleanup(lambda: log.append("cleaned"))
    heard = trace(session)
    result = await session.__aexit__(None, None, None)
    return {"falsy": not result, "log": log, "events": heard}


# -- cleanup --------------------------------------------------------------------------


async def order_of_the_end() -> Facts:
    session, log = session_of(), []
    await session.initialize()
    session.coordinator.hooks.register("session:end", lambda event, data: log.append(event))
    session.coordinator.register_cleanup(lambda: log.append("first registered"))
    session.coordinator.register_cleanup(lambda: log.append(f"initialized {session_flag()}"))

    def session_flag() -> bool:
        # Asked from a plain function on purpose: modules do so.
        return outcome(lambda: session.initialized) is not False

    await session.cleanup()
    return {"log": log, "initialized": session.initialized}


async def the_last_event() -> Facts:
    session = session_of(parent_id="p")
    heard = trace(session, ["session:end"])
    await session.initialize()
    await session.cleanup()
    ((event, data),) = heard
    return {
        "event": event,
        "session": data["session_id"],
        "parent": data["parent_id"],
        "status": data.get("status"),
    }


async def ending_twice() -> Facts:
    session, log = session_of(), []
    heard = trace(session, ["session:end"])
    await session.initialize()
    session.coordinator.register_cleanup(lambda: log.append("cleaned"))
    await session.cleanup()
    await session.cleanup()
    return {"events": len(heard), "cleanups": log}


async def ending_what_never_began() -> Facts:
    session, log = session_of(), []
    heard = trace(session)
    session.coordinator.register_cleanup(lambda: log.append("cleaned"))
    await session.cleanup()
    return {"events": heard, "cleanups": log}


async def cleanups_of_modules_run_in_reverse() -> Facts:
    log: list[str] = []

    def leaving(name: str) -> Any:
        async def mount(coordinator: Any, config: Facts) -> Any:
            return lambda: log.append(name)

        return mount

    session = session_of(plan(tools=entries("a", "b")), {"a": leaving("a"), "b": leaving("b")})
    await session.initialize()
    await session.cleanup()
    return {"log": log}


async def cleanups_that_fail_do_not_stop_the_end() -> Facts:
    session, log = session_of(), []

    def boom() -> None:
        raise ValueError("boom")

    async def later_boom() -> None:
        raise ValueError("boom")

    await session.initialize()
    for cleanup in (lambda: log.append(1), boom, later_boom, lambda: log.append(2)):
        session.coordinator.register_cleanup(cleanup)
    facts = {"outcome": await async_outcome(session.cleanup) in ((), None)}
    return {**facts, "log": log, "initialized": session.initialized}


async def ctrl_c_in_a_cleanup() -> Facts:
    session, log = session_of(), []

    async def cancelled() -> None:
        raise asyncio.CancelledError

    await session.initialize()
    session.coordinator.register_cleanup(lambda: log.append("last"))
    session.coordinator.register_cleanup(cancelled)
    return {"raised": str(await async_outcome(session.cleanup))[:6], "log": log}


async def what_is_mounted_after_the_end() -> Facts:
    session = session_of(plan(tools=entries("a")), {"a": mounting("tools", Loop, "a")})
    await session.initialize()
    before = list(session.coordinator.get("tools"))
    await session.cleanup()
    return {"before": before, "after": list(session.coordinator.get("tools"))}


async def the_loader_at_the_end() -> Facts:
    session = session_of()
    await session.initialize()
    await session.cleanup()
    return {"cleanups": session.coordinator.loader.cleanups}


async def a_second_life() -> Facts:
    session = session_of(parent_id="p")
    heard = trace(session)
    for _ in range(2):
        await session.initialize()
        await session.execute("hi")
        await session.cleanup()
    return {"events": [event for event, _ in heard]}


async def capabilities_and_hooks_outlive_the_end() -> Facts:
    session = session_of()
    await session.initialize()
    session.coordinator.register_capability("c", 1)
    session.coordinator.hooks.register("e", lambda event, data: None, name="mine")
    await session.cleanup()
    return {
        "capability": session.coordinator.get_capability("c"),
        "hooks": session.coordinator.hooks.list_handlers("e"),
    }


async def forking_by_method() -> Facts:
    session = session_of()
    return {"child": outcome(lambda: session.fork(session_id="c").parent_id)}


async def cleanup_of_children() -> Facts:
    session = session_of()
    return {"outcome": str(await async_outcome(lambda: session.cleanup(cascade_children=True)))[:6]}


async def what_a_session_leaves_in_memory() -> Facts:
    import gc
    import weakref

    async def live() -> Any:
        session = session_of()
        await session.initialize()
        loop = weakref.ref(session.coordinator.get("orchestrator"))
        await session.execute("hi")
        await session.cleanup()
        return loop

    loop = await live()
    gc.collect()
    return {"freed": loop() is None}
