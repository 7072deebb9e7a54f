"""Whose events they are: those of the session at the front, or of a sub-agent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# How delegation names children: <parent>-<16 hex digits>_<agent>.
_CHILD_ID = re.compile(r"-[0-9a-f]{16}_(?P<agent>.+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A session as the screen shows it."""

    agent: str | None = None
    """Name of the sub-agent; None for the session at the front."""

    @property
    def indent(self) -> str:
        return "" if self.agent is None else "    "

    @property
    def prefix(self) -> str:
        return "" if self.agent is None else f"[{self.agent}] "


def speaker_of(coordinator: Any) -> Speaker:
    """By parent and metadata of the session; its id counts only if these tell nothing."""
    session_id = str(getattr(coordinator, "session_id", "") or "")
    named = _agent_name(getattr(coordinator, "config", None))
    child = _CHILD_ID.search(session_id)
    if named is None and child is not None:
        named = child["agent"]
    if named is None and getattr(coordinator, "parent_id", None):
        named = session_id.partition("_")[2] or "agent"
    return Speaker(named)


def _agent_name(config: Any) -> str | None:
    session = config.get("session") if isinstance(config, dict) else None
    metadata = session.get("metadata") if isinstance(session, dict) else None
    name = metadata.get("agent_name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else None
