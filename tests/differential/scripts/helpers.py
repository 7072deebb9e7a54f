"""The helpers that test suites of modules are written with, and the command line."""

import contextlib
import io
import sys
from typing import Any

from amplifier_core import HookResult, ModuleCoordinator
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockTool,
    ScriptedOrchestrator,
    create_test_coordinator,
    wait_for,
)
from facts import (
    TOOL,
    Facts,
    Named,
    async_message,
    async_outcome,
    folder,
    mounting,
    package,
    session_of,
)


async def a_mock_coordinator() -> Facts:
    made = MockCoordinator()
    await made.mount("tools", Named("t"))
    await made.mount("context", Named("c"), name="mine")
    await made.unmount("tools", name="t")
    unknown = await async_message(lambda: made.mount("gadgets", Named("g")))
    return {
        "is one": isinstance(made, ModuleCoordinator),
        "ids": [made.session_id, made.parent_id],
        "config": made.config,
        "mounted": [[each["mount_point"], each["name"]] for each in made.mount_history],
        "keys": sorted(made.mount_history[0]),
        "unmounted": made.unmount_history,
        "unknown": unknown,
        "tools": list(made.get("tools")),
        "approval": await made.approval_system.request_approval("p", [], 1, "deny") is not None,
    }


async def modules_of_a_mock_coordinator() -> Facts:
    made = MockCoordinator()
    await made.mount("tools", Named("t"))
    return {"modules": list(getattr(made, "modules", ["absent"]))}


async def a_mock_tool() -> Facts:
    tool = MockTool()
    other = MockTool("other", {"a": 1})
    result = await other.execute({"x": 1})
    return {
        "defaults": [tool.name, tool.description, tool.input_schema, tool.call_count],
        "result": result,
        "count": other.call_count,
        "calls": str(other.execute.call_args),
        "default result": (await tool.execute({})).output,
    }


async def a_mock_context() -> Facts:
    given = [{"role": "user", "content": "a"}]
    context = MockContextManager(given)
    await context.add_message({"role": "user", "content": "b"})
    asked = await context.get_messages_for_request(token_budget=5, provider=None)
    return {
        "same list": context.messages is given,
        "messages": await context.get_messages(),
        "copy": asked is not context.messages,
        "asked": asked,
        "called": context.add_message.call_count,
        "compact": await _maybe(context._should_compact),
    }


async def _maybe(call: Any) -> Any:
    import inspect

    value = call()
    return await value if inspect.isawaitable(value) else value


async def a_mock_context_that_is_cleared() -> Facts:
    context = MockContextManager([{"role": "user", "content": "a"}])
    await context.clear()
    return {"left": len(context.messages), "set": hasattr(context, "set_messages")}


async def an_event_recorder() -> Facts:
    recorder = EventRecorder()
    data = {"a": 1}
    result = await recorder.emit("e", data)
    data["a"] = 2
    await recorder.record("f", {})
    facts = {
        "result": isinstance(result, HookResult) and result.action,
        "events": recorder.events,
        "some": recorder.get_events("e"),
        "all": recorder.get_events() == recorder.events,
        "copy": recorder.get_events() is not recorder.events,
    }
    recorder.clear()
    return {**facts, "cleared": recorder.events}


async def a_scripted_orchestrator() -> Facts:
    loop, context, recorder = (
        ScriptedOrchestrator(["one", "two"]),
        MockContextManager(),
        EventRecorder(),
    )
    answers = [await loop.execute("hi", context, {}, {}, recorder) for _ in range(3)]
    return {
        "answers": answers,
        "count": loop.call_count,
        "events": recorder.events,
        "messages": context.messages,
    }


async def a_scripted_orchestrator_in_a_session() -> Facts:
    loop = ScriptedOrchestrator(["one"])
    session = session_of(modules={"loop": mounting("orchestrator", lambda: loop)})
    await session.initialize()
    return {"outcome": await async_outcome(lambda: session.execute("hi"))}


async def a_ready_made_coordinator() -> Facts:
    made = create_test_coordinator()
    tools = made.get("tools")
    return {
        "type": isinstance(made, MockCoordinator),
        "tools": {name: (await tool.execute({})).output for name, tool in tools.items()},
        "context": type(made.get("context")).__name__,
        "history": made.mount_history,
    }


async def waiting_for_a_condition() -> Facts:
    calls: list[int] = []

    def third_time() -> bool:
        calls.append(1)
        return len(calls) == 3

    return {
        "met": await wait_for(lambda: True),
        "later": await wait_for(third_time),
        "never": await wait_for(lambda: False, timeout=0.02),
    }


async def waiting_no_time_at_all() -> Facts:
    return {
        "met": await wait_for(lambda: True, timeout=0),
        "not met": await wait_for(lambda: False, 0),
    }


# -- command line ---------------------------------------------------------------------


def _command(*arguments: str) -> list[Any]:
    """Exit status and output of `amplifier-core ARGUMENTS`."""
    from amplifier_core import cli

    before, sys.argv = sys.argv, ["amplifier-core", *arguments]
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            status: Any = cli.main() or 0
    except SystemExit as leaving:
        status = leaving.code or 0
    finally:
        sys.argv = before
    return [status, output.getvalue()]


def commands() -> Facts:
    with folder() as root:
        good = str(package(root / "diff_command_good", TOOL))
        bad = str(package(root / "diff_command_bad", "x = 1"))
        return {
            "good": _command("validate", "tool", good)[0],
            "bad": _command("validate", "tool", bad)[0],
            "absent": _command("validate", "tool", str(root / "absent"))[0],
            "odd type": _command("validate", "gadget", good)[0],
            "unknown": _command("explode")[0],
            "types": _command("list-types")[0],
        }


def words_of_commands() -> Facts:
    from amplifier_core import cli

    with folder() as root:
        good = str(package(root / "diff_command_words", TOOL))
        quiet = _command("validate", "tool", good, "--quiet")[1]
        listed = _command("list-types")[1]
        return {
            "quiet": "PASSED: 8/8 checks passed (0 errors, 0 warnings)" in quiet,
            "types": [kind for kind in cli.VALIDATORS if kind in listed],
            "validators": dict(cli.VALIDATORS),
        }


def version_of_the_command() -> Facts:
    return {"output": _command("--version")[1].strip()}
