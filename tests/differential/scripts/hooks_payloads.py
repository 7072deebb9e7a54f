"""What survives the way through an event, and asking all handlers with emit_and_collect."""

import asyncio
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from amplifier_core import HookRegistry, HookResult, ToolResult
from facts import Facts, Listener, async_outcome, outcome, said, until


async def _heard(data: Any) -> Any:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    await hooks.emit("e", data)
    heard = listener.heard[0]
    if isinstance(heard, dict):
        heard = {key: value for key, value in heard.items() if key != "timestamp"}
    return heard


async def _value(value: Any) -> Any:
    heard = await async_outcome(lambda: _heard({"v": value}))
    return heard["v"] if isinstance(heard, dict) else heard


async def json_values_arrive_as_they_are() -> Facts:
    values = {"text": "é\n", "int": 5, "float": 1.5, "none": None, "true": True, "list": [1, [2]]}
    return {name: await _value(value) for name, value in values.items()}


async def python_values_arrive_as_they_are() -> Facts:
    values = {
        "tuple": (1, 2),
        "set": {1},
        "bytes": b"x",
        "decimal": Decimal("1.20"),
        "datetime": datetime(2030, 1, 1),
        "path": Path("a/b"),
        "model": ToolResult(output="x"),
        "large int": 2**70,
    }
    return {name: await _value(value) for name, value in values.items()}


async def keys_arrive_as_they_are() -> Facts:
    return {"int": await _heard({1: "a"}), "mixed": await _heard({1: "a", "1": "b"})}


async def data_that_json_cannot_hold() -> Facts:
    circular: Facts = {}
    circular["self"] = circular
    hooks = HookRegistry()
    hooks.register("e", Listener())
    return {
        "nan": await _value(float("nan")),
        "infinity": await _value(float("inf")),
        "surrogate": await _value("\ud800"),
        "circular": str(await async_outcome(lambda: hooks.emit("e", circular)))[:6],
        "tuple key": str(await async_outcome(lambda: hooks.emit("e", {(1, 2): 3})))[:6],
    }


async def data_that_are_no_dict() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener())
    return {
        "none": await _heard(None),
        "list": await _heard([1]),
        "text": await _heard("x"),
        "result of none": said(await hooks.emit("e", None)),
        "result of list": said(await hooks.emit("e", [1])),
        "nobody listens": said(await HookRegistry().emit("e", None)),
    }


async def models_as_data() -> Facts:
    return {"heard": await _heard(ToolResult(output="x"))}


async def modified_values_arrive_as_they_are() -> Facts:
    hooks, later = HookRegistry(), Listener()
    hooks.register("e", Listener(HookResult(action="modify", data={"v": (1, Decimal("1"))})), 0)
    hooks.register("e", later, 1)
    result = await hooks.emit("e", {})
    return {"heard": later.heard[0]["v"], "result": result.data["v"]}


async def order_of_keys() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    await hooks.emit("e", {"b": 1, "a": 2, "c": 3})
    return {"keys": [key for key in listener.heard[0] if key != "timestamp"]}


async def default_values_arrive_as_they_are() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("e", listener)
    hooks.set_default_fields(where=Path("a"))
    await hooks.emit("e", {})
    return {"path": listener.heard[0]["where"]}


# -- emit_and_collect -----------------------------------------------------------------


async def _collected(*answers: Any) -> Any:
    hooks = HookRegistry()
    for number, answer in enumerate(answers):
        hooks.register("e", Listener(answer), number)
    return await hooks.emit_and_collect("e", {"a": 1})


async def collected_data() -> Facts:
    return {
        "nobody": await HookRegistry().emit_and_collect("e", {}),
        "data": await _collected(HookResult(data={"b": 1}), HookResult(data={"c": 2})),
        "none": await _collected(None, HookResult()),
        "empty": await _collected(HookResult(data={})),
        "dict": await _collected({"data": {"b": 1}}),
        "other dict": await _collected({"source": "a"}),
        "any action": await _collected(
            HookResult(action="deny", data={"d": 1}), HookResult(action="modify", data={"m": 1})
        ),
    }


async def collecting_is_not_stopped() -> Facts:
    last = HookResult(data={"last": 1})
    return {
        "deny": await _collected(HookResult(action="deny"), last),
        "error": await _collected(ValueError("boom"), last),
        "cancelled": await _collected(asyncio.CancelledError(), last),
        "malformed": await _collected("ok", 5, last),
    }


async def collecting_passes_the_data_unchanged() -> Facts:
    hooks, first, second = (
        HookRegistry(),
        Listener(HookResult(action="modify", data={})),
        Listener(),
    )
    hooks.set_default_fields(session_id="s")
    hooks.register("e", first, 0)
    hooks.register("e", second, 1)
    await hooks.emit_and_collect("e", {"a": 1})
    return {"first": first.heard, "second": second.heard}


async def collecting_by_priority() -> Facts:
    hooks, log = HookRegistry(), []
    for priority in (5, -1, 0):
        hooks.register("e", Listener(name=str(priority), log=log), priority)
    await hooks.emit_and_collect("e", {})
    return {"ran": log}


async def collecting_waits_only_so_long() -> Facts:
    hooks, log = HookRegistry(), []

    async def hang(event: str, data: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    hooks.register("e", hang, 0)
    hooks.register("e", Listener(HookResult(data={"b": 1})), 1)
    collected = await hooks.emit_and_collect("e", {}, timeout=0.02)
    await until(lambda: log)
    return {"collected": collected, "log": log}


async def collecting_with_odd_time_limits() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener(HookResult(data={"b": 1})))
    return {
        "int": await hooks.emit_and_collect("e", {}, 5),
        "none": await async_outcome(lambda: hooks.emit_and_collect("e", {}, timeout=None)),
        "text": await async_outcome(lambda: hooks.emit_and_collect("e", {}, timeout="1")),
    }


async def collecting_with_a_negative_time_limit() -> Facts:
    hooks = HookRegistry()
    hooks.register("e", Listener())
    return {"outcome": await async_outcome(lambda: hooks.emit_and_collect("e", {}, timeout=-1))}


# -- request ids ----------------------------------------------------------------------


async def _ids(*steps: tuple[str, Any]) -> list[Any]:
    """The request id that each event got: as given, one of the generated, or none."""
    hooks, known, ids = HookRegistry(), {}, []
    for event, data in steps:
        result = await hooks.emit(event, data)
        request_id = result.data.get("request_id")
        if isinstance(request_id, str) and len(request_id) == 36:
            request_id = known.setdefault(request_id, f"#{len(known) + 1}")
        ids.append(request_id)
    return ids


async def model_calls_get_a_request_id() -> Facts:
    call = [("llm:request", {}), ("llm:response", {})]
    return {
        "call": await _ids(*call),
        "two calls": await _ids(*call, *call),
        "given": await _ids(("llm:request", {"request_id": "mine"}), ("llm:response", {})),
        "given at the end": await _ids(("llm:request", {}), ("llm:response", {"request_id": "x"})),
        "error": await _ids(("llm:request", {}), ("provider:error", {}), ("llm:response", {})),
        "retry": await _ids(("llm:request", {}), ("provider:retry", {}), ("llm:response", {})),
        "throttle": await _ids(
            ("provider:throttle", {}), ("llm:request", {}), ("provider:throttle", {})
        ),
        "alone": await _ids(("llm:response", {}), ("provider:error", {})),
        "empty": await _ids(("llm:request", {"request_id": ""})),
        "number": await _ids(("llm:request", {"request_id": 5})),
    }


async def other_events_get_no_request_id() -> Facts:
    events = "provider:request provider:response llm:stream_block_start provider:resolve tool:pre"
    return {event: await _ids(("llm:request", {}), (event, {})) for event in events.split()}


async def request_ids_reach_handlers_and_not_the_caller() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("llm:request", listener)
    hooks.set_default_fields(request_id="default")
    data: Facts = {}
    result = await hooks.emit("llm:request", data)
    return {
        "caller": data,
        "same": listener.heard[0]["request_id"] == result.data["request_id"],
        "default": result.data["request_id"] == "default",
        "length": len(result.data["request_id"]),
    }


async def request_ids_are_resolved_when_emit_is_called() -> Facts:
    from amplifier_core.correlation import current_request_id

    hooks = HookRegistry()
    waiting = hooks.emit("llm:request", {"request_id": "mine"})
    before = current_request_id()
    await waiting
    return {"before awaiting": before, "after": current_request_id()}


async def request_ids_of_concurrent_tasks() -> Facts:
    hooks = HookRegistry()

    async def call(name: str) -> Any:
        await hooks.emit("llm:request", {"request_id": name})
        await asyncio.sleep(0)
        return (await hooks.emit("llm:response", {})).data["request_id"]

    return {"ids": await asyncio.gather(call("a"), call("b"))}


async def collecting_gives_no_request_id() -> Facts:
    hooks, listener = HookRegistry(), Listener()
    hooks.register("llm:request", listener)
    await hooks.emit_and_collect("llm:request", {})
    return {"heard": listener.heard, "data": outcome(lambda: listener.heard[0].get("request_id"))}
