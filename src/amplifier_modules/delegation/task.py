"""`tool-task`: hands a task to one of the agents that the mount plan describes."""

from __future__ import annotations

from typing import Any, ClassVar

from amplifier_modules.delegation.children import Children, DelegationError, Done, Order
from amplifier_modules.delegation.delegating import DelegatingTool
from amplifier_modules.delegation.inheritance import instruction_with_context
from amplifier_modules.delegation.inputs import PREFERENCES_SCHEMA, TaskInput
from amplifier_modules.delegation.narrowing import Limits, keeping
from amplifier_modules.delegation.options import TaskSettings
from amplifier_modules.delegation.preferences import preferences_of

__amplifier_module_type__ = "tool"

MODULE_ID = "tool-task"


class TaskTool(DelegatingTool):
    """Runs an agent on a task and returns its answer."""

    name = "task"
    introduction = (
        "Hands a task to an agent that works on its own and returns one answer. It does not see "
        "this conversation unless inherit_context says so, so put everything it needs into the "
        "instruction. Several tasks may run at once. To ask the same agent again, pass the "
        "session_id of its answer instead of an agent."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "instruction": {"type": "string", "description": "What to do, complete in itself."},
            "agent": {"type": "string", "description": "Name of the agent to begin with."},
            "session_id": {"type": "string", "description": "An earlier answer's, to go on."},
            "inherit_context": {
                "type": "string",
                "enum": ["none", "recent", "all"],
                "default": "none",
                "description": "How much of this conversation the agent is told.",
            },
            "inherit_context_turns": {
                "type": "integer",
                "minimum": 1,
                "default": 5,
                "description": "Turns of this conversation that are recent.",
            },
            "provider_preferences": PREFERENCES_SCHEMA,
        },
        "required": ["instruction"],
        "additionalProperties": False,
    }

    def __init__(self, coordinator: Any, settings: TaskSettings) -> None:
        limits = Limits(
            keeping(settings.inherit_tools, settings.exclude_tools),
            keeping(settings.inherit_hooks, settings.exclude_hooks),
            settings.max_iterations,
        )
        children = Children(
            coordinator,
            limits,
            max_depth=settings.max_recursion_depth,
            timeout=settings.timeout,
            max_resumable=settings.max_resumable,
        )
        super().__init__(coordinator, children)
        self.settings = settings

    async def answer(self, input: dict[str, Any]) -> dict[str, Any]:
        wish = TaskInput.read(input)
        self._check_depth()
        if wish.session_id is not None:
            done = await self.resume(wish.session_id, wish.instruction)
        else:
            done = await self._begin(str(wish.agent), wish)
        return {"response": done.response, "session_id": done.session_id}

    def _check_depth(self) -> None:
        depth, limit = self.children.depth, self.settings.max_recursion_depth
        if depth >= limit:
            raise DelegationError(
                f"This session is {depth} deep, and tasks may only be handed on {limit} deep. "
                "Do the work here."
            )

    async def _begin(self, agent: str, wish: TaskInput) -> Done:
        config = self.agent_config(agent)
        context = self._coordinator.get("context")
        instruction = await instruction_with_context(
            wish.instruction, context, wish.inherit_context, wish.inherit_context_turns
        )
        preferences = wish.preferences or preferences_of(config)
        order = Order(agent, config, instruction, preferences, self._inheritance())
        return await self.spawn(order, {})

    def _inheritance(self) -> dict[str, dict[str, list[str]]]:
        keys = {kind: (f"exclude_{kind}", f"inherit_{kind}") for kind in ("tools", "hooks")}
        return {
            kind: {
                key: list(value)
                for key in pair
                if (value := getattr(self.settings, key)) is not None
            }
            for kind, pair in keys.items()
        }


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    tool = TaskTool(coordinator, TaskSettings.read(config, MODULE_ID))
    await coordinator.mount("tools", tool, name=tool.name)
    coordinator.register_contributor("observability.events", MODULE_ID, lambda: tool.events)
    coordinator.register_contributor("session.cost", MODULE_ID, lambda: tool.children.cost)
