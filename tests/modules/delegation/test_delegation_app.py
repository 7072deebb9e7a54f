"""An app that offers to run children is asked to, with all it needs to know."""

import asyncio
from typing import Any

import pytest
from helpers_delegation import world

pytestmark = pytest.mark.together


class App:
    """Runs children by writing down what it was asked."""

    def __init__(self, result: Any = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.result = {"output": "done", "session_id": "from-app"} if result is None else result

    async def spawn(
        self,
        agent_name: str,
        instruction: str,
        parent_session: Any,
        agent_configs: dict[str, Any],
        sub_session_id: str,
        tool_inheritance: dict[str, Any],
        hook_inheritance: dict[str, Any],
        orchestrator_config: dict[str, Any],
        provider_preferences: Any,
    ) -> Any:
        self.asked.append({key: each for key, each in locals().items() if key != "self"})
        return self._answer()

    async def spawn_with_all(self, **asked: Any) -> Any:
        self.asked.append(asked)
        return self._answer()

    async def resume(self, sub_session_id: str, instruction: str) -> Any:
        self.asked.append({"sub_session_id": sub_session_id, "instruction": instruction})
        return self._answer()

    def _answer(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


async def test_the_app_gets_the_documented_arguments() -> None:
    app = App()
    options = {"exclude_tools": ["tool-web"], "inherit_hooks": ["hooks-recorder"]}
    loop = {"max_iterations": 9}

    async with world(loop=loop, hooks=("hooks-ui", "hooks-approval"), **options) as stage:
        stage.session.coordinator.register_capability("session.spawn", app.spawn)
        preferences = [{"provider": "p", "model": "m*"}]
        result = await stage.run(instruction="x", agent="reader", provider_preferences=preferences)
        (asked,) = app.asked
        spawned = stage.seen("task:agent_spawned")[0]

    assert result.output == {"response": "done", "session_id": "from-app"}
    assert (asked["agent_name"], asked["instruction"]) == ("reader", "x")
    assert asked["parent_session"] is stage.session
    assert asked["sub_session_id"] == spawned["sub_session_id"]
    assert asked["agent_configs"] == stage.session.config["agents"]
    assert asked["tool_inheritance"] == {
        "exclude_tools": ["tool-web", "tool-task", "tool-delegate"]
    }
    assert asked["hook_inheritance"] == {"inherit_hooks": ["hooks-recorder", "hooks-approval"]}
    assert asked["orchestrator_config"] == loop
    assert asked["provider_preferences"] == preferences


async def test_an_app_that_takes_more_is_told_where_the_child_belongs() -> None:
    app = App()

    async with world() as stage:
        stage.session.coordinator.register_capability("session.spawn", app.spawn_with_all)
        await stage.run(instruction="x", agent="reader")

    (asked,) = app.asked
    assert asked["session_metadata"] == {"agent_name": "reader", "delegation_depth": 1}
    assert asked["provider_preferences"] is None


async def test_the_app_never_sees_wishes_that_go_beyond_the_parent() -> None:
    app = App()
    tools = ({"module": "tool-files", "config": {"timeout": 5}},)
    wish = {"module": "tool-files", "config": {"timeout": 90, "profile": "yolo"}}
    agents = {"a": {"tools": [wish, "tool-nuclear"], "hooks": ["hooks-own"], "instruction": "Go."}}

    async with world(agents=agents, tools=tools, hooks=("hooks-approval",)) as stage:
        stage.session.coordinator.register_capability("session.spawn", app.spawn)
        await stage.run(instruction="x", agent="a")

    assert app.asked[0]["agent_configs"]["a"] == {
        "tools": [{"module": "tool-files", "config": {"timeout": 5}}],
        "hooks": [{"module": "hooks-recorder"}, {"module": "hooks-approval"}],
        "instruction": "Go.",
    }


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (RuntimeError("no room"), "Agent 'reader' failed: RuntimeError: no room"),
        ("text", "The app ran the agent, but gave no answer. Try again."),
        ({"session_id": "x"}, "The app ran the agent, but gave no answer. Try again."),
    ],
)
async def test_an_app_that_fails_is_a_failed_result(result: Any, message: str) -> None:
    async with world() as stage:
        stage.session.coordinator.register_capability("session.spawn", App(result).spawn)
        assert (await stage.run(instruction="x", agent="reader")).output == message


async def test_the_limit_on_depth_holds_for_children_that_the_app_runs() -> None:
    results: list[Any] = []
    excluded: list[Any] = []

    async with world(max_recursion_depth=2) as stage:

        async def spawn(**asked: Any) -> dict[str, str]:
            excluded.append(asked["tool_inheritance"].get("exclude_tools"))
            results.append(await stage.run(instruction="x", agent="reader"))
            return {"output": "done"}

        stage.session.coordinator.register_capability("session.spawn", spawn)
        assert (await stage.run(instruction="x", agent="reader")).success

    assert excluded == [None, ["tool-task", "tool-delegate"]]
    assert [each.success for each in results] == [False, True]
    assert "This session is 2 deep" in str(results[0].output)


async def test_the_app_is_asked_to_let_a_child_go_on() -> None:
    child = "root-0123456789abcdef_my-reader"
    app = App({"output": "more", "session_id": child})

    async with world() as stage:
        stage.session.coordinator.register_capability("session.resume", app.resume)
        result = await stage.run(instruction="x", session_id=child)

    assert result.output == {"response": "more", "session_id": child}
    assert app.asked == [{"sub_session_id": child, "instruction": "x"}]


@pytest.mark.parametrize(
    "session_id",
    [
        "elsewhere-0123456789abcdef_reader",
        "root",
        "root-2",
        "root-2-0123456789abcdef_reader",
        "root-/../../elsewhere",
        "root-0123456789abcdef_reader/../../elsewhere",
        "root-0123456789abcdef_reader\nx",
        "root-0123456789abcdef_reader-0123456789abcdef_reader",
    ],
)
async def test_the_app_is_never_asked_for_a_session_that_is_no_child(session_id: str) -> None:
    app = App({"output": "more"})

    async with world() as stage:
        stage.session.coordinator.register_capability("session.resume", app.resume)
        result = await stage.run(instruction="x", session_id=session_id)

    assert app.asked == []
    assert f"There is no child session {session_id!r}" in str(result.output)


async def test_an_app_that_takes_too_long_is_not_waited_for() -> None:
    async def spawn(**asked: Any) -> Any:
        await asyncio.Event().wait()

    async with world(timeout=0.1) as stage:
        stage.session.coordinator.register_capability("session.spawn", spawn)
        result = await stage.run(instruction="x", agent="reader")

    assert result.output == "Agent 'reader' did not finish within 0.1 s and was stopped."
