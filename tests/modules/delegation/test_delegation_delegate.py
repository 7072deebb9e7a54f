"""tool-delegate: agents and copies of the session itself, with more to choose from."""

from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.models import ToolResult
from helpers_delegation import Brain, calls, says, text_of, world

pytestmark = pytest.mark.together


def delegating(*args: Any, **options: Any) -> Any:
    return world(*args, module="tool-delegate", **options)


async def test_the_answer_comes_with_what_is_known_about_the_run() -> None:
    async with delegating() as stage:
        result = await stage.run(instruction="look", agent="reader")
        session_id = result.output.pop("session_id")
        more = await stage.run(instruction="more", session_id=session_id)
        (spawned,) = stage.seen("delegate:agent_spawned")

    assert result.output == {
        "response": "did look",
        "agent": "reader",
        "turn_count": 1,
        "status": "success",
        "metadata": {},
    }
    assert (more.output["agent"], more.output["turn_count"]) == ("reader", 2)
    assert spawned["context_depth"] == "recent"
    assert spawned["context_scope"] == "conversation"


async def test_recent_turns_are_told_by_default_up_to_the_limit() -> None:
    features = {"context_inheritance": {"max_turns": 2}}

    async with delegating(features=features) as stage:
        for index in range(4):
            message = {"role": "user", "content": f"m{index}"}
            await stage.session.coordinator.get("context").add_message(message)
        await stage.run(instruction="go", agent="reader", context_turns=3)
        prompt = text_of(stage.brain.requests[-1].messages[-1])

    assert "User: m2\n\nUser: m3" in prompt
    assert "m1" not in prompt


async def test_self_is_a_child_with_the_parents_own_tools_except_delegation() -> None:
    async with delegating(tools=("tool-bash",)) as stage:
        result = await stage.run(instruction="look", agent="self")

        assert list(stage.child().tools_seen) == ["tool-bash"]
        assert [each.role for each in stage.brain.requests[0].messages] == ["user"]

    assert result.output["agent"] == "self"


async def test_self_delegation_ends_at_its_depth_with_a_code() -> None:
    brain = Brain(x=[calls("delegate", instruction="x", agent="self")] * 9)
    options: dict[str, Any] = {
        "features": {"self_delegation": {"max_depth": 0}},
        "settings": {"exclude_tools": []},
    }

    async with delegating(brain, **options) as stage:
        result = await stage.run(instruction="x", agent="self")
        named = await stage.run(instruction="x", agent="reader")

    assert codes(result, named) == ["SELF_DELEGATION_DEPTH_EXCEEDED", "DELEGATION_DEPTH_EXCEEDED"]


def codes(*results: ToolResult) -> list[Any]:
    return [(each.error or {}).get("code") for each in results]


async def test_self_delegates_as_deep_as_is_allowed() -> None:
    again = calls("delegate", instruction="x", agent="self", context_depth="none")
    brain = Brain(x=[again] * 9 + [says("done")] * 9)

    async with delegating(brain, settings={"exclude_tools": []}) as stage:
        await stage.run(instruction="x", agent="self", context_depth="none")

        assert len(stage.seen("delegate:agent_spawned")) == 3


@pytest.mark.parametrize(
    ("features", "input", "message"),
    [
        (
            {"self_delegation": {"enabled": False}},
            {"agent": "self"},
            "Delegation to 'self' is switched off here. Name an agent.",
        ),
        (
            {"session_resume": {"enabled": False}},
            {"session_id": "root-1"},
            "'session_id' is switched off here. Leave it out.",
        ),
        (
            {"provider_selection": {"enabled": False}},
            {"agent": "self", "provider_preferences": [{"provider": "x"}]},
            "'provider_preferences' is switched off here. Leave it out.",
        ),
        (
            {"context_inheritance": {"enabled": False}},
            {"agent": "self", "context_depth": "all"},
            "'context_depth' is switched off here. Leave it out.",
        ),
    ],
)
async def test_what_is_switched_off_is_refused(
    features: dict[str, Any], input: dict[str, Any], message: str
) -> None:
    async with delegating(features=features) as stage:
        result = await stage.run(instruction="x", **input)
        (error,) = stage.seen("delegate:error")
        offered = stage.tool.input_schema["properties"]

    assert result.output == message
    assert error["error"] == message
    assert not set(input) - {"agent"} & set(offered)


class Roles:
    """Knows one role."""

    known_roles = ("fast", "coding")

    async def resolve(self, role: Any) -> list[dict[str, str]]:
        return [{"provider": "brain", "model": "quick"}] if role == "fast" else []


async def test_a_role_leads_to_a_model() -> None:
    async with delegating() as stage:
        assert "model_role" not in stage.tool.input_schema["properties"]
        stage.session.coordinator.register_capability("model_role_resolver", Roles())
        offered = stage.tool.input_schema["properties"]["model_role"]
        result = await stage.run(instruction="x", agent="reader", model_role="fast")

        assert stage.child().brain_config == {"priority": 0, "default_model": "quick"}

    assert offered == {"type": "string", "enum": ["fast", "coding"]}
    assert result.output["provider_routing"] == {"provider": "brain", "model": "quick"}


async def test_explicit_preferences_win_over_the_role() -> None:
    async with delegating() as stage:
        stage.session.coordinator.register_capability("model_role_resolver", Roles())
        wish = [{"provider": "brain", "model": "best"}]
        await stage.run(
            instruction="x", agent="reader", model_role="fast", provider_preferences=wish
        )

        assert stage.child().brain_config["default_model"] == "best"


async def test_an_app_is_told_how_deep_self_delegation_is() -> None:
    asked: list[Any] = []

    async def spawn(**wish: Any) -> dict[str, Any]:
        asked.append(SimpleNamespace(**wish))
        return {"output": "ok", "status": "success", "turn_count": 3, "metadata": {"a": 1}}

    async with delegating() as stage:
        stage.session.coordinator.register_capability("session.spawn", spawn)
        result = await stage.run(instruction="x", agent="self", context_depth="none")

    assert asked[0].self_delegation_depth == 1
    assert asked[0].tool_inheritance == {"exclude_tools": ["tool-delegate"]}
    assert (result.output["turn_count"], result.output["metadata"]) == (3, {"a": 1})


async def test_a_misspelt_feature_is_refused() -> None:
    async with delegating() as stage:
        config = {"features": {"self_delegaton": {}}}
        load = await stage.session.loader.load("tool-delegate", config)
        with pytest.raises(ValueError, match="self_delegaton"):
            await load(stage.session.coordinator)
