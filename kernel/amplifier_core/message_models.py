"""What travels between a loop and a provider: messages, content blocks, requests, responses.

These are wire models. They keep fields they do not know, so that a provider may send more
than the contract names, and they hold no logic beyond validation.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer

#: Who a block is meant for; None leaves it to the application.
Visibility = Literal["internal", "developer", "user"] | None


def _refuse_float(value: Any) -> Any:
    """Money must not pass through binary floating point."""
    if isinstance(value, float):
        raise ValueError("cost_usd must be Decimal, int or a numeric string, not float")
    return value


#: US dollars, dumped as text in every mode. None means unknown; zero means free.
Cost = Annotated[
    Decimal | None,
    BeforeValidator(_refuse_float),
    PlainSerializer(str, return_type=str, when_used="unless-none"),
]


class LazyModel(BaseModel, defer_build=True):
    """Base of the kernel's models: a validator is built when the first instance is.

    Most processes use few of the models, and building all of them doubles the import time.
    """


class _WireModel(LazyModel, extra="allow"):
    """Keeps the fields it does not know."""


class TextBlock(_WireModel):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    visibility: Visibility = None


class ThinkingBlock(_WireModel):
    """What the model thought before it answered."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    #: The vendor's proof of origin; must go back unchanged on the next turn.
    signature: str | None = None
    visibility: Visibility = None
    #: Reasoning state of vendors that keep it on the client, to be sent back as is.
    content: list[Any] | None = None


class RedactedThinkingBlock(_WireModel):
    """Thinking that the vendor encrypted; must go back unchanged on the next turn."""

    type: Literal["redacted_thinking"] = "redacted_thinking"
    data: str
    visibility: Visibility = None


class ToolCallBlock(_WireModel):
    """The model asks for a tool to be run."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: dict[str, Any]
    visibility: Visibility = None


class ToolResultBlock(_WireModel):
    """What a tool answered to the call of the same id."""

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    output: Any
    visibility: Visibility = None


class ImageBlock(_WireModel):
    """A picture; `source` says where its bytes are, in the shape the provider expects."""

    type: Literal["image"] = "image"
    source: dict[str, Any]
    visibility: Visibility = None


class ReasoningBlock(_WireModel):
    """Reasoning items of vendors that return a full text and a summary side by side."""

    type: Literal["reasoning"] = "reasoning"
    content: list[Any]
    summary: list[Any]
    visibility: Visibility = None


_Thought = ThinkingBlock | RedactedThinkingBlock | ReasoningBlock
#: Any content block, told apart by its `type`.
ContentBlockUnion = Annotated[
    TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock | _Thought,
    Field(discriminator="type"),
]


class Message(_WireModel):
    """One entry of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "function", "tool"]
    content: str | list[ContentBlockUnion]
    name: str | None = None
    #: On a `tool` message: the call that it answers.
    tool_call_id: str | None = None
    metadata: dict[str, Any] | None = None


class ToolSpec(_WireModel):
    """A tool as the model sees it; `parameters` is a JSON Schema."""

    name: str
    parameters: dict[str, Any]
    description: str | None = None


class ResponseFormatText(LazyModel):
    """Free text."""

    type: Literal["text"] = "text"


class ResponseFormatJson(LazyModel):
    """Any valid JSON."""

    type: Literal["json"] = "json"


class ResponseFormatJsonSchema(LazyModel):
    """JSON that satisfies a schema."""

    type: Literal["json_schema"] = "json_schema"
    #: Read as `json_schema`; written as `schema` when dumped by alias.
    json_schema: dict[str, Any] = Field(serialization_alias="schema")
    strict: bool | None = None


#: The shape the answer should have.
ResponseFormat = ResponseFormatText | ResponseFormatJson | ResponseFormatJsonSchema


class ChatRequest(_WireModel):
    """Everything a provider needs for one completion. Unsupported hints are ignored by it."""

    messages: list[Message]
    tools: list[ToolSpec] | None = None
    response_format: ResponseFormat | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    conversation_id: str | None = None
    stream: bool | None = False
    metadata: dict[str, Any] | None = None
    model: str | None = None
    tool_choice: str | dict[str, Any] | None = None
    stop: list[str] | None = None
    reasoning_effort: str | None = None
    #: Seconds the provider may take.
    timeout: float | None = None


class ToolCall(_WireModel):
    """A tool call with its arguments already parsed."""

    id: str
    name: str
    arguments: dict[str, Any]


class Usage(_WireModel):
    """Tokens and money of one completion. `input_tokens` includes tokens read from a cache."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: Cost = None


class Degradation(_WireModel):
    """The provider could not do what was asked and did something near it."""

    requested: str
    actual: str
    reason: str


class ChatResponse(_WireModel):
    """A finished completion."""

    content: list[ContentBlockUnion]
    tool_calls: list[ToolCall] | None = None
    usage: Usage | None = None
    degradation: Degradation | None = None
    finish_reason: str | None = None
    metadata: dict[str, Any] | None = None
