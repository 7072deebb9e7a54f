"""What modules hand to the kernel and back: tool results, hook results, descriptions, status.

The messages that travel to a model are in `message_models`. Nothing here does work of its
own beyond checking and presenting the values it holds.
"""

import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import BaseModel, Field, field_serializer, field_validator, model_serializer

from .message_models import Cost, ImageBlock, LazyModel, TextBlock

_UNSAFE_FOR_LLM = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_IMAGE_MEDIA_TYPE = re.compile(r"image/[A-Za-z0-9!#$&^_.+-]+")
_IMAGE_NOTICE = "[image left out of this event]"


def _json_default(value: Any) -> str:
    """Let `json.dumps` write a Decimal as text and refuse everything else it does not know."""
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _sanitize_for_llm(text: str) -> str:
    """Drop control characters and lone surrogates, which model APIs refuse or misread."""
    return _UNSAFE_FOR_LLM.sub("", text)


def _plain_content(content: Any) -> list[dict[str, Any]] | None:
    """Reduce tool content to checked plain blocks. Nothing but the checked keys survives."""
    if content is None:
        return None
    if not isinstance(content, list | tuple):
        raise ValueError("invalid tool result content")
    return [_plain_block(block) for block in content] or None


def _plain_block(block: Any) -> dict[str, Any]:
    if isinstance(block, BaseModel):
        block = block.model_dump(exclude_none=True)
    match block:
        case {"type": "text", "text": str(text)} if not _LONE_SURROGATE.search(text):
            return {"type": "text", "text": text}
        case {"type": "image"}:
            return {"type": "image", "source": _plain_image_source(block.get("source"))}
    raise ValueError("invalid tool result content")


def _plain_image_source(source: Any) -> dict[str, str]:
    if not (isinstance(source, Mapping) and source.get("type") == "base64"):
        raise ValueError("invalid tool result image source")
    media_type, data = source.get("media_type"), source.get("data")
    if not (isinstance(media_type, str) and _IMAGE_MEDIA_TYPE.fullmatch(media_type)):
        raise ValueError("invalid tool result image media type")
    if not (isinstance(data, str) and _is_canonical_base64(data)):
        raise ValueError("invalid tool result image data")
    return {"type": "base64", "media_type": media_type, "data": data}


def _is_canonical_base64(data: str) -> bool:
    """Only one spelling of the bytes is accepted, so that equal images compare equal."""
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return bool(decoded) and binascii.b2a_base64(decoded, newline=False) == data.encode()


class ToolResult(LazyModel, hide_input_in_errors=True, validate_assignment=True):
    """What a tool answers. A failure that the model can deal with is a result as well."""

    success: bool = True
    #: What the model reads; filled from the error's `message` if a failure gives none.
    output: Any | None = None
    #: `message`, and usually `type`.
    error: dict[str, Any] | None = None
    #: Text and inline base64 images for models that can see.
    content: list[TextBlock | ImageBlock] | None = None

    _check_content = field_validator("content", mode="before")(_plain_content)
    _dump_content = field_serializer("content")(_plain_content)

    @model_serializer(mode="wrap")
    def _omit_empty_content(self, dump: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value or name != "content"}

    def model_post_init(self, context: Any, /) -> None:
        """Give a failure without output its error message as output."""
        if not self.success and self.output is None and (self.error or {}).get("message"):
            self.output = self._error_message()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy, with `update` validated like constructor arguments."""
        copied = super().model_copy(deep=deep)
        values = {name: value for name, value in copied if name in copied.model_fields_set}
        return type(self).model_validate({**values, **(update or {})})

    def __str__(self) -> str:
        if self.success:
            return str(self.output) if self.output else "Success"
        return f"Error: {self._error_message()}" if self.error else "Failed"

    def get_serialized_output(self) -> str:
        """The text that goes to the model: JSON for dicts and lists, safe characters only."""
        output = self.output
        if output is None:
            if self.success:
                return "Success"
            return f"Error: {self._error_message() if self.error else 'Failed'}"
        if isinstance(output, (dict, list)):
            output = json.dumps(output, default=_json_default)
        return _sanitize_for_llm(str(output))

    def safe_hook_presentation(self) -> dict[str, Any]:
        """A dict for events, with a notice in place of each image's bytes."""
        shown = {name: getattr(self, name) for name in ("success", "output", "error")}
        content = _plain_content(self.content)
        if content:
            notice = {"type": "text", "text": _IMAGE_NOTICE}
            shown["content"] = [b if b["type"] == "text" else dict(notice) for b in content]
        return shown

    def _error_message(self) -> Any:
        return (self.error or {}).get("message", "Unknown error")


class ContextInjection(LazyModel, revalidate_instances="always"):
    """One text that a hook wants the model to read."""

    content: str
    role: Literal["system", "user", "assistant"] = "system"
    #: Only for the next request; never stored in the context.
    ephemeral: bool = False
    append_to_last_tool_result: bool = False
    hook_name: str = "unknown"
    event: str = ""


class UserMessage(LazyModel, revalidate_instances="always"):
    """One line that a hook wants the user to read."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    source: str | None = None


class HookResult(LazyModel):
    """What a hook answers to an event."""

    action: Literal["continue", "deny", "modify", "inject_context", "ask_user"] = "continue"
    #: With `modify`: the event's data from here on.
    data: dict[str, Any] | None = None
    reason: str | None = None
    context_injection: str | None = None
    context_injection_role: Literal["system", "user", "assistant"] = "system"
    ephemeral: bool = False
    approval_prompt: str | None = None
    #: None offers Allow and Deny.
    approval_options: list[str] | None = None
    #: Seconds until `approval_default` is taken.
    approval_timeout: float = 300.0
    approval_default: Literal["allow", "deny"] = "deny"
    suppress_output: bool = False
    user_message: str | None = None
    user_message_level: Literal["info", "warning", "error"] = "info"
    user_message_source: str | None = None
    append_to_last_tool_result: bool = False
    #: Every injection of an event in order; the single fields above show them merged.
    context_injections: list[ContextInjection] = Field(default_factory=list)
    #: What other handlers of the event told the user, beside this result. Never dumped.
    user_messages: list[UserMessage] = Field(default_factory=list, exclude=True, repr=False)

    if not TYPE_CHECKING:

        def __init__(self, /, **given: Any) -> None:
            # The answers that hooks give all day long are valid at a glance.
            action, data = given.get("action", "continue"), given.get("data")
            if (
                self.__class__ is HookResult
                and given.keys() <= _BRIEF_FIELDS
                and action in _ACTIONS
                and (data is None or data.__class__ is dict)
                and all([key.__class__ is str for key in data or ()])  # noqa: C419 - quicker
            ):
                _fill(self, action, None if data is None else data.copy(), set(given))
            else:
                super().__init__(**given)

        __init__.__pydantic_base_init__ = True


_ACTIONS = get_args(HookResult.model_fields["action"].annotation)
_BRIEF_FIELDS = {"action", "data"}
_DEFAULTS = HookResult.model_construct().__dict__
# In the order in which pydantic declares them.
_set_values, _set_fields_set, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__ for slot in BaseModel.__slots__
)


def _fill(result: HookResult, action: str, data: Any, fields_set: set[str]) -> None:
    """What validation would do to a new result that has nothing but defaults beside these."""
    values = _DEFAULTS.copy()
    values["action"], values["data"] = action, data
    values["context_injections"], values["user_messages"] = [], []
    _set_values(result, values)
    _set_fields_set(result, fields_set)
    _set_extra(result, None)
    _set_private(result, None)


def _continue_with(data: dict[str, Any] | None) -> HookResult:
    """`HookResult(action="continue", data=data)` that holds `data` itself; events end in it."""
    result = object.__new__(HookResult)
    _fill(result, "continue", data, {"action", "data"})
    return result


class Pricing(LazyModel):
    """What a model costs per million tokens."""

    input_per_million: float
    output_per_million: float
    cache_read_per_million: float | None = None
    cache_write_per_million: float | None = None
    currency: str = "USD"

    @field_validator("currency")
    @classmethod
    def _check_currency(cls, currency: str) -> str:
        if not re.fullmatch("[A-Z]{3}", currency):
            raise ValueError("currency must be an ISO 4217 code: three upper-case letters")
        return currency


class _Named(LazyModel):
    id: str
    display_name: str


class ModelInfo(_Named):
    """One model that a provider offers."""

    context_window: int
    max_output_tokens: int
    #: Names from `capabilities`, or a provider's own.
    capabilities: list[str] = Field(default_factory=list)
    defaults: dict[str, Any] = Field(default_factory=dict)
    #: None when unknown, and for models that run locally.
    pricing: Pricing | None = None


class ConfigField(_Named):
    """One question that a setup dialogue asks for a provider."""

    field_type: Literal["text", "secret", "choice", "boolean"] = "text"
    prompt: str
    env_var: str | None = None
    choices: list[str] | None = None
    required: bool = True
    default: str | None = None
    #: Ask only if these fields have these answers.
    show_when: dict[str, str] | None = None
    #: Ask only after a model was chosen.
    requires_model: bool = False


class ProviderInfo(_Named):
    """A provider and what it needs; `defaults` should tell the size of the context window."""

    credential_env_vars: list[str] = Field(default_factory=list)
    capabilities: list[str] = Field(default_factory=list)
    defaults: dict[str, Any] = Field(default_factory=dict)
    config_fields: list[ConfigField] = Field(default_factory=list)


class ModuleInfo(LazyModel):
    """A module that discovery found."""

    id: str
    name: str
    version: str
    type: Literal["orchestrator", "provider", "tool", "context", "hook", "resolver"]
    mount_point: str
    description: str
    config_schema: dict[str, Any] | None = None


class SessionStatus(LazyModel):
    """How a session is doing. The counters belong to whoever runs the session."""

    session_id: str
    started_at: datetime = Field(default_factory=datetime.now)
    ended_at: datetime | None = None
    status: Literal["running", "completed", "failed", "cancelled"] = "running"
    total_messages: int = 0
    tool_invocations: int = 0
    tool_successes: int = 0
    tool_failures: int = 0
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    cost_usd: Cost = None
    last_activity: datetime | None = None
    last_error: dict[str, Any] | None = None
    #: Modules that could not be mounted; the session goes on without them.
    failed_modules: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)
