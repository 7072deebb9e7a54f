"""What a hook said: read strictly, because a misread answer may be a missed refusal."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amplifier_modules.hook_commands.process import Finished

_BLOCKED = 2
_LONGEST_REASON = 2000
_NO_REASON = "The hook gave no reason."
_FENCE = "```"


class Failure(Exception):
    """A hook that gave no usable answer; the text says why."""


class Said(NamedTuple):
    """What a hook wants."""

    blocks: bool = False
    reason: str = ""
    message: str = ""
    """For the user."""
    injection: str = ""
    """For the model."""


class _Answer(BaseModel):
    """The JSON object that a hook may print."""

    model_config = ConfigDict(extra="forbid", strict=True)

    decision: Literal["approve", "block"] | None = None
    reason: str | None = None
    system_message: str | None = Field(None, alias="systemMessage")
    context_injection: str | None = Field(None, alias="contextInjection")


_KEYS = [field.alias or name for name, field in _Answer.model_fields.items()]


def from_command(finished: Finished) -> Said:
    """What a command said by its exit code and its outputs.

    Raises:
        Failure: neither tells anything.
    """
    complaint = cut(finished.stderr.strip())
    if finished.exit_code == _BLOCKED:
        return Said(blocks=True, reason=complaint or _NO_REASON)
    if finished.exit_code < 0:
        raise Failure(f"It was killed by signal {-finished.exit_code}.")
    if finished.exit_code != 0:
        detail = f": {complaint}" if complaint else "."
        raise Failure(f"It ended with exit code {finished.exit_code}{detail}")
    if finished.too_long:
        raise Failure("It printed more than `max_output` allows.")
    if not finished.stdout.strip():
        return Said()
    return _said(_parsed(finished.stdout, "It printed"))


def from_model(text: str) -> Said:
    """What a model said, which has to be a decision.

    Raises:
        Failure: it is none.
    """
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.strip("`").removeprefix("json")
    answer = _parsed(text, "The model answered")
    if answer.decision is None:
        raise Failure("The model's answer has no 'decision'.")
    return _said(answer)


def _parsed(text: str, who: str) -> _Answer:
    try:
        content = json.loads(text, object_pairs_hook=_object)
        json.dumps(content, ensure_ascii=False).encode()  # fails at half of a surrogate pair
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Failure(f"{who} something that is no JSON object. Only a decision is expected there.")
    try:
        return _Answer.model_validate(content)
    except ValidationError as error:
        raise Failure(f"{who} a wrong decision: {_problem(error.errors()[0])}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: of two decisions, the first would be lost."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("A key is there twice.")
    return dict(pairs)


def _problem(error: Any) -> str:
    key = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{key!r}: {error['msg']}." if key else f"{error['msg']}."
    near = get_close_matches(key, _KEYS, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(_KEYS)}."
    return f"there is no key {key!r}. {advice}"


def _said(answer: _Answer) -> Said:
    blocks = answer.decision == "block"
    return Said(
        blocks=blocks,
        reason=cut(answer.reason or "") or (_NO_REASON if blocks else ""),
        message=cut(answer.system_message or ""),
        injection=answer.context_injection or "",
    )


def cut(text: str, limit: int = _LONGEST_REASON) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
