"""Initializing: what is mounted in which order, what fails, who is told."""

import asyncio
from typing import Any

from facts import (
    Facts,
    Loop,
    Memory,
    Named,
    async_message,
    async_outcome,
    entries,
    failing,
    mounting,
    plan,
    session_of,
    trace,
    until,
)


async def _started(config: Facts, modules: Facts | None = None, **options: Any) -> Facts:
    """How an initialization went: its error, what is mounted, what was emitted."""
    session = session_of(config, modules, **options)
    heard = trace(session)
    error = await async_message(session.initialize)
    return {
        "error": error or None,
        "initialized": session.initialized,
        "tools": list(session.coordinator.get("tools")),
        "providers": list(session.coordinator.get("providers")),
        "events": heard,
        "asked": session.coordinator.loader.asked,
    }


def _logging(name: str, log: list[str], point: str = "tools") -> Any:
    async def mount(coordinator: Any, config: Facts) -> None:
        log.append(name)
        await coordinator.mount(point, Loop(), name=name)

    return mount


async def modules_are_mounted_in_order() -> Facts:
    log: list[str] = []
    config = plan(hooks=entries("h"), tools=entries("t1", "t2"), providers=entries("p1", "p2"))
    modules = {name: _logging(name, log) for name in ("t1", "t2", "h")}
    modules |= {name: _logging(name, log, "providers") for name in ("p1", "p2")}
    modules |= {
        "loop": _logging("loop", log, "orchestrator"),
        "memory": _logging("memory", log, "context"),
    }
    facts = await _started(config, modules)
    return {**facts, "log": log}


async def a_plan_with_dicts() -> Facts:
    session = {
        "orchestrator": {"module": "loop", "source": "here", "config": {"a": 1}},
        "context": {"module": "memory", "config": {"b": 2}},
    }
    return await _started({"session": session})


async def a_plan_with_names() -> Facts:
    config = plan(
        {"orchestrator_source": "here", "context_source": "there"},
        orchestrator={"config": {"a": 1}},
        context={"config": {"b": 2}},
    )
    return await _started(config)


async def sources_and_configs_reach_the_loader() -> Facts:
    tools = [{"module": "t", "source": "git+x", "config": {"a": 1}}, {"module": "u"}]
    modules = {name: mounting("tools", Loop, name) for name in ("t", "u")}
    return {"asked": (await _started(plan(tools=tools), modules))["asked"]}


async def an_orchestrator_that_fails() -> Facts:
    facts = await _started(plan(), {"loop": failing(ValueError("boom"))})
    return {key: facts[key] for key in ("error", "initialized", "events")}


async def a_context_that_fails() -> Facts:
    facts = await _started(plan(), {"memory": failing(ValueError("boom"))})
    return {key: facts[key] for key in ("error", "initialized", "events")}


async def an_orchestrator_that_is_missing() -> Facts:
    facts = await _started(plan({"orchestrator": "nowhere"}))
    return {"error": facts["error"], "initialized": facts["initialized"]}


async def causes_of_a_failed_start() -> Facts:
    session = session_of(modules={"loop": failing(ValueError("boom"))})
    try:
        await session.initialize()
    except RuntimeError as error:
        return {"cause": type(error.__cause__).__name__}
    return {}


async def what_a_failed_start_leaves() -> Facts:
    log: list[str] = []

    async def mount(coordinator: Any, config: Facts) -> Any:
        await coordinator.mount("orchestrator", Loop())
        return lambda: log.append("cleaned")

    session = session_of(modules={"loop": mount, "memory": failing(ValueError("boom"))})
    await async_outcome(session.initialize)
    return {"mounted": session.coordinator.get("orchestrator") is not None, "cleaned": log}


async def starting_again_after_a_failure() -> Facts:
    broken = [True]

    async def sometimes(coordinator: Any, config: Facts) -> None:
        if broken:
            broken.clear()
            raise ValueError("boom")
        await coordinator.mount("context", Memory())

    session = session_of(modules={"memory": sometimes})
    first = await async_outcome(session.initialize)
    await session.initialize()
    return {"first": first, "initialized": session.initialized}


async def tools_and_hooks_that_fail_are_left_out() -> Facts:
    config = plan(tools=entries("bad", "good"), hooks=entries("worse"))
    modules = {
        "bad": failing(ValueError("boom")),
        "good": mounting("tools", Loop, "good"),
        "worse": failing(RuntimeError("bang")),
    }
    return await _started(config, modules)


async def failures_of_loading_are_reported_alike() -> Facts:
    facts = await _started(plan(tools=entries("nowhere")))
    return {"events": facts["events"], "initialized": facts["initialized"]}


async def reasons_of_failures() -> Facts:
    from amplifier_core.loader import ModuleValidationError
    from amplifier_core.module_sources import ModuleNotFoundError

    errors = {
        "missing": ModuleNotFoundError("x"),
        "validation": ModuleValidationError("x"),
        "layout": ModuleValidationError("x", reason_code="invalid_package_layout"),
        "other": ImportError("x"),
    }
    modules = {name: failing(error) for name, error in errors.items()}
    facts = await _started(plan(tools=entries(*errors)), modules)
    return {data["module_id"]: data["reason_code"] for _, data in facts["events"]}


async def half_a_tool() -> Facts:
    async def mount(coordinator: Any, config: Facts) -> None:
        await coordinator.mount("tools", Loop(), name="half")
        raise ValueError("boom")

    return {"tools": (await _started(plan(tools=entries("half")), {"half": mount}))["tools"]}


async def errors_that_are_no_exceptions_end_the_start() -> Facts:
    async def cancelled(coordinator: Any, config: Facts) -> None:
        raise asyncio.CancelledError

    session = session_of(plan(tools=entries("t")), {"t": cancelled})
    outcome = await async_outcome(session.initialize)
    return {"fails": isinstance(outcome, str), "initialized": session.initialized}


async def types_of_errors_that_are_no_exceptions() -> Facts:
    async def cancelled(coordinator: Any, config: Facts) -> None:
        raise asyncio.CancelledError

    session = session_of(plan(tools=entries("t")), {"t": cancelled})
    return {"outcome": await async_outcome(session.initialize)}


async def entries_without_a_module() -> Facts:
    facts = await _started(plan(tools=[{"config": {}}]))
    return {"initialized": facts["initialized"], "events": facts["events"]}


async def sections_of_a_wrong_type() -> Facts:
    async def started(value: Any) -> bool:
        return bool((await _started(plan(tools=value)))["initialized"])

    return {"none": await started(None), "text": await started(["t"]), "empty": await started([])}


async def unknown_sections_and_keys() -> Facts:
    config = plan({"unheard": 1}, agents={"dirs": []}, unheard={"of": 1})
    return {"initialized": (await _started(config))["initialized"]}


async def unknown_keys_of_an_entry() -> Facts:
    config = plan(tools=[{"module": "t", "confg": {}}])
    facts = await _started(config, {"t": mounting("tools", Loop, "t")})
    return {"initialized": facts["initialized"]}


async def an_empty_plan() -> Facts:
    return await _started(plan(providers=[], tools=[], hooks=[]))


async def instances_returned_by_mount() -> Facts:
    log: list[str] = []

    class Closing:
        name = "closing"

        def cleanup(self) -> None:
            log.append("cleaned")

    async def mount(coordinator: Any, config: Facts) -> Any:
        tool = Closing()
        await coordinator.mount("tools", tool)
        return tool

    session = session_of(plan(tools=entries("t")), {"t": mount})
    await session.initialize()
    await session.cleanup()
    return {"cleaned": log}


async def a_session_on_the_coordinator() -> Facts:
    seen: list[bool] = []
    session = session_of()

    async def mount(coordinator: Any, config: Facts) -> None:
        seen.append(coordinator.session.session_id == "s-1")
        await coordinator.mount("context", Memory())

    session.coordinator.loader.modules["memory"] = mount
    await session.initialize()
    return {"during": seen, "after": session.coordinator.session is session}


# -- on_session_ready -----------------------------------------------------------------


async def modules_get_ready_when_all_are_mounted() -> Facts:
    log: list[Any] = []

    def ready(name: str) -> Any:
        async def on_ready(coordinator: Any) -> str:
            log.append([name, list(coordinator.get("tools"))])
            return "ignored"

        return on_ready

    names = ("loop", "memory", "a", "b")
    config = plan(tools=entries("a", "b"))
    modules = {name: mounting("tools", Loop, name) for name in ("a", "b")}
    session = session_of(config, modules, {name: ready(name) for name in names})
    await session.initialize()
    return {"log": log, "queue": session.coordinator.loader.queue}


async def modules_that_cannot_get_ready_are_reported() -> Facts:
    log: list[str] = []

    async def boom(coordinator: Any) -> None:
        raise ValueError("boom")

    async def fine(coordinator: Any) -> None:
        log.append("fine")

    modules = {name: mounting("tools", Loop, name) for name in ("a", "b")}
    session = session_of(plan(tools=entries("a", "b")), modules, {"a": boom, "b": fine})
    heard = trace(session)
    await session.initialize()
    return {"events": heard, "log": log, "tools": list(session.coordinator.get("tools"))}


async def modules_that_failed_are_not_asked_to_get_ready() -> Facts:
    log: list[str] = []

    async def on_ready(coordinator: Any) -> None:
        log.append("asked")

    session = session_of(plan(tools=entries("a")), {"a": failing(ValueError("x"))}, {"a": on_ready})
    await session.initialize()
    return {"log": log}


# -- forks ----------------------------------------------------------------------------


async def a_child_announces_itself() -> Facts:
    session = session_of(parent_id="p")
    heard = trace(session)
    await session.initialize()
    event, data = heard[0]
    known = "parent session_id parent_id metadata raw"
    return {
        "event": event,
        "count": len(heard),
        "data": {key: data[key] for key in known.split() if key in data},
        "child": data.get("child_id"),
    }


async def a_child_with_metadata() -> Facts:
    config = plan({"metadata": {"agent": "x"}, "raw": True}, api={"api_key": "secret", "url": "u"})
    session = session_of(config, parent_id="p")
    heard = trace(session)
    await session.initialize()
    return {"metadata": heard[0][1]["metadata"], "raw": heard[0][1]["raw"]}


async def a_session_without_a_parent_announces_nothing() -> Facts:
    return {
        "none": (await _started(plan()))["events"],
        "empty": (await _started(plan(), parent_id=""))["events"],
    }


async def ready_before_fork() -> Facts:
    log: list[str] = []

    async def on_ready(coordinator: Any) -> None:
        log.append("ready")

    session = session_of(ready={"loop": on_ready}, parent_id="p")
    session.coordinator.hooks.register("session:fork", lambda event, data: log.append(event))
    await session.initialize()
    return {"log": log}


async def names_of_mounted_modules_are_their_own() -> Facts:
    modules = {"t": mounting("tools", lambda: Named("own"))}
    return {"tools": (await _started(plan(tools=entries("t")), modules))["tools"]}


async def an_approval_module_in_the_plan() -> Facts:
    class Approvals:
        async def request_approval(self, *arguments: Any) -> str:
            return "Allow"

    async def mount(coordinator: Any, config: Facts) -> Any:
        coordinator.approval_system = Approvals()

    session = session_of(plan({"approval": {"module": "people"}}), {"people": mount})
    await session.initialize()
    return {"system": type(session.coordinator.approval_system).__name__}


async def mounting_has_a_deadline() -> Facts:
    async def slow(coordinator: Any, config: Facts) -> None:
        await asyncio.sleep(0.05)
        await coordinator.mount("tools", Loop(), name="slow")

    config = plan({"mount_timeout": 0.01}, tools=entries("slow"))
    return {"tools": (await _started(config, {"slow": slow}))["tools"]}


async def cancelling_a_start() -> Facts:
    started, release, log = asyncio.Event(), asyncio.Event(), []

    async def hang(coordinator: Any, config: Facts) -> None:
        await coordinator.mount("context", Memory())
        started.set()
        try:
            await release.wait()
            await coordinator.mount("tools", Loop(), name="late")
            log.append("went on")
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    session = session_of(modules={"memory": hang})
    task = asyncio.ensure_future(session.initialize())
    await started.wait()
    task.cancel()
    outcome = await async_outcome(lambda: task)
    release.set()
    await until(lambda: log)
    return {
        "outcome": outcome,
        "module": log,
        "context": session.coordinator.get("context") is not None,
    }


async def the_session_as_seen_by_a_sync_handler() -> Facts:
    session, seen = session_of(parent_id="p"), []

    def look(event: str, data: Any) -> None:
        seen.append(session.initialized)

    session.coordinator.hooks.register("session:fork", look)
    await async_outcome(session.initialize)
    return {"seen": seen}


async def failures_in_the_status() -> Facts:
    session = session_of(plan(tools=entries("bad")), {"bad": failing(ValueError("boom"))})
    await session.initialize()
    status = getattr(session, "status", None)
    return {"failed": status and [each["module_id"] for each in status.failed_modules]}
