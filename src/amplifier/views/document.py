"""For programs: stdout is one JSON document, whatever happens."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Any

from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE

from amplifier.output import Output
from amplifier.sessions.live import RecordedSession

from . import models_in_use

LAST = 1_000_000_000
"""Priority: a call is traced as it was made, after every hook had its say."""


class DocumentView:
    """Prints the outcome when it is known, and nothing before or after."""

    def __init__(self, output: Output, *, with_trace: bool = False) -> None:
        self.output = output
        self._facts: dict[str, Any] = {}
        self._session: RecordedSession | None = None
        self._trace = Trace() if with_trace else None
        self._is_printed = False

    def attach(self, session: RecordedSession) -> None:
        _, model = models_in_use(session)
        bundle = session.config.get("bundle")
        self._facts = {"session_id": session.session_id, "bundle": bundle, "model": model}
        self._session = session
        if self._trace is not None:
            self._trace.attach(session)

    def answered(self, text: str) -> None:
        self._print({"status": "success", "response": text, **self._facts})

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def failed(self, message: str) -> None:
        self._print({"status": "error", "error": message, **self._facts})

    def _print(self, facts: dict[str, Any]) -> None:
        if not self._is_printed:
            self._is_printed = True
            now = datetime.now(UTC).isoformat()
            whole = {**facts, "timestamp": now, **self._spent(), **self._traced()}
            # Escaped, so that it is the same in every encoding.
            self.output.write(f"{json.dumps(whole, default=str)}\n")

    def _spent(self) -> dict[str, Any]:
        """What this turn has used, and which part of it each child."""
        budget = self._session.budget if self._session else None
        if budget is None:
            return {}
        children = [
            {"session_id": each, "agent": agent, "usage": budget.by_session[each].as_dict()}
            for each, agent in budget.agents.items()
        ]
        return {"usage": budget.spent_now.as_dict(), "children": children}

    def _traced(self) -> dict[str, Any]:
        if self._trace is None:
            return {}
        budget = self._session.budget if self._session else None
        return self._trace.as_dict(len(budget.agents) if budget else 0)


class Trace:
    """Every tool call of a session, in the order in which they began."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._calls: list[dict[str, Any]] = []
        self._running: dict[str, tuple[float, dict[str, Any]]] = {}

    def attach(self, session: RecordedSession) -> None:
        hooks = session.coordinator.hooks
        hooks.register(TOOL_PRE, self._on_call, priority=LAST, name="trace")
        hooks.register(TOOL_POST, self._on_result, priority=LAST, name="trace")
        hooks.register(TOOL_ERROR, self._on_error, priority=LAST, name="trace")

    def _on_call(self, event: str, data: dict[str, Any]) -> None:
        self._running[str(data.get("tool_call_id"))] = time.monotonic(), self._added(data)

    def _added(self, data: dict[str, Any]) -> dict[str, Any]:
        call = {
            "type": "tool_call",
            "tool": data.get("tool_name"),
            "arguments": data.get("tool_input"),
            "result": None,
            "timestamp": datetime.now(UTC).isoformat(),
            "duration_ms": None,
            "sequence": len(self._calls) + 1,
        }
        self._calls.append(call)
        return call

    def _on_result(self, event: str, data: dict[str, Any]) -> None:
        began, call = self._running.pop(str(data.get("tool_call_id")), (0.0, None))
        if call is not None:
            call |= {"result": data.get("result"), "duration_ms": _since(began)}

    def _on_error(self, event: str, data: dict[str, Any]) -> None:
        """A call that was denied never began; one with a result is still to be told of."""
        if "result" in data:
            return
        began, call = self._running.pop(str(data.get("tool_call_id")), (time.monotonic(), None))
        call = call or self._added(data)
        call |= {"result": {"error": data.get("error")}, "duration_ms": _since(began)}

    def as_dict(self, agents: int) -> dict[str, Any]:
        counts = {"total_tool_calls": len(self._calls), "total_agents_invoked": agents}
        metadata = {**counts, "duration_ms": _since(self._began)}
        return {"metadata": metadata, "execution_trace": self._calls}


def _since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 1)
