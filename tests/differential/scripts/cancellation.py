"""The cancellation token: states, children, running tools, callbacks."""

import asyncio
import threading

from amplifier_core import CancellationState, CancellationToken
from facts import Facts, async_outcome, outcome


def _flags(token: CancellationToken) -> list[object]:
    return [token.state, token.is_cancelled, token.is_graceful, token.is_immediate]


def states_of_a_token() -> Facts:
    token = CancellationToken()
    facts: Facts = {"new": _flags(token), "type": type(token.state).__name__}
    facts["graceful"] = [token.request_graceful(), _flags(token)]
    facts["again"] = [token.request_graceful(), _flags(token)]
    facts["immediate"] = [token.request_immediate(), _flags(token)]
    facts["immediate again"] = [token.request_immediate(), _flags(token)]
    facts["no way back"] = [token.request_graceful(), _flags(token)]
    facts["enum"] = CancellationState(token.state)
    return facts


def immediate_at_once() -> Facts:
    token = CancellationToken()
    return {"changed": token.request_immediate(), "flags": _flags(token)}


def the_older_way_to_ask() -> Facts:
    token = CancellationToken()
    return {"returns": token.request_cancellation(), "flags": _flags(token)}


def reset() -> Facts:
    token, child = CancellationToken(), CancellationToken()
    token.register_child(child)
    token.register_tool_start("1", "bash")
    token.request_immediate()
    return {
        "returns": token.reset(),
        "flags": _flags(token),
        "tools": [token.running_tools, token.running_tool_names],
        "child": child.state,
        "still linked": [token.request_graceful(), child.state],
    }


def children_follow() -> Facts:
    parent, child, grandchild = CancellationToken(), CancellationToken(), CancellationToken()
    parent.register_child(child)
    child.register_child(grandchild)
    parent.request_graceful()
    facts = {"graceful": [child.state, grandchild.state]}
    parent.request_immediate()
    facts["immediate"] = [child.state, grandchild.state]
    return facts


def parents_do_not_follow() -> Facts:
    parent, child = CancellationToken(), CancellationToken()
    parent.register_child(child)
    child.request_immediate()
    return {"parent": parent.state, "later": [parent.request_graceful(), child.state]}


def late_children_catch_up() -> Facts:
    facts = {}
    for request in ("request_graceful", "request_immediate"):
        parent, child = CancellationToken(), CancellationToken()
        getattr(parent, request)()
        parent.register_child(child)
        facts[request] = child.state
    return facts


def children_that_left_do_not_follow() -> Facts:
    parent, child = CancellationToken(), CancellationToken()
    parent.register_child(child)
    parent.register_child(child)
    facts = {
        "returns": parent.unregister_child(child),
        "unknown": parent.unregister_child(CancellationToken()),
    }
    parent.request_graceful()
    return {**facts, "child": child.state, "no token": outcome(lambda: parent.register_child(5))}


def tokens_in_a_circle() -> Facts:
    first, second = CancellationToken(), CancellationToken()
    first.register_child(second)
    second.register_child(first)
    first.register_child(first)
    return {"changed": first.request_graceful(), "states": [first.state, second.state]}


def running_tools() -> Facts:
    token = CancellationToken()
    facts: Facts = {"none": [token.running_tools, token.running_tool_names]}
    token.register_tool_start("1", "bash")
    token.register_tool_start("2", "read")
    facts["two"] = [token.running_tools, sorted(token.running_tool_names)]
    token.register_tool_start("1", "write")
    facts["renamed"] = sorted(token.running_tool_names)
    token.running_tools.clear()
    token.register_tool_complete("1")
    token.register_tool_complete("unknown")
    facts["left"] = [token.running_tools, token.running_tool_names]
    facts["type"] = [type(token.running_tools).__name__, type(token.running_tool_names).__name__]
    return facts


async def callbacks_run_when_triggered() -> Facts:
    token, log = CancellationToken(), []

    async def later() -> None:
        await asyncio.sleep(0)
        log.append("async")

    facts = {"returns": token.on_cancel(lambda: log.append("sync"))}
    token.on_cancel(later)
    token.request_immediate()
    facts["on request"] = list(log)
    await token.trigger_callbacks()
    await token.trigger_callbacks()
    return {**facts, "triggered twice": log}


async def callbacks_that_fail_are_skipped() -> Facts:
    token, log = CancellationToken(), []

    def boom() -> None:
        raise ValueError("boom")

    async def later_boom() -> None:
        raise ValueError("boom")

    async def cancelled() -> None:
        raise asyncio.CancelledError

    for callback in (boom, later_boom, cancelled, "not callable", lambda: log.append("last")):
        token.on_cancel(callback)
    facts = {"outcome": await async_outcome(token.trigger_callbacks) in ((), None)}
    return {**facts, "ran": log}


async def sync_callbacks_run_where_they_were_triggered() -> Facts:
    token, seen = CancellationToken(), []
    token.on_cancel(lambda: seen.append(threading.current_thread() is threading.main_thread()))
    await token.trigger_callbacks()
    return {"main thread": seen}


async def ctrl_c_in_a_callback() -> Facts:
    token, log = CancellationToken(), []

    class Stop(KeyboardInterrupt):
        pass

    def stop() -> None:
        raise Stop

    token.on_cancel(stop)
    token.on_cancel(lambda: log.append("last"))
    return {"raised": str(await async_outcome(token.trigger_callbacks))[:6], "ran": log}


def arguments_of_a_token() -> Facts:
    token = CancellationToken()
    return {
        "constructor": outcome(lambda: CancellationToken(1)),
        "state": outcome(lambda: setattr(token, "state", "graceful")),
        "is_cancelled": outcome(lambda: setattr(token, "is_cancelled", True)),
        "tool id": outcome(lambda: token.register_tool_start(1, "x")),
        "no name": outcome(lambda: token.register_tool_start("1")),
    }


def requests_from_another_thread() -> Facts:
    token = CancellationToken()
    thread = threading.Thread(target=token.request_immediate)
    thread.start()
    thread.join()
    return {"state": token.state}
