"""`loop-basic`: ask the model, run its tools, until it answers."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from amplifier_core.message_models import ChatRequest

from amplifier_modules.loops.loop import Loop
from amplifier_modules.loops.options import BasicSettings
from amplifier_modules.loops.turn import Turn

__amplifier_module_type__ = "orchestrator"


class BasicLoop(Loop):
    """Waits for each answer as a whole."""

    name = "loop-basic"
    answers_without_provider = False
    settings: BasicSettings

    def __init__(self, coordinator: Any, settings: BasicSettings) -> None:
        super().__init__(coordinator, settings)
        self.options = {"extended_thinking": True} if settings.extended_thinking else {}
        """What to tell a provider beside the request."""

    @property
    def reasoning_effort(self) -> str | None:
        return self.settings.reasoning_effort

    def complete(self, turn: Turn, request: ChatRequest) -> Awaitable[Any]:
        answer: Awaitable[Any] = turn.provider.complete(request, **self.options)
        return answer


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    settings = BasicSettings.read(config, BasicLoop.name)
    await coordinator.mount("orchestrator", BasicLoop(coordinator, settings))
