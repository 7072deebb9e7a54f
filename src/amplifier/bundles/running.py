"""What is done to a plan for one run: the provider, the environment, the session's parts."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier.keys import BadKey, load_keys
from amplifier.output import note
from amplifier.plans import EMBEDDED, PlanError, demonstration, provider_entry

if TYPE_CHECKING:
    from amplifier_core import AmplifierSession

    from .planning import Plan

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
_LISTED = ("providers", "tools", "hooks")


def plan_to_run(
    bundle: str | None, provider: str | None, model: str | None, session_dir: Path | None = None
) -> dict[str, Any]:
    """The mount plan of one run.

    Raises:
        PlanError: there is no such provider, or a variable that the plan needs is not set.
        ConfigError, Untrusted: see `plan_for`.
    """
    from .planning import plan_for

    try:
        load_keys()
    except BadKey as error:
        raise PlanError(str(error)) from error
    plan = plan_for(bundle, session_dir=session_dir)
    for each in plan.notes:
        note(each)
    mounts = plan.mounts
    if provider or not mounts.get("providers"):
        chosen = provider_entry(provider, model)
        if bundle is None and chosen["module"] == EMBEDDED and _is_untouched(plan):
            # So small a model can do nothing with a bundle's tools.
            return {**demonstration(chosen), "budget": mounts.get("budget")}
        mounts = {**mounts, "providers": _only(mounts.get("providers", []), chosen)}
    return filled_in(mounts, plan)


def _is_untouched(plan: Plan) -> bool:
    """Whether nobody has set anything: all parts are those of the built-in default bundle."""
    from .planning import BUILT_IN, DEFAULT

    return plan.bundle == DEFAULT and all(
        origin.startswith(str(BUILT_IN)) for origin in plan.origins.values()
    )


def _only(configured: list[dict[str, Any]], chosen: dict[str, Any]) -> list[dict[str, Any]]:
    """The chosen provider, with what is configured for it."""
    for each in configured:
        if each["module"] == chosen["module"]:
            return [{**each, "config": {**each.get("config", {}), **chosen.get("config", {})}}]
    return [chosen]


def filled_in(mounts: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """The plan with the values of environment variables in the config of its modules."""
    session = {
        key: _entry(each, plan, f"session.{key}") if isinstance(each, dict) else each
        for key, each in mounts["session"].items()
    }
    listed = {
        key: [_entry(each, plan, f"{key}.{_name(each)}") for each in mounts.get(key, [])]
        for key in _LISTED
    }
    facts = {"bundle": plan.bundle, "namespaces": plan.namespaces}
    return {**mounts, **facts, "session": session, **listed}


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("instance_id") or entry.get("name") or entry["module"])


def _entry(entry: dict[str, Any], plan: Plan, where: str) -> dict[str, Any]:
    if "config" not in entry:
        return entry
    return {**entry, "config": _expanded(entry["config"], plan.origins.get(where, where))}


def _expanded(value: Any, origin: str) -> Any:
    if isinstance(value, dict):
        return {key: _expanded(each, origin) for key, each in value.items()}
    if isinstance(value, list):
        return [_expanded(each, origin) for each in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replacement(found: re.Match[str]) -> str:
        given = os.environ.get(found[1])
        if given or found[2] is not None:
            return given or found[2]
        raise PlanError(
            f"{origin}: The variable {found[1]!r} is not set. Set it, or write a default "
            f"as in `${{{found[1]}:...}}`."
        )

    return _VARIABLE.sub(replacement, value)


async def equip(session: AmplifierSession) -> None:
    """Before the start: modules with a source are found where the plan says, and only there."""
    plan = session.config
    slots = [each for each in plan.get("session", {}).values() if isinstance(each, dict)]
    entries = [*slots, *(each for key in _LISTED for each in plan.get(key, []))]
    if not any(each.get("source") for each in entries):
        return
    from amplifier.sources.resolver import ModuleResolver

    resolver = ModuleResolver(locked=plan.get("locked"), may_fetch=False)
    await session.coordinator.mount("module-source-resolver", resolver)


async def instruct(session: AmplifierSession) -> None:
    """After the start: the model gets the bundle's instruction, the same in every request."""
    text = session.config.get("instruction")
    context = session.coordinator.get("context")
    if not text or context is None:
        return
    set_factory = getattr(context, "set_system_prompt_factory", None)
    if set_factory is None:
        await context.add_message({"role": "system", "content": text})
        return
    done = set_factory(lambda: text)
    if inspect.isawaitable(done):
        await done
