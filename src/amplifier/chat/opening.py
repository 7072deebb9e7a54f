"""Opens a session for a chat, closes it afterwards, and opens the next one if that is wanted."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier.budget import Budget
from amplifier.exits import DONE, FAILED, INTERRUPTED
from amplifier.grants import FILE, Grants
from amplifier.output import note
from amplifier.plans import PlanError, installed_providers, provider_entry
from amplifier.sessions.places import sessions_folder
from amplifier.sessions.store import NoSession, StoreError
from amplifier.turns import in_words, open_session

from .chat import Chat, Move, Welcome

if TYPE_CHECKING:
    from amplifier.sessions.commands import Recording

HISTORY = "repl_history"
SHOWN_BY_THE_CHAT = "hooks-streaming-ui"
"""What this module shows, the chat shows itself."""


@dataclass(frozen=True)
class Scene:
    """A session to chat in."""

    plan: dict[str, Any]
    recording: Recording | None
    welcome: Welcome


def run_chat(
    plan: dict[str, Any],
    *,
    allow_partial: bool = False,
    recording: Recording | None = None,
    budget: Budget | None = None,
) -> int:
    """Chat in a session that is recorded if that is asked for; the exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        note('A chat needs a terminal. Without one, use `amplifier run "PROMPT"`.')
        return FAILED
    scene = Scene(_without_other_screens(plan), recording, Welcome())
    try:
        while True:
            session_id, is_kept, move = asyncio.run(_chat(scene, allow_partial, budget))
            if move is None:
                break
            scene = elsewhere(scene, session_id, move)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        note(f"amplifier: {in_words(error)}")
        return FAILED
    if is_kept:
        note(f"Go on with `amplifier chat --resume {session_id[:8]}`.", dim=True)
    return DONE


async def _chat(
    scene: Scene, allow_partial: bool, budget: Budget | None
) -> tuple[str, bool, Move | None]:
    """The session that was talked with, whether there is a log of it, and what comes next."""
    folder = Path.cwd()
    own = sessions_folder(folder).parent
    # What the session has spent before is in its log, and is counted from there.
    books = None if budget is None else Budget(budget.limits)
    async with open_session(scene.plan, scene.recording, books, None, allow_partial) as session:
        chat = Chat(
            session,
            folder,
            history=own / HISTORY,
            grants=Grants(own / FILE),
            welcome=scene.welcome,
        )
        move = await chat.talk()
        recorder = getattr(session, "recorder", None)
        return session.session_id, recorder is not None and recorder.journal.is_claimed, move


def _without_other_screens(plan: dict[str, Any]) -> dict[str, Any]:
    hooks = [each for each in plan.get("hooks", []) if each.get("module") != SHOWN_BY_THE_CHAT]
    return {**plan, "hooks": hooks} if "hooks" in plan else plan


# -- from one session to the next -----------------------------------------------------------


def elsewhere(scene: Scene, session_id: str, move: Move) -> Scene:
    """Where the conversation goes on; in the same session, with a word, if it cannot elsewhere."""
    assert scene.recording is not None
    try:
        return _moved(scene, scene.recording, session_id, move)
    except (StoreError, PlanError, OSError, ValueError) as error:
        stays = Welcome(shows_past=False, error=in_words(error))
        return Scene(scene.plan, _again(scene.recording, session_id), stays)


def _moved(scene: Scene, recording: Recording, session_id: str, move: Move) -> Scene:
    from amplifier.sessions.commands import find, resumed

    provider, model = recording.provider, recording.model
    if move.kind == "model":
        plan = with_model(scene.plan, move.to or "")
        return Scene(plan, _again(recording, session_id), Welcome(shows_past=False))
    if move.kind == "resume":
        store, found = find(move.to or "")
        return Scene(scene.plan, resumed(store, found, provider, model), Welcome())
    end, draft = move.to, ""
    if move.kind == "undo":
        end, draft = _before_last_turn(recording, session_id)
    copy = _copied(recording, session_id, end)
    going_on = resumed(recording.store, copy, provider, model)
    return Scene(scene.plan, going_on, Welcome(draft=draft))


def _again(recording: Recording, session_id: str) -> Recording:
    """The session that was left. Nothing is on disk of one in which nothing was said."""
    from amplifier.sessions.commands import Recording as New
    from amplifier.sessions.commands import resumed

    store, provider, model = recording.store, recording.provider, recording.model
    try:
        return resumed(store, session_id, provider, model)
    except NoSession:
        return New(store, provider, model)


def _copied(recording: Recording, session_id: str, end: str | None) -> str:
    from amplifier.sessions.changing import fork

    return asyncio.run(fork(recording.store, session_id, end))


def _before_last_turn(recording: Recording, session_id: str) -> tuple[str, str]:
    """Up to where to copy a session without its last turn, and how that turn began."""
    from amplifier.sessions.loading import load

    turns = asyncio.run(load(recording.store, session_id)).turns
    if not turns:
        raise ValueError("Nothing was said yet.")
    end = str(len(turns) - 1) if len(turns) > 1 else f"seq:{turns[-1].seq - 1}"
    return end, turns[-1].prompt


def with_model(plan: dict[str, Any], wanted: str) -> dict[str, Any]:
    """The plan with another model: NAME of the provider in use, or PROVIDER/NAME.

    Raises:
        PlanError: there is no such provider.
    """
    mounted = plan["providers"]
    name, _, rest = wanted.partition("/")
    if rest and f"provider-{name.removeprefix('provider-')}" in installed_providers():
        module, model = provider_entry(name)["module"], rest
    else:
        module, model = mounted[0]["module"], wanted
    entry = next((each for each in mounted if each["module"] == module), {"module": module})
    config = {**entry.get("config", {}), "default_model": model}
    return {**plan, "providers": [{**entry, "config": config}]}
