"""Opens a session for a chat, and closes it afterwards."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier.exits import DONE, FAILED, INTERRUPTED
from amplifier.grants import FILE, Grants
from amplifier.output import note
from amplifier.sessions.places import sessions_folder
from amplifier.turns import in_words, open_session

from .chat import Chat

if TYPE_CHECKING:
    from amplifier.budget import Budget
    from amplifier.sessions.commands import Recording

HISTORY = "repl_history"


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
    try:
        asyncio.run(_chat(plan, allow_partial, recording, budget))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        note(f"amplifier: {in_words(error)}")
        return FAILED
    return DONE


async def _chat(
    plan: dict[str, Any],
    allow_partial: bool,
    recording: Recording | None,
    budget: Budget | None,
) -> None:
    folder = Path.cwd()
    own = sessions_folder(folder).parent
    async with open_session(plan, recording, budget, None, allow_partial) as session:
        chat = Chat(session, folder, history=own / HISTORY, remember=Grants(own / FILE))
        await chat.talk()
    if recording is not None and session.session_id:
        note(f"Go on with `amplifier chat --resume {session.session_id[:8]}`.", dim=True)
