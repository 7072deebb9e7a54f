"""Answers that a person wanted to be remembered, for this session and this very call.

The folder counts too: the same relative path means another file elsewhere.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from amplifier_modules.shell.approval_audit import without_secrets
from amplifier_modules.shell.policy_calls import Call
from amplifier_modules.shell.verdict import Verdict

_MOST = 1_000
_Key = tuple[str, str, str, str]


class Remembered(NamedTuple):
    """One answer and what it was about."""

    approved: bool
    rule: str
    reason: str
    input: Mapping[str, Any]


class Memory:
    """Answers by tool, rule, folder and input. Whatever differs is another question."""

    def __init__(self) -> None:
        self._answers: dict[_Key, Remembered] = {}

    def recall(self, call: Call, verdict: Verdict, folder: str | None) -> Remembered | None:
        if folder is None:
            return None
        return self._answers.get(_key(call, verdict, folder))

    def keep(
        self, call: Call, verdict: Verdict, folder: str | None, approved: bool, reason: str
    ) -> None:
        if folder is not None and len(self._answers) < _MOST:
            kept = Remembered(approved, verdict.rule, reason, copy.deepcopy(dict(call.input)))
            self._answers[_key(call, verdict, folder)] = kept

    def listed(self) -> list[dict[str, Any]]:
        """What is remembered, secrets blanked."""
        return [
            without_secrets({"tool_name": tool, **each._asdict()})
            for (tool, *_), each in self._answers.items()
        ]

    def forget(self) -> int:
        """Drop all answers; returns how many there were."""
        count = len(self._answers)
        self._answers.clear()
        return count


def _key(call: Call, verdict: Verdict, folder: str) -> _Key:
    return call.tool_name, verdict.rule, folder, fingerprint(call.input)


def fingerprint(input: Mapping[str, Any]) -> str:
    """The same text for the same input and for no other."""
    return json.dumps(input, sort_keys=True, ensure_ascii=True, default=_unlike_any_other)


def _unlike_any_other(value: object) -> str:
    return f"{type(value).__qualname__} {id(value)} {value!r}"
