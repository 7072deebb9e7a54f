"""The stand-ins that module authors test with."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import amplifier_core
import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator, ModuleLoader, events
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockTool,
    ScriptedOrchestrator,
    create_test_coordinator,
    wait_for,
)


async def test_a_mock_coordinator_is_a_coordinator_of_a_test_session() -> None:
    coordinator = MockCoordinator()

    assert isinstance(coordinator, ModuleCoordinator)
    assert (coordinator.session_id, coordinator.parent_id) == ("test-session", None)
    assert coordinator.config["session"] == {
        "orchestrator": "test-orchestrator",
        "context": "test-context",
    }
    assert await coordinator.approval_system() == {"approved": True}
    with pytest.raises(ValueError, match="Unknown mount point: nowhere"):
        coordinator.get("nowhere")


async def test_the_history_keeps_every_mount_and_unmount() -> None:
    coordinator, tool = MockCoordinator(), MockTool()

    await coordinator.mount("tools", tool)
    await coordinator.unmount("tools", "mock_tool")
    with pytest.raises(ValueError, match="Unknown mount point"):
        coordinator.mount("nowhere", tool, name="lost")

    assert coordinator.mount_history == [
        {"mount_point": "tools", "module": tool, "name": None},
        {"mount_point": "nowhere", "module": tool, "name": "lost"},
    ]
    assert coordinator.unmount_history == [{"mount_point": "tools", "name": "mock_tool"}]


async def test_modules_maps_mounted_names_over_all_slots() -> None:
    coordinator, context = MockCoordinator(), MockContextManager()
    loop, tool, provider = ScriptedOrchestrator([]), MockTool(), MockTool("mock_provider")

    await coordinator.mount("tools", tool, name="my-tool")
    await coordinator.mount("providers", provider)
    await coordinator.mount("orchestrator", loop, name="my-loop")
    await coordinator.mount("context", context)

    assert coordinator.modules == {
        "my-loop": loop,
        "mock_provider": provider,
        "my-tool": tool,
        "context": context,
    }
    await coordinator.unmount("tools", "my-tool")
    assert "my-tool" not in coordinator.modules


async def test_a_single_slot_goes_by_the_name_of_its_present_occupant() -> None:
    coordinator = MockCoordinator()
    await coordinator.mount("context", MockContextManager(), name="old")
    await coordinator.mount("context", MockContextManager())

    assert list(coordinator.modules) == ["context"]


def test_the_mock_coordinator_may_be_subclassed_with_arguments() -> None:
    class Own(MockCoordinator):
        def __init__(self, extra: str) -> None:
            super().__init__()
            self.extra = extra

    assert Own("more").extra == "more"
    assert Own("more").session_id == "test-session"


async def test_a_mock_tool_succeeds_and_counts() -> None:
    tool = MockTool("clock", output={"hour": 12})

    result = await tool.execute({"zone": "UTC"})

    assert (result.success, result.output) == (True, {"hour": 12})
    assert tool.call_count == 1
    tool.execute.assert_awaited_once_with({"zone": "UTC"})
    assert (tool.name, tool.description) == ("clock", "Mock tool: clock")
    assert tool.input_schema == {"type": "object", "properties": {}}


async def test_a_mock_context_keeps_messages() -> None:
    given = [{"role": "system", "content": "Be brief."}]
    context = MockContextManager(given)
    message = {"role": "user", "content": "Hi"}

    await context.add_message(message)

    assert context.messages is given
    assert await context.get_messages() is given
    copy = await context.get_messages_for_request(token_budget=5, provider=None)
    assert copy == given
    assert copy is not given
    context.add_message.assert_awaited_once_with(message)


async def test_a_mock_context_can_be_set_and_cleared() -> None:
    context = MockContextManager()

    await context.set_messages([{"role": "user", "content": "Hi"}])
    assert len(context.messages) == 1
    await context.clear()
    assert await context.get_messages() == []
    assert await context._should_compact() is False
    assert await context._compact_internal() is None


async def test_the_recorder_keeps_events_as_they_were_emitted() -> None:
    recorder, data = EventRecorder(), {"n": 1}

    result = await recorder.emit("a:b", data)
    data["n"] = 2
    await recorder.record("c:d", None)

    assert result.action == "continue"
    assert recorder.get_events() == [("a:b", {"n": 1}), ("c:d", None)]
    assert recorder.get_events("c:d") == [("c:d", None)]
    recorder.clear()
    assert recorder.events == []


async def test_a_script_is_followed_and_then_done() -> None:
    orchestrator, context, hooks = (
        ScriptedOrchestrator(["one"]),
        MockContextManager(),
        EventRecorder(),
    )

    answers = [await orchestrator.execute("p", context, {}, {}, hooks) for _ in range(2)]

    assert answers == ["one", "DONE"]
    assert orchestrator.call_count == 2
    assert context.messages[:2] == [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": "one"},
    ]
    assert hooks.events[:2] == [
        (events.SESSION_START, {"prompt": "p"}),
        (events.SESSION_END, {"response": "one"}),
    ]


async def test_a_script_runs_under_a_real_session(tmp_path: Path) -> None:
    """The session alone announces itself; the script only marks its turns."""
    for kind in ("loop-scripted", "context-mock"):
        package = (
            tmp_path / f"amplifier-module-{kind}" / f"amplifier_module_{kind.replace('-', '_')}"
        )
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(MODULES[kind])
    plan = {"session": {"orchestrator": "loop-scripted", "context": "context-mock"}}
    session = AmplifierSession(plan, loader=ModuleLoader(search_paths=[tmp_path]))
    seen: list[str] = []

    async def watch(event: str, data: dict[str, Any]) -> None:
        seen.append(event)

    session.coordinator.hooks.register("*", watch)
    async with asyncio.timeout(5), session:
        assert await session.execute("Hello") == "scripted"
        assert len(session.coordinator.get("context").messages) == 2
    assert seen.count(events.SESSION_START) == 1
    assert seen.count(events.SESSION_END) == 1
    assert seen.count(events.EXECUTION_START) == seen.count(events.EXECUTION_END) == 1
    for name in ("amplifier_module_loop_scripted", "amplifier_module_context_mock"):
        del sys.modules[name]


MODULES = {
    "loop-scripted": """
from amplifier_core.testing import ScriptedOrchestrator

async def mount(coordinator, config):
    await coordinator.mount("orchestrator", ScriptedOrchestrator(["scripted"]))
""",
    "context-mock": """
from amplifier_core.testing import MockContextManager

async def mount(coordinator, config):
    await coordinator.mount("context", MockContextManager())
""",
}


async def test_the_ready_made_coordinator_has_tools_and_a_context() -> None:
    coordinator = create_test_coordinator()

    assert list(coordinator.get_all("tools")) == ["echo", "fail"]
    assert (await coordinator.get("tools", "echo").execute({})).output == "Echo response"
    assert (await coordinator.get("tools", "fail").execute({})).output is None
    assert isinstance(coordinator.get("context"), MockContextManager)


async def test_waiting_ends_when_the_condition_holds() -> None:
    answers = iter([False, False, True])

    assert await wait_for(lambda: next(answers)) is True
    assert await wait_for(lambda: True, timeout=0) is True


async def test_waiting_gives_up_after_the_timeout() -> None:
    assert await wait_for(lambda: False, timeout=0.02) is False


def test_the_stand_ins_are_offered_by_the_package() -> None:
    assert amplifier_core.MockCoordinator is MockCoordinator
    assert amplifier_core.wait_for is wait_for


class MyModule:
    def __init__(self, config: dict[str, Any]) -> None:
        self.key = config["api_key"]

    async def cleanup(self) -> None: ...


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> Any:
    instance = MyModule(config)
    await coordinator.mount("providers", instance, name="my-module")
    return instance.cleanup


async def test_the_test_of_the_developer_guide_passes() -> None:
    coordinator = MockCoordinator()
    cleanup = await mount(coordinator, {"api_key": "test"})

    assert "my-module" in coordinator.modules
    assert cleanup is not None
