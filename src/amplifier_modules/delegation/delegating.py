"""What tool-task and tool-delegate have in common: running children and telling about it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from amplifier_core.events import TOOL_ERROR
from amplifier_core.models import ToolResult

from amplifier_modules.delegation.calls import current_call
from amplifier_modules.delegation.children import (
    Children,
    DelegationError,
    Done,
    Order,
    instruction_of,
)
from amplifier_modules.delegation.inputs import BadInput
from amplifier_modules.delegation.narrowing import agents_of
from amplifier_modules.delegation.preferences import preferences_of


class DelegatingTool(ABC):
    """A tool that hands work to child sessions."""

    name: ClassVar[str]
    annotations: ClassVar[dict[str, Any]] = {"effect": "external"}
    introduction: ClassVar[str]

    def __init__(self, coordinator: Any, children: Children) -> None:
        self._coordinator = coordinator
        self.children = children

    @property
    def agents(self) -> dict[str, dict[str, Any]]:
        config = self._coordinator.config
        return agents_of(config) if isinstance(config, Mapping) else {}

    @property
    def description(self) -> str:
        listed = [_line(name, agent) for name, agent in sorted(self.agents.items())]
        return "\n".join([self.introduction, "", "Agents:", *(listed or ["(none)"])])

    @property
    def events(self) -> list[str]:
        """The events that this tool emits."""
        ends = ("spawned", "resumed", "completed", "cancelled")
        return [f"{self.name}:agent_{end}" for end in ends]

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            return ToolResult(success=True, output=await self.answer(input))
        except (BadInput, DelegationError) as error:
            return await self._failed(input, error)

    @abstractmethod
    async def answer(self, input: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for."""

    def agent_config(self, name: str) -> dict[str, Any]:
        return self._agent_in(self.agents, name)

    @staticmethod
    def _agent_in(agents: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
        if name not in agents:
            known = ", ".join(map(repr, sorted(agents))) or "none"
            raise DelegationError(f"There is no agent {name!r}. Agents: {known}.")
        return agents[name]

    def explain_agent(self, name: str, plan: Mapping[str, Any]) -> dict[str, Any]:
        """What the agent `name` would get from a session with this plan, before it is run.

        Raises:
            DelegationError: there is no such agent.
        """
        agent = self._agent_in(agents_of(plan), name)
        child = self.children.narrow(agent, plan)
        return {
            "agent": name,
            "tool": self.name,
            "plan": child.plan,
            "instruction": instruction_of(agent),
            "provider_preferences": [dict(each) for each in preferences_of(agent)],
            "limits": self.children.limits_of(child),
            "left_out": child.left_out,
        }

    async def spawn(self, order: Order, about: dict[str, Any]) -> Done:
        """Run a new child, and say when it begins and ends."""
        session_id = self.children.new_id(order.agent)
        child = self.children.narrow(order.config)
        about = {**self._ids(order.agent, session_id), **about}
        told = {**about, "left_out": child.left_out} if child.left_out else about
        await self.emit("agent_spawned", told)
        return await self._finished(self.children.spawn(order, session_id, child), about)

    async def resume(self, session_id: str, instruction: str) -> Done:
        """Let a child go on, and say when it begins and ends."""
        await self.children.recall(session_id)
        about = self._ids(self.children.agent_of(session_id), session_id)
        await self.emit("agent_resumed", about)
        return await self._finished(self.children.resume(session_id, instruction), about)

    async def _finished(self, work: Any, about: dict[str, Any]) -> Done:
        try:
            done: Done = await work
        except asyncio.CancelledError:
            await self.emit("agent_cancelled", about)
            raise
        except DelegationError as error:
            await self.emit("agent_completed", {**about, "success": False, "error": str(error)})
            raise
        is_cancelled = done.status == "cancelled"
        ended = {**about, "success": not is_cancelled, "status": done.status}
        await self.emit("agent_cancelled" if is_cancelled else "agent_completed", ended)
        return done

    def _ids(self, agent: str | None, session_id: str) -> dict[str, Any]:
        own = self._coordinator.session_id
        ids = {"sub_session_id": session_id, "parent_session_id": own}
        return {"agent": agent, **ids, **current_call(self._coordinator)}

    async def emit(self, event: str, data: dict[str, Any]) -> None:
        await self._coordinator.hooks.emit(f"{self.name}:{event}", data)

    async def _failed(self, input: Any, error: Exception) -> ToolResult:
        code = getattr(error, "code", None)
        kind = {"type": type(error).__name__, **({"code": code} if code else {})}
        result = ToolResult(success=False, error={"message": str(error), **kind})
        payload = {
            "tool_name": self.name,
            "tool_input": input,
            **current_call(self._coordinator),
            "error": {"msg": str(error), **kind},
            # With a result: the loop's own `tool:post` of this call is still to come.
            "result": result.safe_hook_presentation(),
        }
        await self._coordinator.hooks.emit(TOOL_ERROR, payload)
        return result


def _line(name: str, agent: Mapping[str, Any]) -> str:
    meta = agent.get("meta")
    nested = meta.get("description") if isinstance(meta, Mapping) else None
    text = " ".join(str(agent.get("description") or nested or "").split())
    return f"- {name}: {text}" if text else f"- {name}"
