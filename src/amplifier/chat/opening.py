"""Opens a session for a chat, closes it afterwards, and opens the next one if that is wanted."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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

    def again(self, session_id: str) -> Scene:
        """The same session, which was left. Nothing is on disk if nothing was said in it."""
        from amplifier.sessions import commands

        assert self.recording is not None
        store, provider, model = (getattr(self.recording, name) for name in _KEPT)
        try:
            recording = commands.resumed(store, session_id, provider, model)
        except NoSession:
            recording = commands.Recording(store, provider, model)
        return Scene(self.plan, recording, Welcome(shows_past=False))

    def with_error(self, error: Exception) -> Scene:
        return replace(self, welcome=Welcome(shows_past=False, error=in_words(error)))


_KEPT = ("store", "provider", "model")


class Left(NamedTuple):
    """A session that a person has had enough of."""

    session_id: str
    is_kept: bool
    """Whether there is a log of it."""
    move: Move | None
    """What comes next."""


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
        left = asyncio.run(_chat(scene, allow_partial, budget))
        while left.move is not None:
            scene, left = _go_on(scene, left, allow_partial, budget)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        note(f"amplifier: {in_words(error)}")
        return FAILED
    if left.is_kept:
        note(f"Go on with `amplifier chat --resume {left.session_id[:8]}`.", dim=True)
    return DONE


def _go_on(
    scene: Scene, left: Left, allow_partial: bool, budget: Budget | None
) -> tuple[Scene, Left]:
    """Chat where `left` wants to go on; if that cannot be opened, where it was left."""
    assert left.move is not None
    following = elsewhere(scene.again(left.session_id), left.session_id, left.move)
    try:
        return following, asyncio.run(_chat(following, allow_partial, budget))
    except Exception as error:
        # Anew: what has failed may have written to the same log.
        back = scene.again(left.session_id).with_error(error)
        return back, asyncio.run(_chat(back, allow_partial, budget))


async def _chat(scene: Scene, allow_partial: bool, budget: Budget | None) -> Left:
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
        is_kept = recorder is not None and recorder.journal.is_claimed
        return Left(session.session_id, is_kept, move)


def _without_other_screens(plan: dict[str, Any]) -> dict[str, Any]:
    hooks = [each for each in plan.get("hooks", []) if each.get("module") != SHOWN_BY_THE_CHAT]
    return {**plan, "hooks": hooks} if "hooks" in plan else plan


# -- from one session to the next -----------------------------------------------------------


def elsewhere(back: Scene, session_id: str, move: Move) -> Scene:
    """Where the conversation goes on; `back`, with a word, if it cannot elsewhere."""
    assert back.recording is not None
    try:
        return _moved(back, back.recording, session_id, move)
    except (StoreError, PlanError, OSError, ValueError) as error:
        return back.with_error(error)


def _moved(back: Scene, recording: Recording, session_id: str, move: Move) -> Scene:
    from amplifier.sessions.commands import find, resumed

    provider, model = recording.provider, recording.model
    if move.kind == "model":
        return replace(back, plan=with_model(back.plan, move.to or ""))
    if move.kind == "resume":
        store, found = find(move.to or "")
        return Scene(back.plan, resumed(store, found, provider, model), Welcome())
    end, draft = move.to, ""
    if move.kind == "undo":
        end, draft = _before_last_turn(recording, session_id)
    copy = _copied(recording, session_id, end)
    going_on = resumed(recording.store, copy, provider, model)
    return Scene(back.plan, going_on, Welcome(draft=draft))


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
