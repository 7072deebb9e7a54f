"""What the model may do in its next reply, as a JSON schema that the engine enforces.

A small model does not keep to a format that it is merely told. With the schema, every tool
call is valid JSON with the right arguments, whatever the model had in mind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import (
    ChatRequest,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ToolSpec,
)

from .options import MOUNT_NAME, LocalSettings

TOOL, ARGUMENTS, ANSWER = "tool", "arguments", "answer"

_ANY_JSON: dict[str, Any] = {}
_ANY_OBJECT = {"type": "object"}
_LONGEST_TEXT = 200
_LONGEST_LIST = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """The tools on offer, and whether the model may answer in words instead."""

    tools: tuple[ToolSpec, ...]
    may_answer: bool
    answer_schema: dict[str, Any] | None = None
    """None for plain text."""
    is_bounded: bool = False
    """Limit the length of arguments, for a model that does not know when to stop."""

    @property
    def is_constrained(self) -> bool:
        return bool(self.tools) or self.answer_schema is not None

    def response_format(self, *, loosely: bool = False) -> dict[str, Any] | None:
        """What to ask of the engine; `loosely` leaves the arguments of tools open."""
        schema = self._schema(loosely) if self.tools else self.answer_schema
        if schema is None:
            return None
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}

    def _schema(self, loosely: bool) -> dict[str, Any]:
        definitions = {
            f"{TOOL}{number}": _ANY_OBJECT if loosely else self._parameters(tool, number)
            for number, tool in enumerate(self.tools)
        }
        options = [
            _object({TOOL: {"const": tool.name}, ARGUMENTS: {"$ref": f"#/$defs/{TOOL}{number}"}})
            for number, tool in enumerate(self.tools)
        ]
        if self.may_answer:
            options.append(_object({ANSWER: self._answer()}))
        return {"$defs": definitions, "anyOf": options}

    def _parameters(self, tool: ToolSpec, number: int) -> Any:
        moved = _moved(tool.parameters, number)
        return _bounded(moved) if self.is_bounded else moved

    def _answer(self) -> dict[str, Any]:
        plain = {"type": "string", "minLength": 1}
        return plain if self.answer_schema is None else self.answer_schema


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _moved(schema: Any, number: int) -> Any:
    """A tool's schema with its references pointing to where it now stands."""
    if isinstance(schema, dict):
        return {
            key: f"#/$defs/{TOOL}{number}{value[1:]}"
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else _moved(value, number)
            for key, value in schema.items()
        }
    return [_moved(each, number) for each in schema] if isinstance(schema, list) else schema


def _bounded(schema: Any) -> Any:
    """`schema` with a limit for every text and list that has none."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {key: _bounded(value) for key, value in schema.items()}
    if schema.get("type") == "string" and not schema.keys() & {
        "enum",
        "const",
        "pattern",
        "format",
    }:
        bounded.setdefault("maxLength", _LONGEST_TEXT)
    if schema.get("type") == "array":
        bounded.setdefault("maxItems", _LONGEST_LIST)
    return bounded


def choose(request: ChatRequest, settings: LocalSettings) -> Choice:
    """What `request` leaves to the model.

    Raises:
        InvalidRequestError: a call is demanded of a tool that is not there.
    """
    answer = _answer_schema(request)
    wanted = _wanted(request, settings)
    tools = tuple(request.tools or ())
    if wanted == "none":
        return Choice((), True, answer)
    if wanted == "auto":
        may_call = _results_in_a_row(request) < settings.round_limit()
        return Choice(tools if may_call else (), True, answer, settings.is_demo)
    named = tools if wanted == "required" else tuple(t for t in tools if t.name == wanted)
    if not named:
        what = "a tool" if wanted == "required" else f"the tool {wanted!r}"
        raise InvalidRequestError(
            f"The model is to call {what}, and the request offers none. "
            f"Change `tool_choice`, or mount the tool.",
            provider=MOUNT_NAME,
        )
    return Choice(named, False, is_bounded=settings.is_demo)


def _wanted(request: ChatRequest, settings: LocalSettings) -> str:
    """`auto`, `none`, `required`, or the name of a tool."""
    asked = request.tool_choice or (request.metadata or {}).get("tool_choice")
    if not asked:
        # A call that only the config demands is demanded once, or the turn would never end.
        may_demand = bool(request.tools) and not _results_in_a_row(request)
        asked = settings.tool_choice if may_demand else "auto"
    if isinstance(asked, dict):
        function = asked.get("function")
        named = function.get("name") if isinstance(function, dict) else asked.get("name")
        asked = named or asked.get("type")
    return "required" if asked == "any" else str(asked)


def _results_in_a_row(request: ChatRequest) -> int:
    """Tool results since a person last spoke."""
    results = 0
    for message in reversed(request.messages):
        if message.role == "user":
            break
        results += message.role == "tool"
    return results


def _answer_schema(request: ChatRequest) -> dict[str, Any] | None:
    match request.response_format:
        case ResponseFormatJson():
            return _ANY_JSON
        case ResponseFormatJsonSchema(json_schema=given):
            inner = given.get("schema")
            return inner if isinstance(inner, dict) else given
        case _:
            return None
