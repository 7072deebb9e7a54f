"""What the slash commands tell: about the session, what it may do and what it has spent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from amplifier_core import AmplifierSession
from rich.console import RenderableType

from amplifier.budget import Budget
from amplifier.sessions.live import RecordedSession

from .drawing import listing
from .state import ShownSpent
from .texts import one_line

if TYPE_CHECKING:
    from .chat import Chat

LONGEST_LINE = 100
MOST_SESSIONS = 15
SECONDS_TO_LIST_MODELS = 15.0


async def status(chat: Chat) -> str:
    coordinator = chat.session.coordinator
    messages = await chat.messages()
    state = chat.state
    context = f"{state.context_tokens:,} tokens"
    if state.window:
        context += f" of {state.window:,} ({min(state.context_tokens / state.window, 1):.0%})"
    session = chat.session
    log = session.recorder.journal if _is_recorded(session) else None  # type: ignore[attr-defined]
    return "\n".join(
        [
            f"session    {session.session_id}{'' if log else ' (not kept)'}",
            f"model      {state.model}",
            f"providers  {', '.join(coordinator.get('providers') or {}) or 'none'}",
            f"messages   {len(messages)}",
            f"context    {context if state.context_tokens else 'nothing asked yet'}",
            f"tools      {', '.join(coordinator.get('tools') or {}) or 'none'}",
            f"agents     {', '.join(chat.agents()) or 'none'}",
            f"spent      {_spent(state.spent) or 'nothing yet'}",
        ]
    )


def cost(chat: Chat) -> str:
    """Tokens and money, and who spent them."""
    state = chat.state
    lines = [f"session    {_spent(state.spent) or 'nothing yet'}"]
    lines += [f"  [{name}]  {_spent(each)}" for name, each in sorted(state.spent_by.items())]
    budget = chat.session.budget if isinstance(chat.session, RecordedSession) else None
    if budget is not None:
        lines.append(f"limits     {_limits(budget) or 'none'}")
    if state.spent.has_unknown_cost and state.spent.calls:
        lines.append("The price of some calls is not known: give the provider `pricing`.")
    return "\n".join(lines)


def _spent(spent: ShownSpent) -> str:
    if not spent.calls:
        return ""
    calls = f"{spent.calls} model call" + ("" if spent.calls == 1 else "s")
    return ", ".join(each for each in (calls, spent.tokens_text(), spent.cost_text()) if each)


def _limits(budget: Budget) -> str:
    named = {
        "cost": f"${budget.limits.max_cost}" if budget.limits.max_cost is not None else None,
        "tokens": f"{budget.limits.max_tokens:,}" if budget.limits.max_tokens is not None else None,
        "model calls": budget.limits.max_steps,
    }
    return ", ".join(f"{name} {most}" for name, most in named.items() if most is not None)


def tools(chat: Chat) -> RenderableType:
    found = chat.session.coordinator.get("tools") or {}
    return _listed({name: tool.description for name, tool in found.items()}, "There are no tools.")


def agents(chat: Chat) -> RenderableType:
    none = "There are no agents. The bundle 'developer' has some: `amplifier chat -B developer`."
    return _listed(chat.agents(), none)


def _listed(described: dict[str, str], none: str) -> RenderableType:
    rows = [(name, _first_sentence(text)) for name, text in described.items()]
    return listing(rows) if rows else none


def _first_sentence(text: str) -> str:
    return one_line(" ".join(str(text).split()).partition(". ")[0], LONGEST_LINE)


def permissions(chat: Chat) -> str:
    """What was allowed, and for how long."""
    remembered = chat.session.coordinator.get_capability("approval.remembered")
    in_session = remembered() if remembered is not None else []
    lines = ["In this session:"]
    lines += [f"  {each['tool_name']}: {_shortly(each['input'])}" for each in in_session]
    lines += [] if in_session else ["  nothing beyond the rules"]
    granted = chat.grants()
    lines.append("In this project:")
    lines += [f"  {each.id[:8]}  {each.action}" for each in granted]
    lines += [] if granted else ["  nothing beyond the rules"]
    return "\n".join(lines)


def _shortly(given: Any) -> str:
    if not isinstance(given, dict):
        return one_line(str(given), LONGEST_LINE)
    only = next(iter(given.values())) if len(given) == 1 else given
    return one_line(str(only), LONGEST_LINE)


async def sessions() -> str:
    from amplifier.sessions.listing import summaries

    # It reads files, and has an event loop of its own.
    found = await asyncio.to_thread(summaries, False, MOST_SESSIONS)
    lines = [one_line(each.line(), LONGEST_LINE) for each in found if not each.summary.is_child]
    return "\n".join([*lines, "`/resume ID` goes on with one."]) if lines else "There are none."


async def models(chat: Chat) -> str:
    """What the providers of the session offer."""
    providers = chat.session.coordinator.get("providers") or {}
    lines = [f"in use: {chat.state.model}"]
    for name, provider in providers.items():
        try:
            async with asyncio.timeout(SECONDS_TO_LIST_MODELS):
                found = await provider.list_models()
        except Exception as error:
            lines.append(f"{name}: its models cannot be listed ({type(error).__name__}: {error})")
        else:
            lines += [f"  {name}/{each.id}" for each in found]
    return "\n".join([*lines, "`/model NAME` or `/model PROVIDER/NAME` changes to another."])


def configuration(chat: Chat) -> str:
    """The parts of the session. Their settings may hold secrets and are not shown."""
    plan = chat.session.config
    session = plan.get("session") or {}
    lines = [f"{key:<14}{_module(session[key])}" for key in session if _module(session[key])]
    for kind in ("providers", "tools", "hooks"):
        names = [_module(each) for each in plan.get(kind) or ()]
        lines.append(f"{kind:<14}{', '.join(names) or 'none'}")
    lines.append("`amplifier config explain KEY` says which file decides a setting.")
    return "\n".join(lines)


def _module(entry: Any) -> str:
    return str(entry.get("module") or "") if isinstance(entry, dict) else ""


def _is_recorded(session: AmplifierSession) -> bool:
    return isinstance(session, RecordedSession) and session.recorder is not None
