"""Executing: what the orchestrator gets, what is emitted, what becomes of errors."""

import asyncio
from typing import Any

from amplifier_core import RateLimitError
from facts import (
    Facts,
    Loop,
    async_message,
    async_outcome,
    entries,
    mounting,
    plan,
    session_of,
    trace,
    until,
)


async def _session(answer: Any = "done", config: Facts | None = None, **options: Any) -> Any:
    loop = Loop(answer)
    session = session_of(config, {"loop": mounting("orchestrator", lambda: loop)}, **options)
    await session.initialize()
    return session, loop


async def the_answer_of_a_turn() -> Facts:
    class Text(str):
        pass

    session, _ = await _session("hello")
    other, _ = await _session(Text("special"))
    return {"answer": await session.execute("hi"), "subclass": await other.execute("hi")}


async def answers_that_are_no_text() -> Facts:
    async def outcome(answer: Any) -> Any:
        session, _ = await _session(answer)
        return isinstance(await async_outcome(lambda: session.execute("x")), str)

    return {"number": await outcome(5), "none": await outcome(None)}


async def type_of_the_error_for_answers_that_are_no_text() -> Facts:
    session, _ = await _session(5)
    return {"outcome": await async_outcome(lambda: session.execute("x"))}


async def what_the_orchestrator_gets() -> Facts:
    config = plan(tools=entries("t"), providers=entries("provider-p"))
    loop = Loop()
    modules = {
        "loop": mounting("orchestrator", lambda: loop),
        "t": mounting("tools", Loop, "t"),
        "provider-p": mounting("providers", Loop, "p"),
    }
    session = session_of(config, modules)
    await session.initialize()
    await session.execute("hi")
    (call,) = loop.calls
    coordinator = session.coordinator
    return {
        "arguments": sorted(call),
        "prompt": call["prompt"],
        "context": call["context"] is coordinator.get("context"),
        "tools": call["tools"] is coordinator.get("tools"),
        "providers": call["providers"] is coordinator.get("providers"),
        "hooks": call["hooks"] is coordinator.hooks,
        "coordinator": call["coordinator"] is coordinator,
    }


async def orchestrators_that_take_no_coordinator() -> Facts:
    class Documented:
        async def execute(
            self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any
        ) -> str:
            return "done"

    session = session_of(modules={"loop": mounting("orchestrator", Documented)})
    await session.initialize()
    return {"outcome": await async_outcome(lambda: session.execute("hi"))}


async def prompts() -> Facts:
    session, loop = await _session()
    facts = {
        "number": await async_outcome(lambda: session.execute(5)),
        "missing": await async_outcome(lambda: session.execute()),
        "empty": await async_outcome(lambda: session.execute("")),
        "by keyword": await async_outcome(lambda: session.execute(prompt="p")),
    }
    return {**facts, "prompts": [call["prompt"] for call in loop.calls]}


async def prompts_with_broken_text() -> Facts:
    session, _ = await _session()
    return {"outcome": await async_outcome(lambda: session.execute("a\ud800b"))}


async def executing_before_initializing() -> Facts:
    session = session_of()
    return {"outcome": await async_outcome(lambda: session.execute("hi"))}


async def a_session_starts_once() -> Facts:
    session, _ = await _session(config=plan({"metadata": {"user": "ada"}}))
    heard = trace(session)
    await session.execute("one")
    await session.execute("two")
    return {"events": heard}


async def a_session_starts_once_for_turns_at_the_same_time() -> Facts:
    session, _ = await _session()
    heard = trace(session)
    await asyncio.gather(*(session.execute(str(n)) for n in range(3)))
    return {"events": [event for event, _ in heard]}


async def a_resumed_session() -> Facts:
    session, _ = await _session(is_resumed=True, parent_id="p")
    heard = trace(session)
    await session.execute("one")
    await session.execute("two")
    return {"events": heard}


async def metadata_without_content() -> Facts:
    session, _ = await _session(config=plan({"metadata": {}}))
    heard = trace(session)
    await session.execute("one")
    return {"keys": sorted(heard[0][1])}


async def metadata_changed_after_construction() -> Facts:
    config = plan({"metadata": {"v": 1}})
    session, _ = await _session(config=config)
    config["session"]["metadata"] = {"v": 2}
    heard = trace(session)
    await session.execute("one")
    return {"metadata": heard[0][1]["metadata"]}


async def the_raw_config_is_redacted() -> Facts:
    config = plan({"raw": True}, providers=[], extra={"API_KEY": "x", "Token": "y", "keep": "z"})
    session, _ = await _session(config=config)
    heard = trace(session)
    await session.execute("one")
    raw = heard[1][1]["raw"]
    return {
        "events": [event for event, _ in heard],
        "keys": sorted(heard[1][1]),
        "extra": raw["extra"],
        "session": raw["session"],
    }


async def the_raw_config_in_later_turns() -> Facts:
    session, _ = await _session(config=plan({"raw": True}))
    heard = trace(session)
    await session.execute("one")
    await session.execute("two")
    return {"events": [event for event, _ in heard]}


async def a_denied_start_does_not_stop_the_turn() -> Facts:
    from amplifier_core import HookResult

    session, _ = await _session()
    session.coordinator.hooks.register(
        "session:start", lambda event, data: HookResult(action="deny", reason="no")
    )
    return {"answer": await session.execute("hi")}


async def errors_of_the_orchestrator() -> Facts:
    session, _ = await _session(ValueError("boom"))
    heard = trace(session, ["session:end", "cancel:completed"])
    outcome = await async_message(lambda: session.execute("hi"))
    return {"fails": "boom" in outcome, "events": heard, "initialized": session.initialized}


async def types_of_errors_of_the_orchestrator() -> Facts:
    async def outcome(error: BaseException) -> Any:
        session, _ = await _session(error)
        return await async_message(lambda: session.execute("hi"))

    return {
        "value": await outcome(ValueError("boom")),
        "rate limit": await outcome(RateLimitError("slow down", retry_after=5)),
        "cancelled": await outcome(asyncio.CancelledError()),
    }


async def a_turn_after_a_failed_one() -> Facts:
    session, loop = await _session(ValueError("boom"))
    await async_outcome(lambda: session.execute("hi"))
    loop.answer = "fine"
    return {"answer": await session.execute("hi")}


async def a_cancelled_turn_that_ends_well() -> Facts:
    async def facts(request: str) -> Any:
        async def answer(coordinator: Any, **arguments: Any) -> str:
            getattr(coordinator.cancellation, request)()
            return "partial"

        session, _ = await _session(answer)
        heard = trace(session, ["cancel:completed"])
        return [await session.execute("hi"), heard]

    return {name: await facts(name) for name in ("request_graceful", "request_immediate")}


async def a_cancelled_turn_that_fails() -> Facts:
    async def answer(coordinator: Any, **arguments: Any) -> str:
        coordinator.cancellation.request_immediate()
        raise ValueError("stopped")

    session, _ = await _session(answer)
    heard = trace(session, ["cancel:completed"])
    outcome = await async_message(lambda: session.execute("hi"))
    return {"events": heard, "fails": "stopped" in outcome}


async def a_cancelled_token_stays_cancelled() -> Facts:
    session, _ = await _session()
    heard = trace(session, ["cancel:completed"])
    session.coordinator.cancellation.request_graceful()
    await session.execute("one")
    await session.execute("two")
    session.coordinator.cancellation.reset()
    await session.execute("three")
    return {"events": len(heard)}


async def cancelling_the_task_of_a_turn() -> Facts:
    log: list[str] = []
    started, release = asyncio.Event(), asyncio.Event()

    async def answer(**arguments: Any) -> str:
        started.set()
        try:
            await release.wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        log.append("went on")
        return "done"

    session, _ = await _session(answer)
    heard = trace(session, ["cancel:completed"])
    task = asyncio.ensure_future(session.execute("hi"))
    await started.wait()
    task.cancel()
    outcome = await async_outcome(lambda: task)
    release.set()
    await until(lambda: log)
    return {"outcome": outcome, "events": heard, "orchestrator": log}


async def turns_at_the_same_time() -> Facts:
    async def answer(prompt: str, **arguments: Any) -> str:
        await asyncio.sleep(0)
        return prompt.upper()

    session, _ = await _session(answer)
    return {"answers": await asyncio.gather(*(session.execute(p) for p in "abc"))}


async def a_turn_within_a_turn() -> Facts:
    async def answer(prompt: str, **arguments: Any) -> str:
        return "inner" if prompt == "deep" else f"outer of {await session.execute('deep')}"

    session, _ = await _session(answer)
    return {"answer": await session.execute("hi")}


async def a_session_without_an_orchestrator() -> Facts:
    session, _ = await _session()
    session.coordinator.mount_points["orchestrator"] = None
    return {"fails": isinstance(await async_outcome(lambda: session.execute("hi")), str)}


async def a_session_without_a_context() -> Facts:
    session, loop = await _session()
    session.coordinator.mount_points["context"] = None
    await session.execute("hi")
    return {"context": loop.calls[0]["context"], "providers": loop.calls[0]["providers"]}


async def executing_after_the_end() -> Facts:
    session, _ = await _session()
    await session.execute("hi")
    await session.cleanup()
    return {"outcome": await async_outcome(lambda: session.execute("again"))}


async def the_kernel_leaves_the_turn_to_the_orchestrator() -> Facts:
    session, _ = await _session()
    events = "execution:start execution:end prompt:submit prompt:complete orchestrator:complete"
    heard = trace(session, events.split())
    await session.execute("hi")
    return {"events": heard}


async def a_whole_life_in_events() -> Facts:
    async def answer(prompt: str, hooks: Any, **arguments: Any) -> str:
        await hooks.emit("execution:start", {"prompt": prompt})
        await hooks.emit("tool:pre", {"tool_name": "t"})
        await hooks.emit("tool:post", {"tool_name": "t", "result": {"output": "x"}})
        await hooks.emit("execution:end", {"response": "done"})
        return "done"

    loop = Loop(answer)
    session = session_of(modules={"loop": mounting("orchestrator", lambda: loop)}, parent_id="p")
    events = (
        "session:fork session:start execution:start tool:pre tool:post execution:end session:end"
    )
    heard = trace(session, events.split())
    async with session:
        await session.execute("one")
        await session.execute("two")
    return {"events": [event for event, _ in heard], "tool": heard[4][1]}


async def parents_and_children_can_share_cancellation() -> Facts:
    parent, _ = await _session()
    child, _ = await _session(session_id="c", parent_id="s-1")
    parent.coordinator.cancellation.register_child(child.coordinator.cancellation)
    await parent.coordinator.request_cancel()
    heard = trace(child, ["cancel:completed"])
    await child.execute("hi")
    return {"child": child.coordinator.cancellation.state, "events": heard}
