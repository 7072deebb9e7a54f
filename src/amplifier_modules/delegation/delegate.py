"""`tool-delegate`: hands work to an agent or to a copy of the session itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar

from amplifier_modules.delegation.children import SELF, Children, DelegationError, Done, Order
from amplifier_modules.delegation.delegating import DelegatingTool
from amplifier_modules.delegation.inheritance import instruction_with_context
from amplifier_modules.delegation.inputs import PREFERENCES_SCHEMA, DelegateInput
from amplifier_modules.delegation.narrowing import Limits, keeping
from amplifier_modules.delegation.options import DelegateSettings
from amplifier_modules.delegation.preferences import preferences_of

__amplifier_module_type__ = "tool"

MODULE_ID = "tool-delegate"

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "instruction": {"type": "string", "description": "What to do, complete in itself."},
        "agent": {"type": "string", "description": "Name of the agent, or 'self'."},
        "session_id": {"type": "string", "description": "An earlier answer's, to go on."},
        "context_depth": {
            "type": "string",
            "enum": ["none", "recent", "all"],
            "default": "recent",
            "description": "How much of this conversation the agent is told.",
        },
        "context_turns": {"type": "integer", "minimum": 1, "default": 5},
        "context_scope": {
            "type": "string",
            "enum": ["conversation", "agents", "full"],
            "default": "conversation",
            "description": "What else it is told: results of agents, or of all tools.",
        },
        "provider_preferences": PREFERENCES_SCHEMA,
    },
    "required": ["instruction"],
    "additionalProperties": False,
}


class TooDeep(DelegationError):
    """A session that has too many others above it to delegate."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code


class DelegateTool(DelegatingTool):
    """Runs an agent and returns its answer, with what is known about the run."""

    name = "delegate"
    introduction: ClassVar[str] = (
        "Hands work to an agent that works on its own and returns one answer; 'self' is an agent "
        "like you. By default it is told the last turns of this conversation. Several may run at "
        "once. To ask the same agent again, pass the session_id of its answer instead of an agent."
    )

    def __init__(self, coordinator: Any, settings: DelegateSettings) -> None:
        policy = settings.settings
        self._features = settings.features
        self._max_depth = settings.features.self_delegation.max_depth
        limits = Limits(
            keeping(None, policy.exclude_tools),
            keeping(None, policy.exclude_hooks),
            policy.max_iterations,
        )
        children = Children(
            coordinator,
            limits,
            max_depth=self._max_depth,
            timeout=policy.timeout,
            max_resumable=policy.max_resumable,
        )
        super().__init__(coordinator, children)
        self._policy = policy

    @property
    def events(self) -> list[str]:
        return [*super().events, f"{self.name}:error"]

    @property
    def input_schema(self) -> dict[str, Any]:
        """With `model_role` only where somebody knows roles, and without what is switched off."""
        schema = deepcopy(_SCHEMA)
        properties = schema["properties"]
        resolver = self._role_resolver
        if resolver is not None:
            roles = list(getattr(resolver, "known_roles", None) or ())
            properties["model_role"] = {"type": "string", **({"enum": roles} if roles else {})}
        for key in self._switched_off():
            properties.pop(key, None)
        return schema

    @property
    def _role_resolver(self) -> Any:
        return self._coordinator.get_capability("model_role_resolver")

    def _switched_off(self) -> list[str]:
        features = self._features
        switches = {
            "session_id": features.session_resume.enabled,
            "context_depth": features.context_inheritance.enabled,
            "context_turns": features.context_inheritance.enabled,
            "context_scope": features.context_inheritance.enabled,
            "provider_preferences": features.provider_selection.enabled,
            "model_role": features.provider_selection.enabled,
        }
        return [key for key, is_on in switches.items() if not is_on]

    async def answer(self, input: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._answer(DelegateInput.read(input))
        except DelegationError as error:
            await self.emit("error", {"error": str(error), "agent": input.get("agent")})
            raise

    async def _answer(self, wish: DelegateInput) -> dict[str, Any]:
        self._check(wish)
        if wish.session_id is not None:
            done = await self.resume(wish.session_id, wish.instruction)
            agent = self.children.agent_of(wish.session_id)
        else:
            agent = str(wish.agent)
            done = await self._begin(agent, wish)
        output = {
            "response": done.response,
            "session_id": done.session_id,
            "agent": agent,
            "turn_count": done.turn_count,
            "status": done.status,
            "metadata": dict(done.metadata),
        }
        return {**output, "provider_routing": done.routing} if done.routing else output

    def _check(self, wish: DelegateInput) -> None:
        for key in self._switched_off():
            if key in wish.model_fields_set:
                raise DelegationError(f"{key!r} is switched off here. Leave it out.")
        if wish.agent == SELF and not self._features.self_delegation.enabled:
            raise DelegationError("Delegation to 'self' is switched off here. Name an agent.")
        depth = max(self.children.depth, self._self_depth)
        if depth >= self._max_depth:
            kind = "SELF_DELEGATION" if wish.agent == SELF else "DELEGATION"
            raise TooDeep(
                f"This session is {depth} deep, and work may only be handed on "
                f"{self._max_depth} deep. Do the work here.",
                f"{kind}_DEPTH_EXCEEDED",
            )

    @property
    def _self_depth(self) -> int:
        told = self._coordinator.get_capability("self_delegation_depth")
        return told if isinstance(told, int) else 0

    async def _begin(self, agent: str, wish: DelegateInput) -> Done:
        config = {} if agent == SELF else self.agent_config(agent)
        preferences = await self._preferences(wish, config)
        inheritance = {
            "tools": {"exclude_tools": list(self._policy.exclude_tools)},
            "hooks": {"exclude_hooks": list(self._policy.exclude_hooks)},
        }
        depth = self._self_depth + 1 if agent == SELF else 0
        extra = {"self_delegation_depth": depth}
        instruction = await self._instruction(wish)
        order = Order(agent, config, instruction, preferences, inheritance, extra)
        about = {
            "context_depth": wish.context_depth,
            "context_scope": wish.context_scope,
            "model_role": wish.model_role,
            "provider_preferences": preferences,
        }
        return await self.spawn(order, about)

    async def _instruction(self, wish: DelegateInput) -> str:
        rules = self._features.context_inheritance
        if not rules.enabled:
            return wish.instruction
        return await instruction_with_context(
            wish.instruction,
            self._coordinator.get("context"),
            wish.context_depth,
            min(wish.context_turns, rules.max_turns),
            wish.context_scope,
        )

    async def _preferences(self, wish: DelegateInput, config: dict[str, Any]) -> list[Any]:
        """What was asked for, else what the role leads to, else what the agent likes."""
        if wish.preferences:
            return wish.preferences
        role, resolver = wish.model_role or config.get("model_role"), self._role_resolver
        if role and resolver is not None:
            found = await resolver.resolve(role)
            resolved = [dict(each) for each in found or () if isinstance(each, Mapping)]
            if resolved:
                return resolved
        return preferences_of(config)


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    tool = DelegateTool(coordinator, DelegateSettings.read(config, MODULE_ID))
    await coordinator.mount("tools", tool, name=tool.name)
    coordinator.register_contributor("observability.events", MODULE_ID, lambda: tool.events)
    coordinator.register_contributor("session.cost", MODULE_ID, lambda: tool.children.cost)
