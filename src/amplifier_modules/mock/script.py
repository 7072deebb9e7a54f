"""The config of the mock: canned replies, or a script of steps to be played in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

from amplifier_core import llm_errors
from amplifier_core.message_models import TextBlock, ThinkingBlock, Usage
from pydantic import Field, field_validator, model_validator

from amplifier_modules.settings import Settings

MODULE_ID = "provider-mock"
DEFAULT_RESPONSES = (
    "This is a canned reply. No model was asked.",
    "A canned reply again. Give `responses` or a `script` to choose your own.",
    "Still canned. The replies go round in a circle.",
)

Seconds = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0)]

_WORDS = re.compile(r"\s*\S+\s*|\s+")


class ScriptedCall(Settings):
    """A tool call that the model is to make."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None
    """None takes the next of `call_1`, `call_2` and so on."""


class ScriptedUsage(Settings):
    """The tokens that a reply claims to have cost."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0


class ScriptedError(Settings):
    """A failure that the call is to end in: the name of a kernel error and its data."""

    type: str = "LLMError"
    message: str = "A scripted failure."
    retry_after: float | None = None
    retryable: bool | None = None
    status_code: int | None = None
    delay_multiplier: float | None = None

    @field_validator("type")
    @classmethod
    def _is_a_kernel_error(cls, name: str) -> str:
        kind = getattr(llm_errors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, llm_errors.LLMError)):
            raise ValueError(f"{name!r} is no error of amplifier_core.llm_errors")
        return name

    def build(self, provider: str, model: str) -> llm_errors.LLMError:
        """A fresh exception: one that is raised twice would collect tracebacks."""
        kind: type[llm_errors.LLMError] = getattr(llm_errors, self.type)
        data = self.model_dump(exclude={"type", "message"}, exclude_none=True)
        late = {} if issubclass(kind, llm_errors.InvalidToolCallError) else data
        error = kind(self.message, provider=provider, model=model, **late)
        for name, value in data.items():
            setattr(error, name, value)
        return error


class Step(Settings):
    """One reply. Everything is optional; an empty step is an empty reply."""

    text: str = ""
    thinking: str = ""
    tool_calls: list[ScriptedCall] = Field(default_factory=list)
    error: ScriptedError | None = None
    """Raised after everything else of the step was streamed."""
    delay: Seconds = 0
    """Before the first word."""
    chunk_delay: Seconds = 0
    """After every streamed chunk."""
    stream: list[str] | None = None
    """The text, cut as it shall be streamed; None cuts it into words."""
    usage: ScriptedUsage | None = None
    finish_reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _text_of_the_stream(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and isinstance(values.get("stream"), list):
            streamed = "".join(str(chunk) for chunk in values["stream"])
            if values.get("text", streamed) != streamed:
                raise ValueError("`text` differs from `stream` put together; give one of them")
            return {**values, "text": streamed}
        return values

    @property
    def is_streamed(self) -> bool:
        """Whether even `complete` announces the pieces of this reply."""
        return self.stream is not None

    # Built once: a reply in a benchmark must cost next to nothing.

    @cached_property
    def chunks(self) -> list[str]:
        return [each for each in self.stream or _WORDS.findall(self.text) if each]

    @cached_property
    def blocks(self) -> list[TextBlock | ThinkingBlock]:
        """What comes before the tool calls."""
        thought = [ThinkingBlock(thinking=self.thinking)] if self.thinking else []
        return [*thought, *([TextBlock(text=self.text)] if self.text else [])]

    @cached_property
    def words(self) -> int:
        return len(self.text.split())

    def usage_for(self, messages: int) -> Usage:
        """Without a scripted usage: a token for each message in, and for each word out."""
        if self.usage is None:
            return _usage(messages, self.words)
        return _usage(self.usage.input_tokens, self.usage.output_tokens)

    def __str__(self) -> str:
        parts = [f"calls {each.name!r}" for each in self.tool_calls]
        if self.text:
            parts.insert(0, f"says {self.text[:40]!r}")
        if self.error is not None:
            parts.append(f"raises {self.error.type}")
        return " and ".join(parts) or "says nothing"


@lru_cache(maxsize=1024)
def _usage(into: int, out: int) -> Usage:
    return Usage(input_tokens=into, output_tokens=out, total_tokens=into + out)


class MockSettings(Settings):
    """Settings of provider-mock, as written under `config:` in a mount plan."""

    responses: list[str] = Field(default=list(DEFAULT_RESPONSES), min_length=1)
    legacy_read_call: bool = True
    """Answer a message that contains "read" with a call of a tool named `read`."""
    script: list[dict[str, Any]] | None = None
    on_exhausted: Literal["error", "repeat", "last"] = "error"
    """After the last step: fail, begin again, or stay with the last one."""
    default_model: str = "mock-model"
    context_window: Annotated[int, Field(gt=0)] = 200_000
    max_tokens: Annotated[int, Field(gt=0)] = 8_192
    priority: int = 100
    debug: bool = False
    raw_debug: bool = False

    def steps(self) -> list[Step] | None:
        """The script, checked; None without one.

        Raises:
            ValueError: a step cannot be understood; the message names it.
        """
        if self.script is None:
            return None
        named = enumerate(self.script, start=1)
        return [Step.read(each, f"{MODULE_ID}, script step {number}") for number, each in named]
