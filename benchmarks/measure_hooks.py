"""What does one event cost: with nobody listening, with many listeners, with a large payload?"""

from typing import Any

import pluggy
from amplifier_core import HookRegistry, HookResult
from timing import us_per_await, us_per_call

EVENT = "tool:pre"
CONTINUE = HookResult(action="continue")


async def observe(event: str, data: dict[str, Any]) -> HookResult:
    return CONTINUE


async def change(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(action="modify", data={**data, "seen": data.get("seen", 0) + 1})


def registry(handler: Any, count: int) -> HookRegistry:
    hooks = HookRegistry()
    for number in range(count):
        hooks.register(EVENT, handler, priority=number, name=f"listener-{number}")
    return hooks


async def emit_to_nobody() -> dict[str, float]:
    """Also an empty pluggy call, in the same process: the yardstick for a plain Python plugin."""
    hooks, data = registry(observe, 0), {"tool_name": "read"}
    assert (await hooks.emit(EVENT, data)).data == data
    us = await us_per_await(hooks.emit, EVENT, data)
    return {"us": us, "pluggy_us": us_per_call(empty_pluggy_hook(), event=EVENT, data=data)}


def empty_pluggy_hook() -> Any:
    spec, manager = pluggy.HookspecMarker("bench"), pluggy.PluginManager("bench")

    class Specification:
        @spec
        def on_event(self, event: str, data: dict[str, Any]) -> None:
            """Called for every event."""

    manager.add_hookspecs(Specification)
    return manager.hook.on_event


async def emit_to_twenty() -> dict[str, float]:
    hooks = registry(observe, 20)
    assert (await hooks.emit(EVENT, {"tool_name": "read"})).action == "continue"
    return {"us": await us_per_await(hooks.emit, EVENT, {"tool_name": "read"})}


async def modify_by_twenty() -> dict[str, float]:
    hooks = registry(change, 20)
    final = await hooks.emit(EVENT, {"tool_name": "read"})
    assert (final.data or {})["seen"] == 20
    return {"us": await us_per_await(hooks.emit, EVENT, {"tool_name": "read"})}


async def emit_large() -> dict[str, float]:
    hooks = registry(observe, 5)
    small = await us_per_await(hooks.emit, EVENT, {"text": "x" * 100})
    large = await us_per_await(hooks.emit, EVENT, {"text": "x" * 1_000_000})
    return {"us": large, "small_us": small}
