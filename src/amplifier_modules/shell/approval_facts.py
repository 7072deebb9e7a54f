"""What the guard has to know about a call: the tool, who demands approval, which folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from amplifier_modules.shell.policy import ApprovalSettings
from amplifier_modules.shell.policy_calls import Call
from amplifier_modules.shell.rules_places import Places

_HIGH_RISK = frozenset({"write", "edit", "bash", "execute", "run", "write_file", "edit_file"})


class Unjudgeable(ValueError):
    """An event that announces no call that anybody could judge."""


class Facts:
    """Looks things up in the session, anew for each call."""

    def __init__(self, coordinator: Any, settings: ApprovalSettings) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self.has_moved = False
        """Whether a command may have changed the shell's folder."""

    def call(self, data: Mapping[str, Any]) -> Call:
        """The call that `data` announces.

        Raises:
            Unjudgeable: it has no name or no input that can be judged.
        """
        name, given = data.get("tool_name"), data.get("tool_input")
        if not isinstance(name, str) or not name or not isinstance(given, Mapping):
            raise Unjudgeable("A call without a tool name and an input cannot be judged.")
        tool = self._tool(name)
        annotations = getattr(tool, "annotations", None)
        known = annotations if isinstance(annotations, Mapping) else {}
        return Call(name, given, known, self._must_ask(name, tool))

    def _tool(self, name: str) -> Any:
        tools = self._coordinator.get("tools")
        return tools.get(name) if isinstance(tools, Mapping) else None

    def _must_ask(self, name: str, tool: Any) -> str | None:
        """Who demands approval, in the order in which they are heard."""
        state = getattr(self._coordinator, "session_state", None) or {}
        if name in (state.get("require_approval_tools") or ()):
            return "session: require_approval_tools"
        if self._settings.policy_driven_only:
            return None
        if getattr(tool, "require_approval", False):
            return "tool: require_approval"
        options = self._settings.tools.get(name)
        if options is not None:
            return f"tools.{name}.require_approval" if options.require_approval else None
        return "built-in: high-risk tool" if name in _HIGH_RISK else None

    def places(self, call: Call) -> Places:
        working = self._coordinator.get_capability("session.working_dir") or os.getcwd()
        working = os.path.abspath(os.fspath(working))
        project = os.path.join(working, os.path.expanduser(self._settings.project or ""))
        unknown = None if call.is_shell and self.has_moved else working
        folder = self.told_folder(call.tool_name) or unknown
        return Places(os.path.normpath(project), folder, working)

    def told_folder(self, tool_name: str) -> str | None:
        """Where a tool says that relative paths start; it may be configured to be elsewhere."""
        own = getattr(self._tool(tool_name), "folder", None)
        return own if isinstance(own, str) and os.path.isabs(own) else None
