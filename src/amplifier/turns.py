"""Brings a session up, runs one turn in it and takes it down again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from amplifier_core import AmplifierSession

from amplifier.asking import person_at_terminal
from amplifier.bundles.running import equip, instruct
from amplifier.exits import DONE, FAILED, INTERRUPTED, USED_UP
from amplifier.interrupts import watched_interrupts
from amplifier.output import note
from amplifier.plans import PlanError, what_it_needs
from amplifier.secrets import masked
from amplifier.sessions.live import RecordedSession
from amplifier.views import View

if TYPE_CHECKING:
    from amplifier.budget import Budget
    from amplifier.chat.approvals import Approvals
    from amplifier.cli.preparing import Prepared
    from amplifier.sessions.commands import Recording


class Interrupted(Exception):
    """The turn was asked to stop, and did."""


class UsedUp(Exception):
    """The budget allowed no further model call; what was done stays."""


def run_turn(ready: Prepared, prompt: str, view: View) -> int:
    """Run `prompt` in a session that is recorded if that is asked for; the exit code."""
    try:
        return asyncio.run(_run(ready, prompt, view))
    except (KeyboardInterrupt, asyncio.CancelledError):
        view.failed("Interrupted.")
        return INTERRUPTED
    except SystemExit as error:
        view.failed(f"A module ended the program with {error!r}.")
        return FAILED


async def _run(ready: Prepared, prompt: str, view: View) -> int:
    try:
        answer = await _answer(ready, prompt, view)
    except Interrupted:
        view.failed("Interrupted.")
        return INTERRUPTED
    except UsedUp as error:
        view.failed(str(error))
        return USED_UP
    except Exception as error:
        view.failed(in_words(error))
        return FAILED
    view.answered(answer)
    return FAILED if view.output.is_closed else DONE


async def _answer(ready: Prepared, prompt: str, view: View) -> str:
    plan, recording, budget, allow_partial = ready
    with watched_interrupts() as interrupts:
        person = person_at_terminal(view.aside)
        approvals = person.approvals() if person is not None else None
        interrupts.person, interrupts.aside = person, view.aside
        async with open_session(plan, recording, budget, approvals, allow_partial) as session:
            view.attach(session)
            if approvals is not None:
                approvals.attach(session)
                session.watch_children(approvals.attach_child)
            token = interrupts.cancellation = session.coordinator.cancellation
            answer = await session.execute(prompt)
            if token.is_cancelled and not view.output.is_closed:
                raise Interrupted
            if budget.stopped is not None:
                raise UsedUp(budget.stopped)
            return answer


@asynccontextmanager
async def open_session(
    plan: dict[str, Any],
    recording: Recording | None,
    budget: Budget | None,
    approvals: Approvals | None,
    allow_partial: bool,
) -> AsyncIterator[RecordedSession]:
    """A session that is ready: complete, instructed, with its past, recorded and limited."""
    session = _new_session(plan, recording, approvals)
    if budget is not None:
        if recording is not None:
            await recording.count_earlier(budget)
        session.limit(budget)
    await equip(session)
    async with session:
        await instruct(session)
        check_parts(session, allow_partial)
        if recording is not None:
            await recording.bring_back(session)
        yield session


def _new_session(
    plan: dict[str, Any], recording: Recording | None, approvals: Approvals | None
) -> RecordedSession:
    if recording is None:
        return RecordedSession(plan, approval_system=approvals)
    return recording.session(plan, approval_system=approvals)


def check_parts(session: AmplifierSession, allow_partial: bool) -> None:
    failed = session.status.failed_modules or []
    parts = "; ".join(f"{each['module_id']!r}: {each['error']}" for each in failed)
    missing = f"Not everything could be loaded: {parts.removesuffix('.')}."
    if not session.coordinator.get("providers"):
        if failed:
            raise PlanError(f"{missing} Without a provider nobody can answer.")
        module = session.config["providers"][0]["module"]
        raise PlanError(f"Provider {module!r} cannot be used. {what_it_needs(module)}")
    if any(each["module_type"] == "hook" for each in failed):
        # It may be the one that guards the others.
        raise PlanError(f"{missing} Nothing is run without its hooks.")
    if failed and not allow_partial:
        raise PlanError(f"{missing} Use --allow-partial to start without.")
    if failed:
        note(missing)


def in_words(error: Exception) -> str:
    """The message; for errors that were not written for people, with what kind it is."""
    text = masked(str(error))
    is_ours = type(error).__module__.partition(".")[0] in ("amplifier", "amplifier_core")
    return text if is_ours and text else f"{type(error).__name__}: {text}".removesuffix(": ")
