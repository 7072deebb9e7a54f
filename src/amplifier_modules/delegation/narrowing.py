"""The mount plan of a child: never more than its parent's.

Tools, hooks and agents are those of the parent, or fewer. An agent may lower limits and
shrink lists of what is allowed; every other wish of its config is left out and reported.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Plan = dict[str, Any]
Keep = Callable[[str], bool]

_GUARD = re.compile(
    r"approv|permission|policy|guard|redact|shell|mode|secur|sandbox|budget|limit|journal|audit",
    re.IGNORECASE,
)
_DENYING = re.compile(r"^(denied|deny|blocked|disallowed|forbidden)_|^denylist$|^blocklist$")
_PATHS = re.compile(r"^allowed_(\w+_)?paths$")
_ALLOWING = re.compile(r"^allowed_|^allowlist$")
_LIMITING = re.compile(r"(^|_)(max|limit|timeout|timeout_seconds|budget)(_|$)")
_CAUTIOUS = frozenset({"require_approval", "read_only", "safe_mode"})
_WRITE_PATHS = "allowed_write_paths"
DELEGATION = ("task", "delegate")


@dataclass(slots=True)
class Limits:
    """What a delegation tool's own config takes away from children."""

    keeps_tool: Keep
    keeps_hook: Keep
    max_iterations: int | None = None
    may_delegate: bool = True
    """Whether the child may have children of its own."""


@dataclass(slots=True)
class Narrowed:
    """A child's plan, and what its agent asked for in vain."""

    plan: Plan
    left_out: list[str] = field(default_factory=list)


def is_guard(module: str) -> bool:
    """Whether a hook module may refuse something, as far as its name tells."""
    return _GUARD.search(module) is not None


def keeping(inherit: list[str] | None, exclude: list[str] | None) -> Keep:
    """Which of the parent's modules a child keeps; names may leave out the kind of module."""
    if inherit is not None:
        wanted = {_short(each) for each in inherit}
        return lambda module: _short(module) in wanted
    unwanted = {_short(each) for each in exclude or ()}
    return lambda module: _short(module) not in unwanted


def narrowed(
    parent: Mapping[str, Any], agent: Mapping[str, Any], limits: Limits, working_dir: str
) -> Narrowed:
    """The plan of a child for `agent`. It shares no list or dict with the parent's."""
    child = Narrowed(_copied(dict(parent)))
    child.plan["tools"] = _tools(child, agent, limits, working_dir)
    child.plan["hooks"] = _hooks(child, agent, limits)
    child.plan["agents"] = _agents(child, agent)
    _narrow_session(child, agent, limits)
    child.left_out += [key for key in ("providers", "context") if agent.get(key)]
    return child


# -- tools, hooks, agents -------------------------------------------------------------


def _tools(
    child: Narrowed, agent: Mapping[str, Any], limits: Limits, working_dir: str
) -> list[Plan]:
    declared = agent.get("tools")
    wishes = {_short(each["module"]): each for each in _entries(declared)}
    kept, known = [], set()
    for entry in _entries(child.plan.get("tools")):
        name = _short(entry["module"])
        known.add(name)
        if name in DELEGATION and not limits.may_delegate:
            continue
        if declared is None and limits.keeps_tool(entry["module"]):
            kept.append(entry)
        elif name in wishes:
            kept += _narrow_tool(child, entry, wishes[name], working_dir)
    child.left_out += [f"tools: {wish['module']}" for name, wish in wishes.items()
                       if name not in known]  # fmt: skip
    return kept


def _hooks(child: Narrowed, agent: Mapping[str, Any], limits: Limits) -> list[Plan]:
    """The parent's hooks with the parent's config, whatever the agent says.

    Only the config of the delegation tool leaves any out, and never a guard.
    """
    own = _entries(child.plan.get("hooks"))
    known = {_short(entry["module"]) for entry in own}
    child.left_out += [
        f"hooks: {wish['module']}"
        for wish in _entries(agent.get("hooks"))
        if _short(wish["module"]) not in known
    ]
    return [
        entry
        for entry in own
        if limits.keeps_hook(entry["module"]) or entry.get("guard") or is_guard(entry["module"])
    ]


def _agents(child: Narrowed, agent: Mapping[str, Any]) -> Plan:
    """Those of the parent's agents that this one may call in turn."""
    own = agents_of(child.plan)
    rule = agent.get("agents", "all")
    if rule == "all":
        return own
    listed = rule if isinstance(rule, list | tuple | dict) else ()
    names = {each for each in listed if isinstance(each, str)}
    child.left_out += [f"agents: {name}" for name in sorted(names - own.keys() - {"include"})]
    return {name: each for name, each in own.items() if name in names}


def agents_of(plan: Mapping[str, Any]) -> dict[str, Plan]:
    """The agents that a plan describes, by name."""
    agents = plan.get("agents")
    found = agents.items() if isinstance(agents, Mapping) else ()
    return {str(name): dict(each) for name, each in found if isinstance(each, Mapping)}


def _narrow_session(child: Narrowed, agent: Mapping[str, Any], limits: Limits) -> None:
    session = child.plan["session"]
    config = orchestrator_config(child.plan)
    wish = _mapping(_mapping(agent.get("session")).get("orchestrator"))
    iterations = [config.get("max_iterations"), limits.max_iterations]
    for key, value in _mapping(wish.get("config")).items():
        if key == "max_iterations":
            iterations.append(value)
        elif not _lower(config, key, value):
            child.left_out.append(f"session.orchestrator: {key}")
    given = [each for each in iterations if type(each) is int and each >= 0]
    if given:
        config["max_iterations"] = min(given)
    spec = session["orchestrator"]
    if isinstance(spec, Mapping):
        session["orchestrator"] = {**spec, "config": config}
    else:
        child.plan["orchestrator"] = {**(child.plan.get("orchestrator") or {}), "config": config}


def orchestrator_config(plan: Mapping[str, Any]) -> Plan:
    """The config of a plan's orchestrator, in whichever of the two places it is."""
    spec = (plan.get("session") or {}).get("orchestrator")
    holder = spec if isinstance(spec, Mapping) else plan.get("orchestrator") or {}
    return dict(holder.get("config") or {})


# -- the config of a tool -------------------------------------------------------------


def _narrow_tool(child: Narrowed, entry: Plan, wish: Plan, working_dir: str) -> list[Plan]:
    """The tool as the agent may have it; none if nothing is left that it could be used for."""
    own = dict(entry.get("config") or {})
    config = dict(own)
    base = str(own.get("working_dir") or working_dir)
    for key, value in _mapping(wish.get("config")).items():
        if own.get(key) == value:
            continue
        if _PATHS.match(key) and isinstance(value, list) and isinstance(own.get(key), list | None):
            _narrow_paths(config, key, value, base)
        elif not (_shrink(config, key, value) or _lower(config, key, value)):
            child.left_out.append(f"tools: {entry['module']}: {key}")
        # To many tools an empty list means "everything".
        if config.get(key) == [] != own.get(key) and key != _WRITE_PATHS:
            child.left_out.append(f"tools: {entry['module']}")
            return []
    return [{**entry, "config": config} if config else entry]


def _narrow_paths(config: Plan, key: str, wanted: list[Any], base: str) -> None:
    allowed = config.get(key)
    if allowed is None and key == _WRITE_PATHS:
        allowed = [base]
    config[key] = [
        path for path in wanted
        if isinstance(path, str)
        and (allowed is None or any(_is_within(path, str(each), base) for each in allowed))
    ]  # fmt: skip


def _is_within(path: str, folder: str, base: str) -> bool:
    inner, outer = _real(path, base), _real(folder, base)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _real(path: str, base: str) -> str:
    return os.path.realpath(os.path.join(base, os.path.expanduser(path)))


def _shrink(config: Plan, key: str, value: Any) -> bool:
    """Forbid more, allow less, or ask more often; whether that is what `key` is about."""
    own = config.get(key)
    if key in _CAUTIOUS and value is True:
        config[key] = True
    elif not isinstance(value, list):
        return False
    elif _DENYING.search(key) and (own is None or isinstance(own, list)):
        config[key] = [*(own or ()), *(each for each in value if each not in (own or ()))]
    elif _ALLOWING.search(key) and isinstance(own, list):
        config[key] = [each for each in own if each in value]
    else:
        return False
    return True


def _lower(config: Plan, key: str, value: Any) -> bool:
    """Lower a limit that the parent has; whether there was anything to lower."""
    own = config.get(key)
    if not _LIMITING.search(key) or not (_is_positive(own) and _is_positive(value)):
        return False
    config[key] = min(own, value)
    return bool(value <= own)


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


# -- plans ----------------------------------------------------------------------------


def _entries(listed: Any) -> list[Plan]:
    """Module entries, also those that are only a name; anything else is skipped."""
    if not isinstance(listed, Iterable) or isinstance(listed, str | bytes | Mapping):
        return []
    made = [{"module": each} if isinstance(each, str) else each for each in listed]
    return [
        dict(each)
        for each in made
        if isinstance(each, Mapping) and isinstance(each.get("module"), str)
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(module: str) -> str:
    for prefix in ("tool-", "hooks-", "hook-"):
        module = module.removeprefix(prefix)
    return module


def _copied(value: Any) -> Any:
    """A copy of plain data; objects that an app put into a plan are shared."""
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list | tuple) else value
