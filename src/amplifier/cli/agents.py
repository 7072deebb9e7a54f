"""`amplifier agents`: whom a session can hand work to, and what exactly each would get."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.common import (
    Failure,
    Listing,
    echo_json,
    failing_in_words,
    format_options,
    list_options,
)
from amplifier.cli.tool import BUNDLE

if TYPE_CHECKING:
    from amplifier.bundles.planning import Plan

LONGEST_LINE = 80


@click.group()
def agents() -> None:
    """See the agents of a session, and what each would get."""


@agents.command("list")
@BUNDLE
@list_options
@failing_in_words
def list_(bundle: str | None, listing: Listing) -> None:
    """List the agents that a session can hand work to."""
    plan = _plan(bundle)
    found = _agents(plan)
    origins = {name: plan.origins.get(f"agents.{name}") for name in found}
    rows = [{"name": each, **_about(found[each]), "from": origins[each]} for each in found]
    listing.print(rows, _line)
    if not found and not listing.as_json:
        click.echo(
            f"Bundle {plan.bundle!r} has no agents. `-B developer` has five; "
            "docs/reference/bundles.md says how to write one.",
            err=True,
        )


def _line(agent: dict[str, Any]) -> str:
    text = shorten(agent["description"], LONGEST_LINE, placeholder=" ...")
    return f"{agent['name']:<16}{text}"


@agents.command()
@click.argument("name")
@BUNDLE
@format_options
@failing_in_words
def show(name: str, bundle: str | None, as_json: bool) -> None:
    """Print how agent NAME is described: what it is for, what it asks for, its instruction."""
    plan = _plan(bundle)
    agent = _named(plan, name)
    origin = plan.origins.get(f"agents.{name}")
    if as_json:
        echo_json({"name": name, "from": origin, **agent})
        return
    click.echo(f"{name}\n\n{_about(agent)['description']}\n\nfrom      {origin}")
    for key in ("tools", "provider_preferences", "model_role", "session", "agents"):
        if key in agent:
            click.echo(f"{key:<10}{_in_a_line(agent[key])}")
    click.echo(f"\n{agent.get('instruction', '')}")


@agents.command()
@click.argument("name")
@BUNDLE
@format_options
@failing_in_words
def explain(name: str, bundle: str | None, as_json: bool) -> None:
    """Print what agent NAME would get: tools, context, model, limits, and who says so.

    It is computed by the tool that would run the agent, from the plan of the session. A child
    never gets more than its parent has.
    """
    plan = _plan(bundle)
    _named(plan, name)
    found = _explained(plan, name, bundle)
    if as_json:
        echo_json([{**each, "origins": plan.origins} for each in found])
        return
    for each in found:
        click.echo("\n".join(_lines(each, plan)))


@agents.command()
@failing_in_words
def dirs() -> None:
    """Print the folders in which agents are looked for, beside those of each bundle."""
    from amplifier.settings.places import FOLDER, home, project_root

    for folder in (project_root() / FOLDER, home()):
        click.echo(folder / "agents")


# -- finding ----------------------------------------------------------------------------


def _plan(bundle: str | None) -> Plan:
    from amplifier.bundles.planning import plan_for
    from amplifier.output import note

    plan = plan_for(bundle)
    for each in plan.notes:
        note(each)
    return plan


def _agents(plan: Plan) -> dict[str, dict[str, Any]]:
    found = plan.mounts.get("agents") or {}
    return {name: found[name] for name in sorted(found) if isinstance(found[name], dict)}


def _named(plan: Plan, name: str) -> dict[str, Any]:
    from amplifier_core.utils.spelling import did_you_mean

    found = _agents(plan)
    if name not in found:
        known = f"There are {', '.join(found)}." if found else "There are none: try `-B developer`."
        advice = did_you_mean(name, found, known)
        raise Failure(f"Bundle {plan.bundle!r} has no agent {name!r}. {advice}")
    return found[name]


def _explained(plan: Plan, name: str, bundle: str | None) -> list[dict[str, Any]]:
    """What each tool that runs agents says it would do."""
    from amplifier.cli.tool import with_tools

    async def ask(tools: dict[str, Any]) -> list[dict[str, Any]]:
        able = [each for each in tools.values() if hasattr(each, "explain_agent")]
        return [each.explain_agent(name, plan.mounts) for each in able]

    found: list[dict[str, Any]] = with_tools(bundle, ask)
    if not found:
        raise Failure(
            f"Bundle {plan.bundle!r} has no tool that hands work to agents. "
            "Add tool-delegate or tool-task to its tools."
        )
    return found


# -- showing ----------------------------------------------------------------------------


def _about(agent: dict[str, Any]) -> dict[str, str]:
    meta = agent.get("meta") or {}
    text = agent.get("description") or meta.get("description") or ""
    return {"description": " ".join(str(text).split())}


def _in_a_line(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_in_a_line(each) for each in value)
    if isinstance(value, dict):
        named = value.get("module")
        return str(named) if named else ", ".join(f"{key}: {each}" for key, each in value.items())
    return str(value)


def _lines(found: dict[str, Any], plan: Plan) -> list[str]:
    """One agent as one tool would run it."""
    child, name = found["plan"], found["agent"]
    parts = [
        ("agent", [f"{name:<24}{plan.origins.get(f'agents.{name}', '')}"]),
        ("run by", [found["tool"]]),
        *((key, _entries(child, plan, key)) for key in ("tools", "hooks")),
        ("context", _context(found, plan)),
        ("model", _model(found)),
        ("limits", _limits(found["limits"], plan)),
        ("agents", _may_call(found)),
        ("left out", [f"{each}: the parent does not have it" for each in found["left_out"]]),
    ]
    return [
        f"{label if number == 0 else '':<10}{line}"
        for label, lines in parts
        for number, line in enumerate(lines)
    ]


def _entries(child: dict[str, Any], plan: Plan, key: str) -> list[str]:
    """The modules of one kind, each with who says so, and what the parent keeps for itself."""
    mine = {each["module"]: each for each in child[key]}
    own = {each["module"]: each for each in plan.mounts.get(key, [])}
    lines = []
    for module, entry in mine.items():
        is_changed = entry.get("config") != own.get(module, {}).get("config")
        narrowed = f"; narrowed: {_in_a_line(entry['config'])}" if is_changed else ""
        lines.append(f"{module:<24}{plan.origins.get(f'{key}.{module}', '')}{narrowed}")
    kept = [module for module in own if module not in mine]
    return [*(lines or ["none"]), *([f"not {', '.join(kept)}"] if kept else [])]


def _context(found: dict[str, Any], plan: Plan) -> list[str]:
    module = found["plan"]["session"]["context"]
    origin = plan.origins.get("session.context", "")
    words = len(found["instruction"].split())
    own = f"its own instruction, {words} words" if words else "no instruction of its own"
    return [f"{_in_a_line(module):<24}{origin}", f"{own}; what the caller writes for it"]


def _model(found: dict[str, Any]) -> list[str]:
    wishes = [_in_a_line(each) for each in found["provider_preferences"]]
    if not wishes:
        return ["the parent's"]
    return [*(f"{each}, if the parent has it" for each in wishes), "otherwise the parent's"]


def _limits(limits: dict[str, Any], plan: Plan) -> list[str]:
    origin = plan.origins.get("session.orchestrator", "")
    steps, seconds = limits["max_iterations"], limits["timeout"]
    return [
        f"{f'{steps} steps' if steps else 'no limit to steps':<24}{origin}",
        f"{seconds:g} s" if seconds else "no limit to time",
        "the parent's budget, shared",
    ]


def _may_call(found: dict[str, Any]) -> list[str]:
    """The agents to which this one may hand work in turn."""
    child, levels = found["plan"], found["limits"]["levels_below"]
    tools = [each["module"] for each in child["tools"]]
    if not levels or not {"tool-delegate", "tool-task"} & set(tools):
        return ["may not hand work on"]
    return [f"{_in_a_line(sorted(child['agents'])) or 'none'}; {levels} levels deep"]
