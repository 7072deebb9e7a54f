"""The form of a hook set: which commands, for which event, under which condition."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amplifier_modules.hook_commands.hook_events import HOOK_EVENTS, HookEvent

logger = logging.getLogger(__name__)

# How people coming from other agents call the tools that have another name here.
_ALSO_CALLED = {
    "edit_file": ("Edit", "MultiEdit"),
    "read_file": ("Read",),
    "write_file": ("Write",),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
    "delegate": ("Task",),
    "todo": ("TodoWrite",),
}


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CommandHook(_Form):
    """A shell command that is run."""

    type: Literal["command"]
    command: str = Field(min_length=1)
    timeout: float = Field(30, gt=0)

    @property
    def label(self) -> str:
        return self.command


class PromptHook(_Form):
    """A question that the session's model is asked."""

    type: Literal["prompt"]
    prompt: str = Field(min_length=1)
    timeout: float = Field(30, gt=0)

    @property
    def label(self) -> str:
        return self.prompt


Hook = Annotated[CommandHook | PromptHook, Field(discriminator="type")]


class Group(_Form):
    """Hooks that share a condition."""

    matcher: str = ""
    parallel: bool = False
    hooks: list[Hook]

    def matches(self, subject: str | None) -> bool:
        """Whether the condition holds; a subject that is not known meets every condition."""
        if subject is None or self.matcher in ("", "*"):
            return True
        names = (subject, *_ALSO_CALLED.get(subject, ()))
        return any(_matches(self.matcher, name) for name in names)


class HookSet(_Form):
    """One file, or what one skill brings."""

    description: str = ""
    hooks: dict[HookEvent, list[Group]]


class Source(NamedTuple):
    """A hook set and where it came from."""

    name: str
    hooks: HookSet
    folder: Path
    """Where its commands are run."""


class BadHookSet(ValueError):
    """A hook set that cannot be used, and the place of the mistake in it."""

    def __init__(self, problem: str, where: tuple[str | int, ...]) -> None:
        super().__init__(problem)
        self.where = where


def read_hook_set(content: Any) -> HookSet:
    """The hook set in `content`, as it was read from JSON or YAML.

    Raises:
        BadHookSet: it is none.
    """
    try:
        return HookSet.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # The kind of a hook is no key in the file, only a step on pydantic's way.
        steps = [step for step in first["loc"] if step not in ("command", "prompt", "[key]")]
        steps += [step for step in first["loc"][-1:] if step in ("command", "prompt")]
        raise BadHookSet(_problem(first, steps, content), tuple(steps)) from None


def _problem(error: Any, steps: list[str | int], content: Any) -> str:
    place = ".".join(map(str, steps))
    if error["loc"][-1:] == ("[key]",):
        return _unknown(f"{steps[-1]!r} is no hook event.", str(steps[-1]), HOOK_EVENTS)
    if error["type"] == "extra_forbidden":
        return _unknown(f"There is no key {place!r}.", str(steps[-1]), _known_keys(steps, content))
    return f"{place!r} is wrong: {error['msg']}." if place else "It is no object with 'hooks'."


def _known_keys(steps: list[str | int], content: Any) -> tuple[str, ...]:
    if len(steps) == 1:
        return tuple(HookSet.model_fields)
    if len(steps) < 5:
        return tuple(Group.model_fields)
    for step in steps[:-1]:
        content = content[step]
    is_prompt = isinstance(content, Mapping) and content.get("type") == "prompt"
    return tuple((PromptHook if is_prompt else CommandHook).model_fields)


def _unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"{what} Did you mean {near[0]!r}?" if near else f"{what} Known: {', '.join(known)}."


def _matches(matcher: str, name: str) -> bool:
    pattern = _compiled(matcher)
    if pattern is None:
        return matcher.casefold() == name.casefold()
    return pattern.fullmatch(name) is not None


@lru_cache
def _compiled(matcher: str) -> re.Pattern[str] | None:
    """None for what is no regular expression; it is compared as it stands."""
    try:
        # A name with a line break must not slip through `.*`.
        return re.compile(matcher, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        logger.warning("The matcher %r is no regular expression (%s)", matcher, error)
        return None
