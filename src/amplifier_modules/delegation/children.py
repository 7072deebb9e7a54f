"""Runs child sessions: through the app if it offers to, otherwise right here."""

from __future__ import annotations

import asyncio
import inspect
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from amplifier_modules.delegation import child_session
from amplifier_modules.delegation.calls import DEPTH, current_call, depth_of, one_deeper
from amplifier_modules.delegation.narrowing import (
    Limits,
    Narrowed,
    agents_of,
    narrowed,
    orchestrator_config,
)
from amplifier_modules.delegation.preferences import Preference, prefer, preferences_of

T = TypeVar("T")

_DELEGATION_TOOLS = ("tool-task", "tool-delegate")
_LONGEST_NAME = 64
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")
_CHILD = re.compile(r"-[0-9a-f]{16}_")
_SPEND = "delegation.spend"
_RECALL = "session.recall"
SELF = "self"


class DelegationError(Exception):
    """A child that could not do its work; the text is for the model."""


@dataclass(slots=True)
class Order:
    """What is to be done, and by whom."""

    agent: str
    config: Mapping[str, Any]
    instruction: str
    preferences: Sequence[Preference] = ()
    inheritance: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """`tool_inheritance` and `hook_inheritance`, as an app wants them."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What else an app may want to know."""


class Done(NamedTuple):
    """What became of it."""

    response: str
    session_id: str
    status: str = "success"
    turn_count: int = 1
    metadata: Mapping[str, Any] = {}
    routing: dict[str, str] | None = None


class Kept(NamedTuple):
    """A child that may be asked to go on."""

    agent: str
    plan: dict[str, Any]
    messages: list[Any]
    turns: int


class Children:
    """The children of one session."""

    def __init__(
        self,
        coordinator: Any,
        limits: Limits,
        *,
        max_depth: int,
        timeout: float | None,
        max_resumable: int,
    ) -> None:
        self._coordinator = coordinator
        self._limits = limits
        self._max_depth = max_depth
        self._timeout = timeout
        self._max_resumable = max_resumable
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._running: set[str] = set()
        self._cost: Decimal | None = None

    @property
    def depth(self) -> int:
        """How deep the session that asks is."""
        return depth_of(self._coordinator)

    @property
    def _may_delegate(self) -> bool:
        """Whether children of the session that asks may have children."""
        return self.depth + 1 < self._max_depth

    @property
    def cost(self) -> dict[str, Decimal] | None:
        """What the children run here have cost; None if that is not known."""
        return None if self._cost is None else {"cost_usd": self._cost}

    def new_id(self, agent: str) -> str:
        own = self._coordinator.session_id
        return f"{own}-{secrets.token_hex(8)}_{_NOT_IN_IDS.sub('-', agent)[:_LONGEST_NAME]}"

    def _is_own(self, session_id: str) -> bool:
        """Whether an id is one that a child of this very session may have."""
        own = self._coordinator.session_id
        rest = session_id.removeprefix(own)
        is_below = session_id.startswith(own) and _CHILD.match(rest) is not None
        return is_below and not _NOT_IN_IDS.search(rest) and len(_CHILD.findall(rest)) == 1

    def narrow(self, agent: Mapping[str, Any], parent: Mapping[str, Any] | None = None) -> Narrowed:
        """The plan of a child; computed once, for whoever runs it."""
        folder = self._coordinator.get_capability("session.working_dir") or "."
        limits = replace(self._limits, may_delegate=self._may_delegate)
        parent = self._coordinator.config if parent is None else parent
        return narrowed(parent, agent, limits, str(folder))

    def limits_of(self, child: Narrowed) -> dict[str, Any]:
        """What bounds a child beside its plan; None is no bound."""
        iterations = orchestrator_config(child.plan).get("max_iterations")
        levels = max(0, self._max_depth - self.depth - 1)
        return {"max_iterations": iterations, "timeout": self._timeout, "levels_below": levels}

    async def spawn(self, order: Order, session_id: str, child: Narrowed) -> Done:
        """Run a new child.

        Raises:
            DelegationError: it failed, was not to be had, or took too long.
        """
        app = self._coordinator.get_capability("session.spawn")
        if app is not None:
            asked = self._asked(app, order, session_id, child)
            return await self._in_time(order.agent, _by_app(app, session_id, asked))
        mounted = self._coordinator.get("providers") or {}
        routing = await prefer(child.plan, order.preferences, mounted)
        self._describe(child.plan, order)
        kept = Kept(order.agent, child.plan, _first_messages(order.config), 0)
        done = await self._in_time(order.agent, self._run(session_id, kept, order.instruction))
        return done._replace(routing=routing)

    async def resume(self, session_id: str, instruction: str) -> Done:
        """Let a child go on.

        Raises:
            DelegationError: it is not known, still at work, or failed.
        """
        app = self._coordinator.get_capability("session.resume")
        kept = self._kept.get(session_id)
        if session_id in self._running:
            raise DelegationError(f"Session {session_id!r} is still at work. Wait for its answer.")
        # Other sessions on the same disk are none of the model's business.
        if self._is_own(session_id):
            if app is not None:
                asked = {"sub_session_id": session_id, "instruction": instruction}
                return await self._in_time(session_id, _by_app(app, session_id, asked))
            if kept is not None:
                return await self._in_time(kept.agent, self._run(session_id, kept, instruction))
        raise DelegationError(
            f"There is no child session {session_id!r} that could go on. "
            "Use the session_id of an earlier answer, or name an agent to begin anew."
        )

    async def recall(self, session_id: str) -> None:
        """Look for a child that ran in an earlier process, where the app keeps such.

        Raises:
            DelegationError: its agent is not there any more.
        """
        recall = self._coordinator.get_capability(_RECALL)
        if recall is None or session_id in self._kept or not self._is_own(session_id):
            return
        found = await recall(session_id)
        if found is None:
            return
        agent = str(found.get("agent_name") or "")
        order = Order(agent, self._config_of(agent), "")
        # What it may do follows from what its parent may do now, not from what it once was.
        plan = self.narrow(order.config).plan
        await prefer(plan, preferences_of(order.config), self._coordinator.get("providers") or {})
        self._describe(plan, order)
        self._keep(session_id, Kept(agent, plan, [], int(found.get("turn_count") or 1)))

    def _config_of(self, agent: str) -> Mapping[str, Any]:
        agents = agents_of(self._coordinator.config)
        if agent == SELF:
            return {}
        if agent not in agents:
            raise DelegationError(
                f"The agent {agent!r} of that session is not there any more. Name another to begin."
            )
        return agents[agent]

    def agent_of(self, session_id: str) -> str | None:
        kept = self._kept.get(session_id)
        return kept.agent if kept else None

    # -- by the app -------------------------------------------------------------------

    def _asked(
        self, app: Callable[..., Any], order: Order, session_id: str, child: Narrowed
    ) -> dict[str, Any]:
        """What an app is told about a child that it is to run."""
        agents = dict(self._coordinator.config.get("agents") or {})
        allowed = {key: child.plan[key] for key in ("tools", "hooks") if key in order.config}
        agents[order.agent] = {**order.config, **allowed}
        return {
            "agent_name": order.agent,
            "instruction": order.instruction,
            "parent_session": self._coordinator.session,
            "agent_configs": agents,
            "sub_session_id": session_id,
            "tool_inheritance": self._tool_inheritance(order),
            "hook_inheritance": _hook_inheritance(order, child),
            "orchestrator_config": orchestrator_config(child.plan),
            "provider_preferences": [dict(each) for each in order.preferences] or None,
            **_accepted(app, {**order.extra, "session_metadata": self._metadata(order)}),
        }

    def _tool_inheritance(self, order: Order) -> dict[str, list[str]]:
        wish = order.inheritance.get("tools", {})
        if self._may_delegate:
            return wish
        if "inherit_tools" in wish:
            kept = [each for each in wish["inherit_tools"] if each not in _DELEGATION_TOOLS]
            return {"inherit_tools": kept}
        return {"exclude_tools": [*wish.get("exclude_tools", ()), *_DELEGATION_TOOLS]}

    # -- here -------------------------------------------------------------------------

    def _metadata(self, order: Order) -> dict[str, Any]:
        call = current_call(self._coordinator)
        return {"agent_name": order.agent, **call, DEPTH: self.depth + 1}

    def _describe(self, plan: dict[str, Any], order: Order) -> None:
        metadata = {**(plan["session"].get("metadata") or {}), **self._metadata(order)}
        plan["session"]["metadata"] = metadata

    async def _run(self, session_id: str, kept: Kept, instruction: str) -> Done:
        parent, call = self._coordinator, current_call(self._coordinator).get("tool_call_id")
        child = child_session.new(parent, kept.plan, session_id, is_resumed=kept.turns > 0)
        child.coordinator.register_capability(_SPEND, self._spend)
        self._running.add(session_id)
        try:
            ran = await child_session.run(parent, child, kept.messages, instruction, call)
        finally:
            self._running.discard(session_id)
            self._spend(getattr(getattr(child, "status", None), "cost_usd", None))
        self._keep(session_id, kept._replace(messages=ran.messages, turns=kept.turns + 1))
        return Done(ran.response, session_id, ran.status, kept.turns + 1)

    def _spend(self, amount: Decimal | None) -> None:
        """Count what a child has cost, here and in all sessions above."""
        if amount is None:
            return
        self._cost = (self._cost or Decimal(0)) + amount
        tell_parent = self._coordinator.get_capability(_SPEND)
        if tell_parent is not None:
            tell_parent(amount)

    def _keep(self, session_id: str, kept: Kept) -> None:
        self._kept[session_id] = kept
        self._kept.move_to_end(session_id)
        while len(self._kept) > self._max_resumable:
            self._kept.popitem(last=False)

    async def _in_time(self, who: str, work: Awaitable[T]) -> T:
        """Wait for a child, at most as long as is allowed."""
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                with one_deeper(self.depth):
                    return await work
        except TimeoutError as error:
            if not deadline.expired():
                raise DelegationError(f"Agent {who!r} failed: {_told(error)}") from error
            raise DelegationError(
                f"Agent {who!r} did not finish within {self._timeout:g} s and was stopped."
            ) from error
        except DelegationError:
            raise
        except child_session.NotStarted as error:
            raise DelegationError(f"Agent {who!r} could not be started: {error}") from error
        except Exception as error:
            raise DelegationError(f"Agent {who!r} failed: {_told(error)}") from error


def _hook_inheritance(order: Order, child: Narrowed) -> dict[str, list[str]]:
    """As the order says, but guards are always on the list of what is kept."""
    wish = order.inheritance.get("hooks", {})
    if "inherit_hooks" not in wish:
        return wish
    return {"inherit_hooks": [each["module"] for each in child.plan["hooks"]]}


def _first_messages(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a child begins with: the agent's instruction, if it has one."""
    text = instruction_of(config)
    return [{"role": "system", "content": text}] if text else []


def instruction_of(config: Mapping[str, Any]) -> str:
    """What an agent is told about itself; empty if nothing."""
    system = config.get("system")
    nested = system.get("instruction") if isinstance(system, Mapping) else None
    return str(config.get("instruction") or nested or "")


def _accepted(function: Callable[..., Any], extra: dict[str, Any]) -> dict[str, Any]:
    """Those extra arguments that `function` has a place for."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return extra
    return {name: value for name, value in extra.items() if name in parameters}


async def _by_app(app: Callable[..., Any], session_id: str, asked: dict[str, Any]) -> Done:
    result = await app(**asked)
    if not isinstance(result, Mapping) or "output" not in result:
        raise DelegationError("The app ran the agent, but gave no answer. Try again.")
    return Done(
        str(result["output"]),
        str(result.get("session_id") or session_id),
        str(result.get("status") or "success"),
        result.get("turn_count") or 1,
        result.get("metadata") or {},
    )


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
