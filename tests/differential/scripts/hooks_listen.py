"""Registering, removing and listing handlers; what they are called with."""

from datetime import datetime
from typing import Any

from amplifier_core import HookRegistry, HookResult
from facts import Facts, Listener, async_outcome, outcome, said


async def _order(*priorities: int) -> list[str]:
    hooks, log = HookRegistry(), []
    for number, priority in enumerate(priorities):
        hooks.register("e", Listener(name=f"{number}@{priority}", log=log), priority)
    await hooks.emit("e", {})
    return log


async def handlers_run_by_priority_then_by_registration() -> Facts:
    return {
        "mixed": await _order(10, 0, 5, 0, -5),
        "equal": await _order(1, 1, 1),
        "negative": await _order(-1, -100, 0),
        "bool": await _order(True, False),
    }


async def arguments_of_register() -> Facts:
    hooks, handler = HookRegistry(), Listener()
    return {
        "by keyword": callable(hooks.register(event="e", handler=handler, priority=1, name="n")),
        "positional": callable(hooks.register("e", handler, 2, "m")),
        "alias": callable(hooks.on("e", handler, 3, "o")),
        "listed": hooks.list_handlers("e"),
        "float priority": outcome(lambda: hooks.register("e", handler, 1.5)),
        "text priority": outcome(lambda: hooks.register("e", handler, "1")),
        "no priority": outcome(lambda: hooks.register("e", handler, None)),
        "name": outcome(lambda: hooks.register("e", handler, 0, 5)),
        "event": outcome(lambda: hooks.register(5, handler)),
    }


async def names_that_nobody_gave() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener())
    hooks.register("e", Listener())
    first, second = hooks.list_handlers("e")["e"]
    return {"name": first, "unique": first != second}


async def unregister_takes_back_one_registration() -> Facts:
    hooks, log = HookRegistry(), []
    take_back = hooks.register("e", Listener(name="a", log=log), name="same")
    hooks.register("e", Listener(name="b", log=log), name="same")
    facts = {"repr": repr(take_back), "returns": take_back(), "again": take_back()}
    await hooks.emit("e", {})
    return {**facts, "left": log, "arguments": outcome(lambda: take_back(1))}


async def unregister_by_name() -> Facts:
    hooks, log = HookRegistry(), []
    for event in ("e", "f"):
        hooks.register(event, Listener(name=event, log=log), name="one")
        hooks.register(event, Listener(name=f"{event}2", log=log), name="two")
    facts = {
        "returns": hooks.unregister("one"),
        "unknown": hooks.unregister("nobody"),
        "number": outcome(lambda: hooks.unregister(5)),
    }
    await hooks.emit("e", {})
    await hooks.emit("f", {})
    return {**facts, "ran": log}


async def unregister_of_a_unique_name() -> Facts:
    hooks, log = HookRegistry(), []
    hooks.register("e", Listener(name="a", log=log), name="a")
    hooks.register("e", Listener(name="b", log=log), name="b")
    hooks.unregister("a")
    await hooks.emit("e", {})
    return {"ran": log, "listed": hooks.list_handlers("e")}


def lists_of_handlers() -> Facts:
    hooks = HookRegistry()
    facts = {"empty": hooks.list_handlers(), "unknown": hooks.list_handlers("e")}
    hooks.register("e", Listener(), 5, "late")
    hooks.register("e", Listener(), 1, "early")
    hooks.register("f", Listener(), 0, "other")
    return {**facts, "all": hooks.list_handlers(), "one": hooks.list_handlers("e")}


def lists_of_emptied_events() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener(), name="a")()
    return {"all": hooks.list_handlers(), "asked": hooks.list_handlers("e")}


async def events_match_exactly() -> Facts:
    hooks, log = HookRegistry(), []
    for event in ("tool:pre", "tool:*", "tool", "Tool:pre"):
        hooks.register(event, Listener(name=event, log=log))
    await hooks.emit("tool:pre", {})
    return {"ran": log}


async def a_star_listens_to_everything() -> Facts:
    hooks, log = HookRegistry(), []
    hooks.register("*", Listener(name="any", log=log))
    hooks.register("tool:pre", Listener(name="own", log=log))
    await hooks.emit("tool:pre", {})
    await hooks.emit("other", {})
    return {"ran": log}


def several_events_at_once() -> Facts:
    hooks = HookRegistry()
    return {"list": outcome(lambda: callable(hooks.register(["a", "b"], Listener(), 0, "n")))}


def register_as_a_decorator() -> Facts:
    return {"decorator": outcome(lambda: callable(HookRegistry().on("e")))}


async def handlers_get_event_and_data() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    await hooks.emit("e", {"a": 1, "nested": {"b": [1, "x", None, True, 1.5]}})
    (data,) = listener.heard
    return {
        "a": data["a"],
        "nested": data["nested"],
        "keys": sorted(data),
        "timestamp": datetime.fromisoformat(data["timestamp"]).utcoffset().total_seconds(),
        "stamp type": type(data["timestamp"]).__name__,
    }


async def the_timestamp_belongs_to_the_registry() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    hooks.set_default_fields(timestamp="mine")
    result = await hooks.emit("e", {"timestamp": "yours"})
    return {
        "heard": listener.heard[0]["timestamp"] in ("mine", "yours"),
        "returned": result.data["timestamp"] in ("mine", "yours"),
        "stamped": "timestamp" in result.data,
    }


async def nobody_listens() -> Facts:
    hooks = HookRegistry()
    hooks.set_default_fields(session_id="s")
    data = {"a": 1}
    result = await hooks.emit("e", data)
    return {
        "said": said(result),
        "stamped": "timestamp" in result.data,
        "same": result.data is data,
    }


async def default_fields() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    returned = hooks.set_default_fields(session_id="s", parent_id=None)
    await hooks.emit("e", {"a": 1})
    await hooks.emit("e", {"session_id": "own"})
    await hooks.emit("e", {"session_id": None})
    hooks.set_default_fields(color="red")
    await hooks.emit("e", {})
    hooks.set_default_fields()
    await hooks.emit("e", {})
    heard = [{k: v for k, v in each.items() if k != "timestamp"} for each in listener.heard]
    return {
        "heard": heard,
        "returned": returned,
        "positional": outcome(lambda: hooks.set_default_fields({"a": 1})),
    }


async def default_fields_in_the_result() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener())
    hooks.set_default_fields(session_id="s")
    result = await hooks.emit("e", {"a": 1})
    return {"keys": sorted(result.data)}


async def mutating_the_data_changes_nothing_for_others() -> Facts:
    hooks, later = HookRegistry(), Listener()

    async def meddle(event: str, data: Facts) -> None:
        data["a"] = "changed"
        data["new"] = 1

    hooks.register("e", meddle, 0)
    hooks.register("e", later, 1)
    given = {"a": 1}
    result = await hooks.emit("e", given)
    return {
        "later": [later.heard[0]["a"], "new" in later.heard[0]],
        "caller": given,
        "result": [result.data["a"], "new" in result.data],
    }


async def mutating_nested_data() -> Facts:
    hooks, later = HookRegistry(), Listener()

    async def meddle(event: str, data: Facts) -> None:
        data["list"].append("x")

    hooks.register("e", meddle, 0)
    hooks.register("e", later, 1)
    given: Facts = {"list": []}
    await hooks.emit("e", given)
    return {"later": later.heard[0]["list"], "caller": given["list"]}


async def handlers_registered_during_an_emit_wait_for_the_next() -> Facts:
    hooks, log = HookRegistry(), []

    async def grow(event: str, data: Facts) -> None:
        log.append("grow")
        hooks.register("e", Listener(name="new", log=log), 5)

    hooks.register("e", grow)
    await hooks.emit("e", {})
    first = list(log)
    await hooks.emit("e", {})
    return {"first": first, "second": log[len(first) :]}


async def handlers_removed_during_an_emit_still_run() -> Facts:
    hooks, log = HookRegistry(), []

    async def prune(event: str, data: Facts) -> None:
        hooks.unregister("victim")

    hooks.register("e", prune, 0)
    hooks.register("e", Listener(name="victim", log=log), 1, "victim")
    await hooks.emit("e", {})
    await hooks.emit("e", {})
    return {"ran": log}


async def sync_handlers_work_too() -> Facts:
    hooks, heard = HookRegistry(), []

    def listen(event: str, data: Facts) -> HookResult:
        heard.append(data["a"])
        return HookResult(action="modify", data={"a": data["a"] + 1})

    hooks.register("e", listen, 0)
    hooks.register("e", lambda event, data: heard.append(data["a"]), 1)
    result = await hooks.emit("e", {"a": 1})
    return {"heard": heard, "result": said(result)}


async def sync_handlers_see_the_callers_loop_and_context() -> Facts:
    import asyncio
    import contextvars
    import threading

    hooks, seen = HookRegistry(), {}
    color = contextvars.ContextVar("color", default="none")
    color.set("red")

    def listen(event: str, data: Any) -> None:
        seen["thread"] = threading.current_thread() is threading.main_thread()
        seen["loop"] = outcome(lambda: asyncio.get_running_loop() is not None)
        seen["color"] = color.get()

    hooks.register("e", listen)
    await hooks.emit("e", {})
    return seen


async def async_handlers_see_the_callers_context() -> Facts:
    import contextvars

    hooks, seen = HookRegistry(), []
    color = contextvars.ContextVar("color", default="none")
    color.set("red")

    async def listen(event: str, data: Any) -> None:
        seen.append(color.get())

    hooks.register("e", listen)
    await hooks.emit("e", {})
    return {"color": seen}


async def handlers_may_emit() -> Facts:
    hooks, log = HookRegistry(), []

    async def nest(event: str, data: Facts) -> None:
        log.append(data["depth"])
        if data["depth"] < 20:
            await hooks.emit("e", {"depth": data["depth"] + 1})

    hooks.register("e", nest)
    await hooks.emit("e", {"depth": 0})
    return {"depths": log}


async def arguments_of_emit() -> Facts:
    hooks = HookRegistry()
    return {
        "keywords": said(await hooks.emit(event="e", data={"a": 1})),
        "no data": await async_outcome(lambda: hooks.emit("e")),
        "nothing": await async_outcome(lambda: hooks.emit()),
    }


def arguments_of_the_registry() -> Facts:
    return {"argument": outcome(lambda: HookRegistry(1)), "none": callable(HookRegistry().emit)}


async def guards_deny_when_they_fail() -> Facts:
    hooks = HookRegistry()

    async def guarded() -> str:
        hooks.register("e", Listener(ValueError("boom")), name="g", guard=True)
        return (await hooks.emit("e", {})).action

    return {"action": await async_outcome(guarded)}
