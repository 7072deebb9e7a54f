"""`loop-events`: tools are chosen by events, one after the other.

Hooks may send a call to another tool (`tool:selecting`). A provider that fails ends the
turn with the error as its answer.
"""

from __future__ import annotations

from typing import Any

from amplifier_core.events import SESSION_END, SESSION_START
from amplifier_core.message_models import ToolCall

from amplifier_modules.loops.loop import Loop
from amplifier_modules.loops.options import LoopSettings
from amplifier_modules.loops.results import said
from amplifier_modules.loops.turn import Turn

__amplifier_module_type__ = "orchestrator"

TOOL_SELECTING = "tool:selecting"
TOOL_SELECTED = "tool:selected"
ERROR_TOOL = "error:tool"
ERROR_PROVIDER = "error:provider"
OWN_EVENTS = [TOOL_SELECTING, TOOL_SELECTED, ERROR_TOOL, ERROR_PROVIDER]


class EventsLoop(Loop):
    """Lets hooks take part in the choice of every tool."""

    name = "loop-events"
    chooses_tools = True
    compacts = True

    async def turn_starts(self, turn: Turn) -> None:
        turn.injections.keep_for_the_whole_turn()
        await turn.hooks.emit(SESSION_START, {"prompt": turn.prompt})

    async def select(
        self, turn: Turn, call: ToolCall, about: dict[str, Any], later: list[Any]
    ) -> str | None:
        offer = {**about, "available_tools": list(turn.tools)}
        verdict = await turn.ask(TOOL_SELECTING, offer, later)
        if verdict.action == "deny":
            return f"Error: {verdict.reason or 'the call was denied'}"
        chosen = (verdict.data or {}).get("tool")
        by_hook = isinstance(chosen, str) and chosen != call.name
        payload = {
            **about,
            "tool": chosen if by_hook else call.name,
            "source": "scheduler" if by_hook else "llm",
            "original_tool": call.name,
        }
        await turn.hooks.emit(TOOL_SELECTED, payload)
        if by_hook:
            about["tool_name"] = chosen
        return None

    async def tool_failed(self, turn: Turn, about: dict[str, Any], error: dict[str, Any]) -> None:
        payload = {**about, "error_type": error["type"], "error_message": error["msg"]}
        await turn.hooks.emit(ERROR_TOOL, {**payload, "severity": "medium"})

    async def provider_failed(self, turn: Turn, error: Exception) -> str | None:
        text = said(error)
        payload = {"error_type": type(error).__name__, "error_message": text, "severity": "high"}
        await turn.hooks.emit(ERROR_PROVIDER, payload)
        return f"Error: {text}"

    async def turn_ends(self, turn: Turn, text: str) -> None:
        await turn.hooks.emit(SESSION_END, {"response": text})


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    loop = EventsLoop(coordinator, LoopSettings.read(config, EventsLoop.name))
    coordinator.register_contributor("observability.events", loop.name, lambda: OWN_EVENTS)
    await coordinator.mount("orchestrator", loop)
