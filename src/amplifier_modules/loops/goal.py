"""Goal pursuit: turn follows turn until a goal is reached, out of reach, or given up.

It is off unless a host sets `coordinator.session_state["goal"]` to a dict with a `condition`
and, if turns are limited, a `cap`. How far it has come is kept in the same dict.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from amplifier_modules.loops import announce, goal_text
from amplifier_modules.loops.goal_judge import Complete, Judge, NoAnswer
from amplifier_modules.loops.goal_text import Verdict
from amplifier_modules.loops.options import StreamingSettings
from amplifier_modules.loops.watch import Interrupted, Watch, to_the_end

if TYPE_CHECKING:
    from amplifier_modules.loops.turn import Turn

GOAL_PROGRESS = "orchestrator:goal_progress"
SCHEMA_VERSION = 1
NO_GOAL = {"goal_turn": False, "goal_final": True, "continuations": 0}
MALFORMED = "The goal has no condition. Set a dict with the text `condition`."
BROKE_OFF = "The turn ended with an error."
STOPPED = "The session was asked to stop."
WITHDRAWN = "The goal was withdrawn."

State = Literal["continuing", "achieved", "cap_hit", "stalled", "cancelled", "error"]


@dataclass(frozen=True)
class Finding:
    """Why no progress is made."""

    verdict: Verdict
    detail: str

    @property
    def is_locked(self) -> bool:
        return self.verdict != "RESOLVABLE"


@dataclass(frozen=True)
class Outcome:
    """How things stand after a turn. With a prompt, another turn follows."""

    state: State
    reason: str
    prompt: str | None = None
    finding: Finding | None = None
    summary: str | None = None


def goal_of(turn: Turn) -> Any:
    state = getattr(turn.coordinator, "session_state", None)
    return state.get("goal") if state else None


class Pursuit:
    """The pursuit of a goal within one `execute()`."""

    def __init__(self, settings: StreamingSettings, complete: Complete) -> None:
        self._settings = settings
        self._judge = Judge(settings, complete)
        self._goal: dict[str, Any] | None = None
        self._next_prompt: str | None = None
        self._is_continued = False
        self._reasons_settled = 0
        """How many of the reasons a judge has already found to be no lasting obstacle."""

    @property
    def goes_on(self) -> bool:
        return self._next_prompt is not None

    # -- from turn to turn ------------------------------------------------------------

    async def go_on(self, turn: Turn, answer: str) -> str:
        """Run the turns that follow `turn`; the last answer."""
        while self._next_prompt is not None and self._goal is not None:
            self._goal["continuations"] += 1
            self._is_continued = True
            turn = turn.followed_by(self._next_prompt, {"source": "goal"})
            self._next_prompt = None
            answer = await self._run(turn)
        return answer

    async def _run(self, turn: Turn) -> str:
        try:
            answer = await turn.run()
        except (Exception, asyncio.CancelledError) as error:
            if not turn.extra:
                is_cancelled = isinstance(error, asyncio.CancelledError)
                turn.status = "cancelled" if is_cancelled else "error"
                await to_the_end(self._never_began(turn, BROKE_OFF))
            raise
        if not turn.extra:
            turn.status = "incomplete"
            await self._never_began(turn, answer)
        return answer

    async def _never_began(self, turn: Turn, reason: str) -> None:
        """A hook denied the prompt, or the turn broke off before it had begun."""
        if self._goal is not None:
            state: State = "cancelled" if turn.status == "cancelled" else "error"
            await self._conclude(turn, self._goal, Outcome(state, reason))
        await announce.turn_completed(turn)

    async def turn_ended(self, turn: Turn) -> None:
        """Decide how to go on, and say so."""
        goal = goal_of(turn)
        if self._goal is not None and self._goal is not goal:
            await self._conclude(turn, self._goal, Outcome("cancelled", WITHDRAWN))
        if goal is None:
            return
        if not _is_usable(goal):
            return await self._conclude(turn, {"condition": None}, Outcome("error", MALFORMED))
        self._goal = goal
        _count(goal, turn, self._is_continued)
        # Until it is known better: whatever happens here, somebody may wait for the last turn.
        turn.extra = _completion(goal, is_final=True)
        outcome = await self._outcome(turn, goal)
        if goal_of(turn) is not goal:
            return await self.turn_ended(turn)
        return await self._conclude(turn, goal, outcome)

    async def _conclude(self, turn: Turn, goal: dict[str, Any], outcome: Outcome) -> None:
        ...
