"""A stage for goals: a model that works, another that judges, and a goal to pursue."""

from typing import Any

from helpers_loops import Memory, Model, Stage, mounted, says

PROGRESS = "orchestrator:goal_progress"
COMPLETE = "orchestrator:complete"
PREFERENCES = [{"provider": "judge"}]


async def pursuing(
    worker: list[Any],
    judge: list[Any],
    *,
    config: dict[str, Any] | None = None,
    goal: Any = "default",
    **tools: Any,
) -> Stage:
    """A loop with a goal; steps may be texts. The judge answers all that is asked beside."""
    settings = {"goal_provider_preferences": PREFERENCES, **(config or {})}
    ready = await mounted("loop-streaming", settings)
    models = [
        Model(*map(_step, worker), name="worker"),
        Model(*map(_step, judge), name="judge"),
    ]
    ready.set(Memory(), models, tools)
    goal = {"condition": "all tests pass", "cap": None} if goal == "default" else goal
    if goal is not None:
        ready.coordinator.session_state["goal"] = goal
    return ready


def _step(step: Any) -> Any:
    return says(step) if isinstance(step, str) else step


def model(ready: Stage, name: str) -> Model:
    found: Model = ready.coordinator.get("providers")[name]
    return found


def goal_in(ready: Stage) -> Any:
    return ready.coordinator.session_state.get("goal")


def states(ready: Stage) -> list[str]:
    return [data["state"] for data in ready.payloads(PROGRESS)]


def last_progress(ready: Stage) -> dict[str, Any]:
    return ready.payloads(PROGRESS)[-1]


def said(ready: Stage, event: str) -> dict[str, Any]:
    """The one payload of `event`, without what the kernel adds."""
    return {key: value for key, value in ready.payload(event).items() if key != "timestamp"}


def completions(ready: Stage) -> list[tuple[bool, bool, int]]:
    return [
        (data["goal_turn"], data["goal_final"], data["continuations"])
        for data in ready.payloads(COMPLETE)
    ]


def prompts(ready: Stage) -> list[str]:
    return [m["content"] for m in ready.context.messages if m["role"] == "user"]


def asked(ready: Stage, index: int = -1) -> str:
    """What the judge was asked."""
    text: str = model(ready, "judge").requests[index].messages[-1].content
    return text
