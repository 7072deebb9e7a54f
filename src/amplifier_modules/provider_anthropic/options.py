"""The config of `provider-anthropic`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from amplifier_modules.providing.options import RemoteSettings

MODULE_ID = "provider-anthropic"
MOUNT_NAME = "anthropic"
KEY_VARIABLES = ("ANTHROPIC_API_KEY",)
URL_VARIABLE = "ANTHROPIC_BASE_URL"

Effort = Literal["low", "medium", "high", "xhigh", "max"]


class AnthropicSettings(RemoteSettings):
    """The common keys and those of this vendor."""

    default_model: str = "claude-sonnet-5-5"
    reasoning_effort: Effort | None = None
    effort: Effort | None = None
    extended_thinking: bool | None = None
    thinking_budget_tokens: int | None = Field(default=None, ge=1)
    thinking_budget_buffer: int = Field(default=8192, ge=1)
    thinking_type: Literal["adaptive", "enabled"] = "adaptive"
    thinking_display: Literal["summarized", "omitted"] = "summarized"
    enable_prompt_caching: bool = True
    cache_infer_stability_from_history: bool = True
    cache_stable_region_ttl_1h: bool = False
    enable_1m_context: bool = False
    beta_headers: str | list[str] | None = None
    fallback_on_overload: bool = False
    fallback_retry_count: int = Field(default=2, ge=1)
    fallback_cooldown_seconds: float = Field(default=300.0, ge=0)
    fallback_models: list[str] | None = None
    persist_fallback_state: bool = False
    refusal_fallback_enabled: bool = True
    extra_request_params: dict[str, Any] = Field(default_factory=dict)

    @property
    def usual_effort(self) -> str | None:
        return self.reasoning_effort or self.effort

    def betas(self) -> str:
        """The value of the `anthropic-beta` header."""
        given = self.beta_headers or []
        return given if isinstance(given, str) else ",".join(given)
