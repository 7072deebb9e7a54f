"""What a model passes to the two tools, read with patience but without guessing."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from amplifier_modules.delegation.inheritance import Depth, Scope

ModelT = TypeVar("ModelT", bound="Input")
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

PREFERENCES_SCHEMA: dict[str, Any] = {
    "type": "array",
    "description": "Providers to use, best first; a model may be a glob.",
    "items": {
        "type": "object",
        "properties": {"provider": {"type": "string"}, "model": {"type": "string"}},
        "required": ["provider"],
        "additionalProperties": False,
    },
}


class BadInput(Exception):
    """An input that cannot be used; the text is for the model."""


class ProviderPreference(BaseModel):
    model_config = ConfigDict(extra="forbid")

    provider: Text
    model: Text | None = None


class Input(BaseModel):
    """What both tools take."""

    model_config = ConfigDict(extra="forbid")

    instruction: Text
    agent: Text | None = None
    session_id: Text | None = None
    provider_preferences: list[ProviderPreference] = Field(default_factory=list)

    @classmethod
    def read(cls, input: Any) -> Self:
        """The fields of `input`.

        Raises:
            BadInput: one is wrong or missing.
        """
        if not isinstance(input, Mapping):
            raise BadInput("The input must be an object with an 'instruction'.")
        given = {key: value for key, value in input.items() if not str(key).startswith("_")}
        try:
            read = cls.model_validate(
                {key: each for key, each in given.items() if each is not None}
            )
        except ValidationError as error:
            raise BadInput(_problem(cls, error.errors(include_url=False)[0])) from None
        if (read.agent is None) == (read.session_id is None):
            raise BadInput("Give either 'agent' to begin or 'session_id' to go on, and only one.")
        return read

    @property
    def preferences(self) -> list[dict[str, Any]]:
        return [each.model_dump(exclude_none=True) for each in self.provider_preferences]


class TaskInput(Input):
    """What `task` takes."""

    inherit_context: Depth = "none"
    inherit_context_turns: int = Field(5, ge=1)


class DelegateInput(Input):
    """What `delegate` takes."""

    context_depth: Depth = "recent"
    context_turns: int = Field(5, ge=1)
    context_scope: Scope = "conversation"
    model_role: str | list[str] | None = None


def _problem(model: type[Input], error: Any) -> str:
    key = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{key!r} is missing."
    if error["type"] == "extra_forbidden":
        near = get_close_matches(key, model.model_fields, n=1)
        known = ", ".join(model.model_fields)
        return f"There is no {key!r}. " + (
            f"Did you mean {near[0]!r}?" if near else f"Known: {known}."
        )
    return f"{key!r} is wrong: {error['msg']}."
