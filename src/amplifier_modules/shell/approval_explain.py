"""Says what the guard would decide and why, without a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.policy import MODULE, ApprovalSettings
from amplifier_modules.shell.policy_calls import SHELL_TOOL, Call, CallPolicy
from amplifier_modules.shell.rules_places import Places
from amplifier_modules.shell.verdict import strictest


def explain(
    tool_name: str,
    input: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    project: str | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The verdict on a call with its parts: `verdict`, `rule`, `reason`, `parts`, `commands`.

    Raises:
        ValueError: the config cannot be read.
    """
    settings = ApprovalSettings.read(config, MODULE)
    working = os.path.abspath(project or os.getcwd())
    root = os.path.normpath(os.path.join(working, os.path.expanduser(settings.project or "")))
    call = Call(tool_name, input, annotations or {})
    parts = CallPolicy(settings).parts(call, Places(root, working, working))
    decided = strictest(parts)
    return {
        "tool": tool_name,
        "verdict": decided.action,
        "rule": decided.rule,
        "reason": decided.reason,
        "parts": [
            {"part": each.about, "verdict": each.action, "rule": each.rule, "reason": each.reason}
            for each in parts
        ],
        "commands": _commands(input) if tool_name == SHELL_TOOL else [],
    }


def _commands(input: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        found = simple_commands(parse(str(input.get("command") or "")))
        return [_described(each) for each in found]
    except ParseError:
        return []


def _described(command: Found) -> dict[str, Any]:
    return {
        "argv": list(command.argv),
        "inside": list(command.inside),
        "sets": [each.name for each in command.assignments],
        "redirects": [
            f"{each.fd or ''}{each.operator}{each.target.source}" for each in command.redirects
        ],
    }
