"""Content as it appears in events and streams: plain dataclasses, cheap to make.

`message_models` has the validated models for requests and responses.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class ContentBlockType(str, Enum):  # noqa: UP042 (StrEnum would change what str() prints)
    """The kinds of content a stream is made of."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


@dataclass
class ContentBlock:
    """A piece of content; `raw` keeps what the vendor sent and is never dumped."""

    type: ContentBlockType
    raw: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without `raw`."""
        shown = {**vars(self), "type": self.type.value}
        del shown["raw"]
        return shown


@dataclass
class TextContent(ContentBlock):
    """Text for the user."""

    type: ContentBlockType = ContentBlockType.TEXT
    text: str = ""


@dataclass
class ThinkingContent(ContentBlock):
    """What the model thinks on the way."""

    type: ContentBlockType = ContentBlockType.THINKING
    text: str = ""


@dataclass
class ToolCallContent(ContentBlock):
    """The model calls a tool."""

    type: ContentBlockType = ContentBlockType.TOOL_CALL
    id: str = ""
    name: str = ""
    arguments: dict[str, Any] | None = None


@dataclass
class ToolResultContent(ContentBlock):
    """A tool's answer to the call of that id."""

    type: ContentBlockType = ContentBlockType.TOOL_RESULT
    tool_call_id: str = ""
    output: Any = None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        shown = super().to_dict()
        if not self.error:
            del shown["error"]
        return shown
