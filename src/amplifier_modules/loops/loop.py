"""What the three orchestrators share, and the points where they may differ."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any

from amplifier_core.message_models import ChatRequest, ToolCall

from amplifier_modules.loops.options import LoopSettings
from amplifier_modules.loops.turn import Turn

logger = logging.getLogger(__name__)


class Loop:
    """An orchestrator. Subclasses override the points below; the order is the engine's."""

    name = "loop"
    first_iteration = 0
    answers_without_provider = True
    """Whether a missing provider is told in the answer; otherwise it is raised."""
    chooses_tools = False
    """Whether `select` has anything to say."""
    compacts = False
    """Whether to ask also contexts of the newer contract if they should be compacted."""
    settings: LoopSettings

    def __init__(self, coordinator: Any, settings: LoopSettings) -> None:
        self.coordinator = coordinator
        self.settings = settings

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: dict[str, Any],
        tools: dict[str, Any],
        hooks: Any,
        coordinator: Any = None,
        **_: Any,
    ) -> str:
        """Work on a prompt and return the answer."""
        if coordinator is not None:
            self.coordinator = coordinator
        return await self.run(Turn(self, prompt, context, providers, tools, hooks))

    # -- where loops differ -----------------------------------------------------------

    async def run(self, turn: Turn) -> str:
        """Run a turn, and whatever is to follow it; the last answer."""
        return await turn.run()

    @property
    def reasoning_effort(self) -> str | None:
        return None

    def choose_provider(self, providers: dict[str, Any]) -> str:
        """Name of the provider for this turn; there is at least one."""
        wanted = self.settings.default_provider
        if wanted in providers:
            return wanted
        name = min(providers, key=lambda each: _priority(providers[each]))
        if wanted is not None:
            logger.warning("There is no provider %r; %r is used instead", wanted, name)
        return name

    async def turn_starts(self, turn: Turn) -> None:
        """Called before the prompt is stored."""

    async def before_step(self, turn: Turn) -> None:
        """Called before each model call."""

    def complete(self, turn: Turn, request: ChatRequest) -> Awaitable[Any]:
        """Ask the provider."""
        answer: Awaitable[Any] = turn.provider.complete(request)
        return answer

    async def select(
        self, turn: Turn, call: ToolCall, about: dict[str, Any], later: list[Any]
    ) -> str | None:
        """Put the tool that really serves a call into `about`; the reason if none does."""
        return None

    async def tool_failed(self, turn: Turn, about: dict[str, Any], error: dict[str, Any]) -> None:
        """Called when a tool raised or does not exist."""

    async def provider_failed(self, turn: Turn, error: Exception) -> str | None:
        """Called when the provider raised; a text ends the turn as its answer."""
        return None

    def wants_to_go_on(self) -> bool:
        """Whether something is left to say to the model although it has answered."""
        return False

    async def turn_ends(self, turn: Turn, text: str) -> None:
        """Called once when a turn is over, on every path, before that is announced."""


def _priority(provider: Any) -> float:
    priority = getattr(provider, "priority", None)
    if priority is None:
        config = getattr(provider, "config", None)
        priority = config.get("priority") if isinstance(config, dict) else None
    return priority if isinstance(priority, int | float) else 100
