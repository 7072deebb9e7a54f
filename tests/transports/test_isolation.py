"""`isolation: process`: an ordinary Python module in a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.models import HookResult
from amplifier_core.testing import wait_for
from helpers_isolation import APPROVAL, HOOKS, TOOLS, apart, python_module
from helpers_sidecar import is_running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes"),
]


def plan(**more: Any) -> dict[str, Any]:
    session = {"orchestrator": "loop-basic", "context": "context-simple"}
    provider = {"module": "provider-mock", "config": {"responses": ["A reply."]}}
    return {"session": session, "providers": [provider], **more}


@asynccontextmanager
async def running(mount_plan: dict[str, Any]) -> AsyncIterator[Any]:
    async with AmplifierSession(mount_plan) as session:
        assert session.status.failed_modules is None, session.status.failed_modules
        yield session.coordinator


async def test_every_tool_of_a_module_is_there_and_its_config_arrives_unchanged(
    tmp_path: Path,
) -> None:
    config = {"text": "7", "number": 7, "none": None, "deep": {"a": [1.5, True, "true"]}}
    source = python_module(tmp_path, "tool-pair", TOOLS)
    async with running(plan(tools=[apart("tool-pair", source, config)])) as coordinator:
        tools = coordinator.get_all("tools")
        seen = (await tools["two"].execute({})).output

        assert set(tools) == {"one", "two", "ready"}
        assert (tools["two"].description, tools["two"].annotations) == (
            "Tool two.",
            {"effect": "pure"},
        )
        assert tools["two"].input_schema["properties"] == {"do": {"type": "string"}}
        assert (seen["config"], seen["name"]) == (config, "two")
        assert seen["pid"] != os.getpid()
    assert not is_running(seen["pid"])


async def test_what_a_tool_returns_or_raises_arrives(tmp_path: Path) -> None:
    source = python_module(tmp_path, "tool-pair", TOOLS)
    async with running(plan(tools=[apart("tool-pair", source)])) as coordinator:
        tool = coordinator.get("tools", "one")

        assert (await tool.execute({"do": "plain"})).output == "plain"
        assert (await tool.execute({"do": "fail"})).error == {"message": "no"}
        raised = await tool.execute({"do": "raise"})
        assert (raised.success, raised.output) == (False, "LookupError: nothing there")
        picture = await tool.execute({"do": "picture"})
        assert (picture.output, picture.content[0].source["data"]) == ("look", "cG5n")


async def test_a_module_reaches_its_session_from_afar(tmp_path: Path) -> None:
    source = python_module(tmp_path, "tool-pair", TOOLS)
    async with running(plan(tools=[apart("tool-pair", source)])) as coordinator:
        coordinator.register_capability("from.host", ["é"])
        coordinator.hooks.register(
            "far:event", lambda event, data: HookResult(action="modify", data={"n": data["n"] + 1})
        )

        seen = (await coordinator.get("tools", "one").execute({"do": "session"})).output

        assert seen == [["é"], coordinator.session_id, 2]
        assert coordinator.get_capability("from.afar") == {"a": 1}
        assert coordinator.get_capability("here.only") is None


async def test_a_module_that_crashes_does_not_take_the_session_down(tmp_path: Path) -> None:
    source = python_module(tmp_path, "tool-pair", TOOLS)
    entry = apart("tool-pair", source, {"kept": 1})
    async with running(plan(tools=[entry])) as coordinator:
        tool = coordinator.get("tools", "one")
        events: list[str] = []
        coordinator.hooks.register(
            ["module:crashed", "module:restarted"], lambda event, data: events.append(event)
        )

        died = await tool.execute({"do": "crash"})
        back = await tool.execute({})

        assert "Its process exited with code 9" in died.output
        assert back.output["config"] == {"kept": 1}
        assert events == ["module:crashed", "module:restarted"]


async def test_hooks_work_from_afar_and_guards_fail_closed(tmp_path: Path) -> None:
    source = python_module(tmp_path, "hooks-far", HOOKS)
    entry = apart("hooks-far", source, restarts=0)
    async with running(plan(hooks=[entry])) as coordinator:
        emit = coordinator.hooks.emit

        denied = await emit("tool:pre", {"tool_name": "evil"})
        modified = await emit("tool:pre", {"tool_name": "good"})
        crashed = await emit("tool:pre", {"tool_name": "crash"})
        after = await emit("tool:pre", {"tool_name": "good"})

        assert (denied.action, denied.reason) == ("deny", "evil")
        assert modified.data["seen"] is True
        assert (crashed.action, after.action) == ("deny", "deny")


async def test_an_approval_module_decides_from_afar(tmp_path: Path) -> None:
    source = python_module(tmp_path, "approval-far", APPROVAL)
    mount_plan = plan()
    mount_plan["session"]["approval"] = apart("approval-far", source)
    async with running(mount_plan) as coordinator:
        question = HookResult(action="ask_user", approval_prompt="read it")
        allowed = await coordinator.process_hook_result(question, "tool:pre")
        question = HookResult(action="ask_user", approval_prompt="write it")
        denied = await coordinator.process_hook_result(question, "tool:pre")

        assert (allowed.action, denied.action) == ("continue", "deny")


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_a_session_all_of_whose_parts_are_elsewhere_runs_a_turn(loop: str) -> None:
    call = {"name": "todo", "arguments": {"action": "list"}}
    script = {"script": [{"tool_calls": [call]}, {"text": "Done."}]}
    mount_plan = {
        "session": {"orchestrator": apart(loop), "context": apart("context-simple")},
        "providers": [apart("provider-mock", config=script)],
        "tools": [apart("tool-todo")],
    }
    session = AmplifierSession(mount_plan)
    async with session:
        assert session.status.failed_modules is None
        called: list[str] = []
        session.coordinator.hooks.register(
            "tool:post", lambda event, data: called.append(data["tool_name"])
        )

        answer = await session.execute("Go on.")

        messages = await session.coordinator.get("context").get_messages()
        assert (answer, called) == ("Done.", ["todo"])
        assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]


async def test_a_module_that_cannot_be_mounted_there_is_reported(tmp_path: Path) -> None:
    source = python_module(tmp_path, "tool-pair", TOOLS)
    entry = apart("tool-pair", source, {"broken": True})
    async with AmplifierSession(plan(tools=[entry])) as session:
        (failed,) = session.status.failed_modules or []

        assert "refuses to be mounted: ValueError: broken as asked" in failed["error"]


@pytest.mark.parametrize(
    ("isolation", "said"),
    [
        ("thread", "tools[0].isolation: mode: Input should be 'process'"),
        ({"restart": 1}, "unknown key 'restart'. Did you mean 'restarts'?"),
        ({"timeout": -1}, "timeout: Input should be greater than 0"),
    ],
)
async def test_an_isolation_that_does_not_exist_is_refused(isolation: Any, said: str) -> None:
    entry = {"module": "tool-todo", "isolation": isolation}
    async with AmplifierSession(plan(tools=[entry])) as session:
        (failed,) = session.status.failed_modules or []

        assert said in failed["error"]


async def test_without_grpc_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "amplifier_core.transports.sidecar", raising=False)
    for name in [each for each in sys.modules if "transports.grpc" in each]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    entry = {"module": "tool-todo", "isolation": "process"}
    async with AmplifierSession(plan(tools=[entry])) as session:
        (failed,) = session.status.failed_modules or []

        assert "pip install 'amplifier-core[grpc]'" in failed["error"]


async def test_the_command_serves_a_module_to_any_host(tmp_path: Path) -> None:

    source = python_module(tmp_path, "tool-pair", TOOLS)
    command = ["-m", "amplifier_core.transports.serve", "tool-pair", "--path", source]
    server = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    ready = (await asyncio.wait_for(server.stdout.readline(), 20)).decode()
    far = tmp_path / "far"
    far.mkdir()
    port = ready.strip().removeprefix("READY:")
    (far / "amplifier.toml").write_text(
        f'[module]\ntransport = "grpc"\n[grpc]\nendpoint = "localhost:{port}"\n'
    )
    entry = {"module": "tool-any", "source": str(far), "config": {"n": 1, "text": "x"}}
    async with running(plan(tools=[entry])) as coordinator:
        seen = await coordinator.get("tools", "one").execute({})

        assert seen.output["config"] == {"n": 1, "text": "x"}
    server.terminate()
    assert await asyncio.wait_for(server.wait(), 10) == 0


async def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:

    command = ["-m", "amplifier_core.transports.serve", "tool-pair", "--config", "{"]
    server = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(server.communicate(), 20)

    assert said.decode().startswith("ERROR:")
    assert server.returncode == 1
    assert await wait_for(lambda: server.returncode is not None, 5)
