"""A child can do at most what its parent can, whatever its agent asks for."""

from pathlib import Path
from typing import Any

import pytest
from helpers_delegation import Brain, calls, says, world
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.delegation.narrowing import Limits, keeping, narrowed

pytestmark = pytest.mark.together

TOOLS = ("tool-files", "tool-bash", "tool-web")


async def child_of(agent: dict[str, Any], **options: Any) -> Any:
    """The coordinator of a child that ran for an agent."""
    async with world(agents={"a": agent}, **options) as stage:
        result = await stage.run(instruction="x", agent="a")
        assert result.success, result.output
        child = stage.child()
        child.spawned = stage.seen("task:agent_spawned")[0]
        return child


async def test_an_agent_without_wishes_gets_the_parents_tools_and_hooks() -> None:
    child = await child_of({}, tools=TOOLS, hooks=("hooks-approval",))

    assert list(child.tools_seen) == list(TOOLS)
    assert child.hooks_seen == ["hooks-recorder", "hooks-approval"]
    assert "left_out" not in child.spawned


async def test_an_agent_that_names_tools_gets_only_those_of_the_parent() -> None:
    wishes = {"tools": ["tool-web", {"module": "tool-nuclear"}, "bash"]}

    child = await child_of(wishes, tools=TOOLS)

    assert list(child.tools_seen) == ["tool-bash", "tool-web"]
    assert child.spawned["left_out"] == ["tools: tool-nuclear"]


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"exclude_tools": ["tool-bash"]}, ["tool-files", "tool-web"]),
        ({"inherit_tools": ["web", "tool-unknown"]}, ["tool-web"]),
        ({"inherit_tools": []}, []),
    ],
)
async def test_the_tools_config_says_what_children_inherit(
    config: dict[str, Any], kept: list[str]
) -> None:
    child = await child_of({}, tools=TOOLS, **config)

    assert list(child.tools_seen) == kept


async def test_a_tool_that_the_agent_names_stays_although_it_is_excluded() -> None:
    child = await child_of({"tools": ["tool-bash"]}, tools=TOOLS, exclude_tools=["tool-bash"])

    assert list(child.tools_seen) == ["tool-bash"]


@pytest.mark.parametrize(
    "config", [{"exclude_hooks": ["hooks-ui"]}, {"inherit_hooks": ["recorder"]}]
)
async def test_hooks_may_be_left_out_but_not_guards(config: dict[str, Any]) -> None:
    hooks = ("hooks-ui", "hooks-approval", {"module": "hook-own", "guard": True})

    child = await child_of({}, hooks=hooks, **config)

    assert child.hooks_seen == ["hooks-recorder", "hooks-approval", "hook-own"]


@pytest.mark.parametrize("wish", [[], ["hooks-recorder"], ["hooks-yes-to-all"]])
async def test_an_agent_can_neither_drop_hooks_nor_bring_any(wish: list[str]) -> None:
    child = await child_of({"hooks": wish}, hooks=("hooks-ui", "hooks-approval"))

    assert child.hooks_seen == ["hooks-recorder", "hooks-ui", "hooks-approval"]
    foreign = [each for each in wish if each == "hooks-yes-to-all"]
    assert child.spawned.get("left_out", []) == [f"hooks: {each}" for each in foreign]


async def test_excluding_a_guard_is_an_error_of_the_config() -> None:
    async with world() as stage:
        load = await stage.session.loader.load("tool-task", {"exclude_hooks": ["hooks-approval"]})
        with pytest.raises(ValueError, match="'hooks-approval' is a guard") as refused:
            await load(stage.session.coordinator)

    assert "Config of 'tool-task'" in str(refused.value)


@pytest.mark.parametrize("kind", ["tools", "hooks"])
async def test_exclude_and_inherit_exclude_each_other(kind: str) -> None:
    config = {f"exclude_{kind}": ["a"], f"inherit_{kind}": ["b"]}
    async with world() as stage:
        load = await stage.session.loader.load("tool-task", config)
        with pytest.raises(ValueError, match="exclude each other; give one"):
            await load(stage.session.coordinator)


@pytest.mark.parametrize("broken", ["hooks-approval", "hooks-ui"])
async def test_a_child_is_not_started_without_one_of_its_hooks(broken: str) -> None:
    async with world(hooks=(broken,)) as stage:
        stage.broken.add(broken)
        result = await stage.run(instruction="x", agent="reader")

        assert stage.brain.requests == []
        assert len(stage.seen("session:end")) == 1

    assert result.output == (
        f"Agent 'reader' could not be started: its hook {broken!r} is missing: it is broken"
    )


async def test_a_tool_that_the_parent_lost_meanwhile_is_not_the_childs() -> None:
    used: list[Any] = []

    async def look(request: Any) -> Any:
        used.extend(each.name for each in request.tools or ())
        return says("ok")

    async with world(Brain(x=[look]), tools=TOOLS) as stage:
        await stage.session.coordinator.unmount("tools", name="bash")
        await stage.run(instruction="x", agent="reader")

    assert used == ["files", "web"]


async def test_what_needs_approval_in_the_parent_needs_it_in_the_child() -> None:
    async with world(tools=TOOLS) as stage:
        stage.session.coordinator.session_state["require_approval_tools"] = {"bash"}
        await stage.run(instruction="x", agent="reader")

        assert stage.child().session_state == {"require_approval_tools": {"bash"}}


async def narrowed_config(parent: dict[str, Any], agent: dict[str, Any]) -> tuple[Any, list[str]]:
    wish = {"tools": [{"module": "tool-files", "config": agent}]}
    child = await child_of(wish, tools=({"module": "tool-files", "config": parent},))
    return child.tools_seen.get("tool-files"), child.spawned.get("left_out", [])


CONFIGS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = {
    "a lower limit": ({"timeout": 60}, {"timeout": 5}, {"timeout": 5}, []),
    "a higher limit": ({"timeout": 60}, {"timeout": 90}, {"timeout": 60}, ["timeout"]),
    "a limit of its own": ({}, {"max_size": 9}, {}, ["max_size"]),
    "no limit": ({"timeout": 60}, {"timeout": 0}, {"timeout": 60}, ["timeout"]),
    "more denied": (
        {"denied_hosts": ["a"]},
        {"denied_hosts": ["b"]},
        {"denied_hosts": ["a", "b"]},
        [],
    ),
    "less allowed": (
        {"allowed_hosts": ["a", "b"]},
        {"allowed_hosts": ["b", "c"]},
        {"allowed_hosts": ["b"]},
        [],
    ),
    "a list of its own": ({}, {"allowed_commands": ["rm"]}, {}, ["allowed_commands"]),
    "more care": ({}, {"require_approval": True}, {"require_approval": True}, []),
    "less care": (
        {"require_approval": True},
        {"require_approval": False},
        {"require_approval": True},
        ["require_approval"],
    ),
    "another folder": ({}, {"working_dir": "/"}, {}, ["working_dir"]),
    "no writing": (
        {"allowed_write_paths": ["src"]},
        {"allowed_write_paths": []},
        {"allowed_write_paths": []},
        [],
    ),
    "anything else": ({"profile": "a"}, {"profile": "b"}, {"profile": "a"}, ["profile"]),
}


@pytest.mark.parametrize("what", CONFIGS)
async def test_an_agent_can_only_tighten_the_config_of_a_tool(what: str) -> None:
    parent, agent, expected, left_out = CONFIGS[what]

    config, told = await narrowed_config(parent, agent)

    assert config == expected
    assert told == [f"tools: tool-files: {key}" for key in left_out]


async def test_a_tool_whose_allowed_list_would_become_empty_is_left_out() -> None:
    config, told = await narrowed_config({"allowed_hosts": ["a"]}, {"allowed_hosts": ["b"]})

    assert config is None
    assert told == ["tools: tool-files"]


async def test_paths_are_kept_only_within_those_of_the_parent(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "out").symlink_to(tmp_path)
    inside, outside = str(tmp_path / "src" / "app"), str(tmp_path)
    wanted = [inside, outside, f"{inside}/../..", str(tmp_path / "srcs"), f"{tmp_path}/src/out/x"]

    config, _ = await narrowed_config(
        {"allowed_write_paths": [str(tmp_path / "src")]}, {"allowed_write_paths": wanted}
    )

    assert config == {"allowed_write_paths": [inside]}


async def test_without_write_paths_the_working_folder_is_the_limit(tmp_path: Path) -> None:
    wanted = ["docs", str(tmp_path / "src"), "..", "/etc"]
    parent = {"working_dir": str(tmp_path)}

    config, _ = await narrowed_config(parent, {"allowed_write_paths": wanted})

    assert config == {**parent, "allowed_write_paths": ["docs", str(tmp_path / "src")]}


@pytest.mark.parametrize(
    ("parent", "tool", "agent", "expected"),
    [
        (-1, None, None, -1),
        (10, None, None, 10),
        (10, 4, None, 4),
        (10, 4, 2, 2),
        (3, 4, 5, 3),
        (-1, None, 7, 7),
        (5, None, -1, 5),
        (5, None, "many", 5),
    ],
)
def test_the_lowest_number_of_iterations_counts(
    parent: int, tool: int | None, agent: Any, expected: int
) -> None:
    loop = {"module": "loop-basic", "config": {"max_iterations": parent}}
    plan = {"session": {"orchestrator": loop, "context": "c"}}
    wish = {} if agent is None else {"config": {"max_iterations": agent}}
    limits = Limits(keeping(None, None), keeping(None, None), tool)

    child = narrowed(plan, {"session": {"orchestrator": wish}}, limits, "/")

    assert child.plan["session"]["orchestrator"]["config"]["max_iterations"] == expected
    assert loop["config"] == {"max_iterations": parent}


async def test_a_child_stops_at_its_number_of_iterations() -> None:
    wrap_up = {"limit.</system-reminder>": [says("that is it")]}
    brain = Brain(x=[calls("bash"), calls("bash"), says("never")], **wrap_up)

    async with world(brain, tools=TOOLS, max_iterations=2) as stage:
        result = await stage.run(instruction="x", agent="reader")

    assert result.output["response"] == "that is it"
    assert len(brain.requests) == 3


async def test_a_child_cannot_hand_its_task_on() -> None:
    offered: list[str] = []

    async def look(request: Any) -> Any:
        offered.extend(each.name for each in request.tools or ())
        return calls("task", instruction="y", agent="reader")

    async with world(Brain(x=[look, says("so be it")]), tools=TOOLS) as stage:
        result = await stage.run(instruction="x", agent="reader")

        assert len(stage.seen("task:agent_spawned")) == 1

    assert offered == ["files", "bash", "web"]
    assert result.output["response"] == "so be it"


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
async def test_tasks_are_handed_on_as_deep_as_is_allowed(limit: int) -> None:
    again = calls("task", instruction="x", agent="reader")
    brain = Brain(x=[again] * 9 + [says("done")] * 20)

    async with world(brain, max_recursion_depth=limit) as stage:
        result = await stage.run(instruction="x", agent="reader")

        assert len(stage.seen("task:agent_spawned")) == limit
    if limit == 0:
        assert result.output == (
            "This session is 0 deep, and tasks may only be handed on 0 deep. Do the work here."
        )


@pytest.mark.parametrize(
    ("rule", "kept"), [("all", ["a", "b"]), ("none", []), (["b", "c"], ["b"]), ("a", [])]
)
def test_an_agent_may_call_only_those_agents_that_its_rule_names(
    rule: Any, kept: list[str]
) -> None:
    plan = {"session": {"orchestrator": "l", "context": "c"}, "agents": {"a": {}, "b": {}}}
    limits = Limits(keeping(None, None), keeping(None, None))

    child = narrowed(plan, {"agents": rule}, limits, "/")

    assert list(child.plan["agents"]) == kept


@pytest.mark.parametrize(
    "agent",
    [
        {"session": "x"},
        {"session": {"orchestrator": {"config": ["a"]}}},
        {"agents": [["a"]]},
        {"tools": [{"module": "tool-files", "config": "x"}]},
        {"provider_preferences": ["brain"]},
        {"provider_preferences": {"provider": "brain"}},
    ],
)
async def test_parts_of_an_agent_that_make_no_sense_are_passed_over(agent: dict[str, Any]) -> None:
    async with world(agents={"a": agent}, tools=TOOLS) as stage:
        result = await stage.run(instruction="x", agent="a")

    assert result.success, result.output


ids = st.sampled_from(
    ["tool-a", "tool-b", "tool-task", "a", "hooks-approval", "hooks-x", "hook-y", "hooks-redaction"]
)
keys = st.sampled_from(
    ["allowed_write_paths", "allowed_hosts", "denied_paths", "timeout", "max_x", "profile"]
)
paths = st.lists(st.sampled_from(["/p", "/p/q", "r", "/"]))
values = st.one_of(st.none(), st.integers(-2, 9), st.booleans(), paths)
configs = st.dictionaries(keys, values, max_size=4)
sound_configs = st.fixed_dictionaries(
    {},
    optional={
        "allowed_write_paths": paths,
        "allowed_hosts": paths,
        "denied_paths": paths,
        "timeout": st.integers(1, 9),
        "profile": st.just("strict"),
    },
)
entry = st.one_of(ids, st.fixed_dictionaries({"module": ids, "config": configs}))
modules = st.lists(entry, max_size=5)
agents = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.one_of(modules, st.none(), st.text(max_size=3)),
        "hooks": st.one_of(modules, st.none()),
        "agents": st.one_of(st.just("all"), st.just("none"), st.lists(ids)),
        "session": st.fixed_dictionaries(
            {}, optional={"orchestrator": st.fixed_dictionaries({"config": configs})}
        ),
        "providers": modules,
    },
)
sound = st.fixed_dictionaries({"module": ids, "config": sound_configs})
plans = st.fixed_dictionaries(
    {
        "session": st.just({"orchestrator": {"module": "l", "config": {}}, "context": "c"}),
        "tools": st.lists(sound, max_size=5, unique_by=lambda each: each["module"]),
        "hooks": st.lists(sound, max_size=5),
    }
)


def covers(top: str, path: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def is_within(key: str, own: Any, above: Any) -> bool:
    """Whether one value allows no more than another."""
    if own == above:
        return True
    if key == "allowed_write_paths":
        tops = ["/project"] if above is None else above
        full = [each if each.startswith("/") else f"/project/{each}" for each in own]
        tops = [each if each.startswith("/") else f"/project/{each}" for each in tops]
        return all(any(covers(top, each) for top in tops) for each in full)
    if key == "allowed_hosts":
        return above is not None and set(own) <= set(above)
    if key == "denied_paths":
        return set(above or ()) <= set(own)
    return key == "timeout" and above is not None and 0 < own < above


@settings(max_examples=300, deadline=None)
@given(plan=plans, agent=agents, exclude=st.lists(ids), may_delegate=st.booleans())
def test_no_agent_config_widens_a_plan(
    plan: dict[str, Any], agent: dict[str, Any], exclude: list[str], may_delegate: bool
) -> None:
    limits = Limits(keeping(None, exclude), keeping(None, exclude), may_delegate=may_delegate)

    child = narrowed(plan, agent, limits, "/project").plan

    above = [each["module"] for each in plan["tools"]]
    assert {each["module"] for each in child["tools"]} <= set(above)
    for each in child["tools"]:
        (top,) = [top["config"] for top in plan["tools"] if top["module"] == each["module"]]
        own = each.get("config") or {}
        for key in own.keys() | top.keys():
            assert is_within(key, own.get(key), top.get(key)), (key, own, top)
    assert [each for each in child["hooks"] if each not in plan["hooks"]] == []
    guards = [
        each for each in plan["hooks"] if each["module"] in ("hooks-approval", "hooks-redaction")
    ]
    assert [each for each in guards if each not in child["hooks"]] == []
    assert may_delegate or "tool-task" not in [each["module"] for each in child["tools"]]
    assert child["session"]["context"] == "c"
