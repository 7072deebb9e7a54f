"""What callers ask for in many ways, read into one."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from amplifier_core.message_models import ChatRequest, ResponseFormatJsonSchema


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its bytes in base64, or else with an address."""

    media: str
    data: str | None = None
    url: str | None = None


def read_picture(source: Mapping[str, Any]) -> Picture:
    """The source of an image block, in the words of any vendor."""
    url = source.get("url") or source.get("file_uri") or source.get("file_id")
    media = source.get("media_type") or source.get("mime_type")
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        return Picture(head.partition(";")[0] or "image/png", data)
    if isinstance(url, str):
        guessed = mimetypes.guess_type(url.partition("?")[0])[0]
        return Picture(str(media or guessed or "image/png"), url=url)
    return Picture(str(media or "image/png"), str(source.get("data") or ""))


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether tools may, must or must not be called, and which one if it is to be that one."""

    mode: Literal["auto", "none", "required"]
    name: str | None = None


def read_choice(asked: str | Mapping[str, Any] | None) -> Choice | None:
    """A request's `tool_choice`; any other text than the usual words is the name of a tool."""
    if asked is None:
        return None
    if isinstance(asked, str):
        return _CHOICES.get(asked) or Choice("required", asked)
    function = asked.get("function")
    name = function.get("name") if isinstance(function, Mapping) else asked.get("name")
    if isinstance(name, str):
        return Choice("required", name)
    return _CHOICES.get(str(asked.get("type")))


_CHOICES = {
    "auto": Choice("auto"),
    "none": Choice("none"),
    "required": Choice("required"),
    "any": Choice("required"),
}


def read_schema(request: ChatRequest) -> dict[str, Any] | None:
    """The schema that the answer is to have, without the wrapper in which some callers put it."""
    wanted = request.response_format
    if not isinstance(wanted, ResponseFormatJsonSchema):
        return None
    inner = wanted.json_schema.get("schema")
    return inner if isinstance(inner, dict) else wanted.json_schema
