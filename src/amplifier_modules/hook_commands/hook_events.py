"""Which event of a session is which hook event, and what a hook may do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PermissionRequest",
    "Notification",
    "SubagentStart",
    "SubagentStop",
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)


class Kind(NamedTuple):
    """What a hook event is made of."""

    events: tuple[str, ...]
    blocks: bool = False
    injects: bool = False
    heard: bool = False
    """Whether loops carry out the answer; otherwise it is up to this module."""
    subject: str | None = None
    """The field that matchers look at."""


_STARTED = ("task:agent_spawned", "task:agent_resumed")
_STOPPED = ("task:agent_completed", "task:agent_cancelled")
_DELEGATED = ("delegate:agent_spawned", "delegate:agent_resumed")
_RETURNED = ("delegate:agent_completed", "delegate:agent_cancelled", "delegate:error")

KINDS: dict[HookEvent, Kind] = {
    "PreToolUse": Kind(("tool:pre",), blocks=True, injects=True, heard=True, subject="tool_name"),
    "PostToolUse": Kind(("tool:post",), injects=True, heard=True, subject="tool_name"),
    "UserPromptSubmit": Kind(("prompt:submit",), blocks=True, injects=True, heard=True),
    "Stop": Kind(("prompt:complete",), blocks=True),
    "SessionStart": Kind(("session:start", "session:resume"), injects=True, subject="trigger"),
    "SessionEnd": Kind(("session:end",)),
    "PreCompact": Kind(("context:pre_compact",), injects=True),
    "PermissionRequest": Kind(("approval:required",), blocks=True, subject="tool_name"),
    "Notification": Kind(("user:notification",)),
    "SubagentStart": Kind((*_STARTED, *_DELEGATED), subject="agent"),
    "SubagentStop": Kind((*_STOPPED, *_RETURNED), subject="agent"),
}
HOOK_EVENT_OF: dict[str, HookEvent] = {
    event: name for name, kind in KINDS.items() for event in kind.events
}
_TRIGGERS = {"session:start": "startup", "session:resume": "resume"}


def completed(event: str, data: Any) -> dict[str, Any]:
    """The data of an event with what hooks are told beside it."""
    fields = dict(data) if isinstance(data, Mapping) else {}
    if event in _TRIGGERS:
        fields["trigger"] = _TRIGGERS[event]
    return {**fields, "hook_event_name": HOOK_EVENT_OF[event]}


def subject_of(name: HookEvent, data: Mapping[str, Any]) -> str | None:
    """What matchers are compared with; None if there is no telling, so all of them match."""
    field = KINDS[name].subject
    found = data.get(field) if field else None
    return found if isinstance(found, str) else None
