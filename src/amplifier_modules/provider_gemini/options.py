"""The config of `provider-gemini`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from amplifier_modules.providing.options import RemoteSettings

MODULE_ID = "provider-gemini"
MOUNT_NAME = "gemini"
KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class GeminiSettings(RemoteSettings):
    """The common keys and those of this vendor."""

    default_model: str = "gemini-3.7-flash"
    max_output_tokens: int = Field(default=8192, ge=1)
    reasoning_effort: Effort | None = None
    effort: Effort | None = None
    extended_thinking: bool | None = None
    include_thoughts: bool = True
    api_version: str | None = None
    extra_request_params: dict[str, Any] = Field(default_factory=dict)

    @property
    def longest_answer(self) -> int:
        """`max_tokens` is another name for `max_output_tokens`."""
        return self.max_tokens or self.max_output_tokens

    @property
    def usual_effort(self) -> str | None:
        return self.reasoning_effort or self.effort
