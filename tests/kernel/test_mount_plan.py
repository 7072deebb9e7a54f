"""Reading a mount plan: every spelling of a plan, and every mistake with its place."""

import math
import re
from typing import Any

import pytest
from amplifier_core._mount_plan import DEFAULT_MOUNT_TIMEOUT, Entry, MountPlan, read_mount_plan
from helpers_modules import entries, plan
from hypothesis import given
from hypothesis import strategies as st


def _entries(config: dict[str, Any], kind: str) -> list[Entry]:
    return [entry for entry in read_mount_plan(config).entries if entry.kind == kind]


def _refused(config: Any) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        read_mount_plan(config)
    return str(caught.value)


# -- what a plan may say --------------------------------------------------------------


def test_modules_come_in_the_order_they_are_mounted() -> None:
    config = {
        "hooks": entries("h"),
        "tools": entries("t1", "t2"),
        "providers": entries("p"),
        "session": {"context": "c", "approval": {"module": "a"}, "orchestrator": "o"},
    }

    read = read_mount_plan(config)

    assert [(entry.kind, entry.where, entry.module) for entry in read.entries] == [
        ("orchestrator", "session.orchestrator", "o"),
        ("context", "session.context", "c"),
        ("approval", "session.approval", "a"),
        ("provider", "providers[0]", "p"),
        ("tool", "tools[0]", "t1"),
        ("tool", "tools[1]", "t2"),
        ("hook", "hooks[0]", "h"),
    ]


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
def test_a_required_module_may_be_an_id_with_its_settings_elsewhere(kind: str) -> None:
    config = {"session": {kind: "mine", f"{kind}_source": "src"}, kind: {"config": {"a": 1}}}

    (entry,) = _entries(config, kind)

    assert (entry.module, entry.source, entry.config) == ("mine", "src", {"a": 1})


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
def test_a_required_module_given_as_a_mapping_has_its_settings_inside(kind: str) -> None:
    spec = {"module": "mine", "source": "src", "config": {"a": 1}}
    config = {"session": {kind: spec, f"{kind}_source": "unused"}, kind: {"config": {"b": 2}}}

    (entry,) = _entries(config, kind)

    assert (entry.module, entry.source, entry.config) == ("mine", "src", {"a": 1})


@pytest.mark.parametrize(
    ("kind", "module"), [("orchestrator", "loop-basic"), ("context", "context-simple")]
)
@pytest.mark.parametrize("spec", [None, {}, {"config": {}}])
def test_a_required_module_without_an_id_is_the_usual_one(
    kind: str, module: str, spec: Any
) -> None:
    (entry,) = _entries({"session": {kind: spec}}, kind)

    assert entry.module == module


def test_an_entry_keeps_what_the_app_wrote_for_the_app_to_see() -> None:
    spec = {"module": "t", "source": {"git": "x"}, "note": "of the app"}

    (entry,) = _entries(plan(tools=[spec]), "tool")

    assert entry.raw is spec
    assert (entry.source, entry.config, entry.instance_id) == ({"git": "x"}, {}, None)


@pytest.mark.parametrize("nothing", [None, [], ()])
@pytest.mark.parametrize("section", ["providers", "tools", "hooks"])
def test_a_section_may_be_empty(section: str, nothing: Any) -> None:
    assert len(read_mount_plan(plan(**{section: nothing})).entries) == 2


def test_a_section_may_be_a_tuple() -> None:
    assert [each.module for each in _entries(plan(tools=tuple(entries("a", "b"))), "tool")] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("key", ["instance_id", "name"])
def test_a_provider_is_named_by_either_key(key: str) -> None:
    (entry,) = _entries(plan(providers=[{"module": "p", key: "mine"}]), "provider")

    assert entry.instance_id == "mine"


def test_only_a_provider_has_an_instance_id() -> None:
    (entry,) = _entries(plan(tools=[{"module": "t", "name": 5}]), "tool")

    assert entry.instance_id is None


@pytest.mark.parametrize(
    ("given_timeout", "read"),
    [(None, DEFAULT_MOUNT_TIMEOUT), (5, 5), (0.5, 0.5), (math.inf, 1e9), (10**400, 1e9)],
)
def test_the_deadline_for_mounting_can_be_set(given_timeout: Any, read: float) -> None:
    config = plan(session={"mount_timeout": given_timeout})

    assert read_mount_plan(config).mount_timeout == read


def test_sections_and_keys_that_are_the_apps_affair_are_left_alone() -> None:
    config = plan(
        session={"metadata": {}, "debug": True},
        agents={"dirs": []},
        tools=[{"module": "t", "enabled": True, 5: "five"}],
    )

    assert len(read_mount_plan(config).entries) == 3


# -- mistakes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "A mount plan must be a mapping, not list. Write it as `key: value`."),
        ({"session": 5}, "session must be a mapping, not int. Write it as `key: value`."),
        (
            plan(session={"orchestrator": 5}),
            "session.orchestrator names no module. Its 'module' must be an id, not 5.",
        ),
        (
            plan(session={"context": {"module": None}}),
            "session.context names no module. Its 'module' must be an id, not None.",
        ),
        (
            plan(context="fast"),
            "context must be a mapping, not str. Write it as `key: value`.",
        ),
        (
            plan(context={"config": "fast"}),
            "session.context.config must be a mapping, not str. Write it as `key: value`.",
        ),
        (
            plan(session={"approval": "ask-me"}),
            "session.approval must be a mapping, not str. Write it as `module: ask-me`.",
        ),
        (
            plan(tools={"module": "t"}),
            "tools must be a list of modules, not dict. Write each one as `- module: ...`.",
        ),
        (
            plan(hooks="hook-a"),
            "hooks must be a list of modules, not str. Write each one as `- module: ...`.",
        ),
        (
            plan(tools=[{"module": "t"}, "tool-bash"]),
            "tools[1] must be a mapping, not str. Write it as `module: tool-bash`.",
        ),
        (
            plan(tools=[["t"]]),
            "tools[0] must be a mapping, not list. Write it as `module: some-module`.",
        ),
        (
            plan(tools=[None]),
            "tools[0] names no module. Its 'module' must be an id, not None.",
        ),
        (
            plan(hooks=[{"module": ""}]),
            "hooks[0] names no module. Its 'module' must be an id, not ''.",
        ),
        (
            plan(providers=[{"module": "p", "config": ["a"]}]),
            "providers[0].config must be a mapping, not list. Write it as `key: value`.",
        ),
        (
            plan(tools=[{"modul": "t"}]),
            "tools[0] has the unknown key 'modul'. Did you mean 'module'?",
        ),
        (
            plan(tools=[{"module": "t", "cofnig": {}}]),
            "tools[0] has the unknown key 'cofnig'. Did you mean 'config'?",
        ),
        (
            plan(providers=[{"module": "p", "instance_id": ""}]),
            "providers[0] is named ''. Give it one instance_id, a non-empty str.",
        ),
        (
            plan(providers=[{"module": "p", "name": 5}]),
            "providers[0] is named 5. Give it one instance_id, a non-empty str.",
        ),
        (
            plan(providers=[{"module": "p", "instance_id": "a", "name": "b"}]),
            "providers[0] is named 'a' and 'b'. Give it one instance_id, a non-empty str.",
        ),
        (
            plan(providers=[{"module": "p", "name": "a"}, {"module": "q", "instance_id": "a"}]),
            "providers[1] and providers[0] are both named 'a'. "
            "Give each provider its own instance_id.",
        ),
        (
            plan(providers=entries("p", "q", "p")),
            "Multi-instance providers require explicit 'instance_id' on each additional entry. "
            "Found 2 entries for module 'p' without instance_id "
            "(at most 1 allowed as the default instance).",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_way_out(config: Any, message: str) -> None:
    assert _refused(config) == message


@pytest.mark.parametrize("value", [0, -1, math.nan, "60", True, []])
def test_a_deadline_must_be_a_time_that_can_pass(value: Any) -> None:
    text = _refused(plan(session={"mount_timeout": value}))

    assert text == f"session.mount_timeout must be float >= 0.001, not {value!r}."


@pytest.mark.parametrize("value", [-1, 1.5, "5", True, {}])
@pytest.mark.parametrize("key", ["injection_size_limit", "injection_budget_per_turn"])
def test_a_limit_must_be_a_whole_number(key: str, value: Any) -> None:
    text = _refused(plan(session={key: value}))

    assert text == f"session.{key} must be int >= 0, not {value!r}."


# -- any plan -------------------------------------------------------------------------

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
ids = st.sampled_from(["provider-a", "provider-b", "tool-a", "loop"])
specs = st.fixed_dictionaries(
    {"module": ids},
    optional={
        "config": st.dictionaries(st.text(max_size=3), json_like, max_size=2) | json_like,
        "source": json_like,
        "name": st.sampled_from(["x", "y", "z"]) | json_like,
        "instance_id": st.sampled_from(["x", "y", "z"]) | json_like,
        "modul": json_like,
    },
)
sections = st.lists(specs, max_size=3) | st.lists(specs | json_like, max_size=2) | json_like
sessions = st.fixed_dictionaries(
    {},
    optional={
        "orchestrator": ids | specs | json_like,
        "context": ids | specs | json_like,
        "context_source": json_like,
        "approval": specs | json_like,
        "mount_timeout": st.floats() | st.integers() | json_like,
        "injection_size_limit": json_like,
    },
)
plans = st.fixed_dictionaries(
    {},
    optional={
        "session": sessions | json_like,
        "orchestrator": json_like,
        "context": json_like,
        "providers": sections,
        "tools": sections,
        "hooks": sections,
        "agents": json_like,
    },
)

PLACE = re.compile(
    r"A mount plan |session[. ]|orchestrator |context |(providers|tools|hooks)[\[. ]"
    r"|Multi-instance providers "
)


@given(plans | json_like)
def test_any_plan_is_read_or_refused_with_the_place_of_the_mistake(config: Any) -> None:
    try:
        read: MountPlan | str = read_mount_plan(config)
    except ValueError as error:
        read = str(error)
    if isinstance(read, str):
        assert PLACE.match(read)
        return
    assert all(entry.module and isinstance(entry.module, str) for entry in read.entries)
    assert all(isinstance(entry.config, dict) for entry in read.entries)
    assert [entry.kind for entry in read.entries][:2] == ["orchestrator", "context"]
    names = [entry.instance_id for entry in read.entries if entry.instance_id is not None]
    assert len(set(names)) == len(names)
    assert 0 < read.mount_timeout <= 1e9


@given(st.lists(specs, max_size=4))
def test_a_sound_plan_keeps_every_entry_in_its_order(tools: list[dict[str, Any]]) -> None:
    sound = [{"module": spec["module"], "config": {"n": n}} for n, spec in enumerate(tools)]

    read = _entries(plan(tools=sound), "tool")

    assert [entry.raw for entry in read] == sound
    assert [entry.where for entry in read] == [f"tools[{n}]" for n in range(len(sound))]
