"""Goal pursuit: turn follows turn until a goal is reached, out of reach, or given up.

It is off unless a host sets `coordinator.session_state["goal"]` to a dict with a `condition`
and, if turns are limited, a `cap`. How far it has come is kept in the same dict.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Literal

from amplifier_modules.loops import announce, goal_text
from amplifier_modules.loops.goal_judge import Complete, Judge, NoAnswer
from amplifier_modules.loops.goal_text import Verdict
from amplifier_modules.loops.options import StreamingSettings
from amplifier_modules.loops.results import said
from amplifier_modules.loops.turn import Turn
from amplifier_modules.loops.watch import Interrupted, Watch, to_the_end

logger = logging.getLogger(__name__)

GOAL_PROGRESS = "orchestrator:goal_progress"
SCHEMA_VERSION = 1
NO_GOAL = {"goal_turn": False, "goal_final": True, "continuations": 0}
MALFORMED = (
    "The goal cannot be used. Set a dict with a text `condition` and a number `cap`, if any."
)
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
        self._goal: dict[str, Any] = {}
        """The one that is pursued at the moment; empty if there is none."""
        self._next_prompt: str | None = None
        self._is_continued = False
        self._reasons_settled = 0
        """How many of the reasons a judge has found to be no lasting obstacle."""

    @property
    def goes_on(self) -> bool:
        return self._next_prompt is not None

    # -- from turn to turn ------------------------------------------------------------

    async def go_on(self, turn: Turn, answer: str) -> str:
        """Run the turns that follow `turn`; the last answer."""
        while self._next_prompt is not None:
            prompt, self._next_prompt = self._next_prompt, None
            self._is_continued = True
            self._goal["continuations"] += 1
            turn = Turn(turn.loop, prompt, turn.context, turn.providers, turn.tools, turn.hooks)
            turn.prompt_fields = {"metadata": {"source": "goal"}}
            answer = await self._run(turn)
        return answer

    async def _run(self, turn: Turn) -> str:
        """Run a turn; one that never gets as far as to end concludes the pursuit."""
        try:
            answer = await turn.run()
        except (Exception, asyncio.CancelledError) as error:
            if not turn.extra:
                was_cancelled = isinstance(error, asyncio.CancelledError)
                turn.status = "cancelled" if was_cancelled else "error"
                await to_the_end(self._never_began(turn, STOPPED if was_cancelled else BROKE_OFF))
            raise
        if not turn.extra:
            turn.status = "incomplete"
            await self._never_began(turn, answer)
        return answer

    async def _never_began(self, turn: Turn, reason: str) -> None:
        state: State = "cancelled" if turn.status == "cancelled" else "error"
        await self._conclude(turn, Outcome(state, reason))
        await announce.turn_completed(turn)

    async def turn_ended(self, turn: Turn) -> None:
        """Decide how to go on, and say so."""
        goal = goal_of(turn)
        if self._goal and self._goal is not goal:
            await self._conclude(turn, Outcome("cancelled", WITHDRAWN))
        if goal is None:
            return None
        if not _is_usable(goal):
            turn.coordinator.session_state["goal"] = goal = _fresh()
            self._goal = goal
            return await self._conclude(turn, Outcome("error", MALFORMED))
        self._goal = goal
        _count(goal, turn, self._is_continued)
        # Whatever happens from here on, somebody may wait for the last turn.
        turn.extra = _completion(goal, is_final=True)
        outcome = await self._outcome(turn, goal)
        if goal_of(turn) is not goal:
            return await self.turn_ended(turn)
        return await self._conclude(turn, outcome)

    async def _conclude(self, turn: Turn, outcome: Outcome) -> None:
        goal, self._next_prompt = self._goal, outcome.prompt
        turn.extra = _completion(goal, is_final=outcome.prompt is None)
        if outcome.prompt is None:
            self._goal = {}
            if goal_of(turn) is goal:
                del turn.coordinator.session_state["goal"]
        await turn.hooks.emit(GOAL_PROGRESS, self._progress(turn, goal, outcome))

    def _progress(self, turn: Turn, goal: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
        finding = outcome.finding
        return {
            "orchestrator": turn.loop.name,
            "schema_version": SCHEMA_VERSION,
            "state": outcome.state,
            "turn": goal["turns_used"],
            "continuations": goal["continuations"],
            "cap": goal["cap"],
            "condition": goal["condition"],
            "reason": outcome.reason,
            "reasons": self._recent_reasons(goal),
            "distinct_blockers": goal_text.distinct(goal["reasons"]),
            "stall_detail": finding.detail if finding else None,
            "stall_verdict": finding.verdict if finding else None,
            "summary": outcome.summary,
        }

    # -- after a turn -----------------------------------------------------------------

    async def _outcome(self, turn: Turn, goal: dict[str, Any]) -> Outcome:
        if turn.status == "cancelled":
            return Outcome("cancelled", STOPPED)
        if turn.status == "error":
            return Outcome("error", BROKE_OFF)
        try:
            with Watch(turn.cancellation):
                return await self._weighed(turn, goal)
        except Interrupted:
            turn.status = "cancelled"
            await announce.cancelled(turn, is_first_time=True)
            return Outcome("cancelled", STOPPED)
        except Exception as error:
            if not isinstance(error, NoAnswer):
                logger.exception("Whether the goal is reached cannot be told")
            return Outcome("error", said(error))
        except asyncio.CancelledError:
            await to_the_end(self._conclude(turn, Outcome("cancelled", STOPPED)))
            raise

    async def _weighed(self, turn: Turn, goal: dict[str, Any]) -> Outcome:
        is_reached, reason = await self._judge.is_reached(turn, goal["condition"])
        goal["last_reason"] = reason
        if is_reached:
            return Outcome("achieved", reason)
        goal["reasons"].append(reason)
        finding = await self._find_out(turn, goal)
        is_capped = bool(goal["cap"]) and goal["turns_used"] >= goal["cap"]
        is_locked = finding is not None and finding.is_locked
        if is_capped or (is_locked and goal["escalated"]):
            state: State = "stalled" if is_locked else "cap_hit"
            reasons = self._recent_reasons(goal)
            summary = await self._judge.summary(turn, goal["condition"], reasons)
            return Outcome(state, reason, finding=finding, summary=summary)
        if turn.is_cancelled:
            raise Interrupted
        if finding is None or not finding.is_locked:
            return Outcome("continuing", reason, reason, finding)
        goal["escalated"] = True
        return Outcome("continuing", reason, _escalation(goal, finding, reason), finding)

    async def _find_out(self, turn: Turn, goal: dict[str, Any]) -> Finding | None:
        """Why no progress is made, if it looks as if none were."""
        sign = self._sign_of_stall(goal)
        if sign is None:
            return None
        reasons = self._recent_reasons(goal)
        seen = await self._judge.obstacle(turn, goal["condition"], reasons)
        if seen is None:
            return None
        finding = Finding(seen[0], f"{sign} {seen[1]}".rstrip())
        if not finding.is_locked:
            goal["no_tool_turns"] = 0
            self._reasons_settled = len(goal["reasons"])
        return finding

    def _sign_of_stall(self, goal: dict[str, Any]) -> str | None:
        idle, settings = goal["no_tool_turns"], self._settings
        if idle >= settings.goal_stall_threshold:
            return f"{idle} turns in a row called no tool."
        window = settings.goal_busy_stall_window
        latest = goal["reasons"][self._reasons_settled :][-window:]
        least = settings.goal_busy_stall_min_overlap
        if len(latest) < window or goal_text.overlap(latest) < least:
            return None
        return f"The last {window} turns failed for much the same reason."

    def _recent_reasons(self, goal: dict[str, Any]) -> list[str]:
        return goal_text.without_repeats(goal["reasons"])[
            -self._settings.goal_summary_max_reasons :
        ]


def _fresh() -> dict[str, Any]:
    return {
        "condition": None,
        "cap": None,
        "turns_used": 0,
        "reasons": [],
        "no_tool_turns": 0,
        "escalated": False,
        "continuations": 0,
        "last_reason": None,
    }


def _is_usable(goal: Any) -> bool:
    if not isinstance(goal, dict) or not isinstance(goal.get("cap"), int | None):
        return False
    condition = goal.get("condition")
    return isinstance(condition, str) and bool(condition.strip())


def _count(goal: dict[str, Any], turn: Turn, is_continuation: bool) -> None:
    """Enter a turn into the goal's own books, which a host may have left incomplete."""
    for key, value in _fresh().items():
        if goal.get(key) is None:
            goal[key] = value
    goal["turns_used"] += 1
    if turn.used_tools:
        goal["no_tool_turns"] = 0
    elif is_continuation:
        goal["no_tool_turns"] += 1


def _completion(goal: dict[str, Any], *, is_final: bool) -> dict[str, Any]:
    """What `orchestrator:complete` says about the goal."""
    return {"goal_turn": True, "goal_final": is_final, "continuations": goal["continuations"]}


def _escalation(goal: dict[str, Any], finding: Finding, reason: str) -> str:
    return (
        f"The goal is still not reached: {goal['condition']}\n\n{reason}\n\n"
        f"It looks as if there were no way on ({finding.verdict}). {finding.detail}\n\n"
        "Do not repeat what has failed. If there is a way that you have not tried, take it now. "
        "If there is none, say exactly what is in the way and what you need from the user."
    )
