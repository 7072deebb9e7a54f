"""The configs of the OpenAI family."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SecretStr

from amplifier_modules.providing.options import RemoteSettings

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Switch = Literal["auto"] | bool


class ResponsesSettings(RemoteSettings):
    """What every provider on the Responses API can be told."""

    max_tokens: int | None = Field(default=4096, ge=1)
    reasoning: Effort | None = None
    reasoning_summary: Literal["auto", "concise", "detailed", "none"] = "detailed"
    truncation: Literal["auto", "disabled"] | None = None
    enable_state: bool = False
    enable_response_chaining: Switch = "auto"
    prompt_cache_key: str = ""
    prompt_cache_retention: Literal["in_memory", "24h"] | None = "24h"
    poll_interval: float = Field(default=5.0, ge=0)
    background_timeout: float = Field(default=1800.0, gt=0)
    extra_request_params: dict[str, Any] = Field(default_factory=dict)


class OpenAISettings(ResponsesSettings):
    """`provider-openai`."""

    default_model: str = "gpt-5.5"
    enable_long_context: bool = False


class AzureSettings(ResponsesSettings):
    """`provider-azure-openai`."""

    default_model: str = "gpt-5.4"
    enable_long_context: bool = False
    azure_endpoint: str | None = None
    api_version: str | None = None
    azure_ad_token: SecretStr | None = None
    use_managed_identity: bool | None = None
    managed_identity_client_id: str | None = None
    use_default_credential: bool | None = None
    deployment_mapping: dict[str, str] = Field(default_factory=dict)
    default_deployment: str | None = None
    deployment_type: str = "standard"


class VllmSettings(ResponsesSettings):
    """`provider-vllm`."""

    default_model: str = "openai/gpt-oss-20b"
    timeout: float = Field(default=300.0, gt=0)
    truncation: Literal["auto", "disabled"] | None = "auto"
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    context_window: int = Field(default=131_072, ge=1)


class ChatSettings(RemoteSettings):
    """`provider-chat-completions`."""

    default_model: str = "default"
    timeout: float = Field(default=300.0, gt=0)
    max_retries: int = Field(default=3, ge=0)
    max_retry_delay: float = Field(default=30.0, ge=0)
    context_window: int = Field(default=131_072, ge=1)
    reasoning_effort: Effort | None = None
    top_p: float | None = Field(default=None, ge=0, le=1)
    stop: str | list[str] | None = None
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    extra_request_params: dict[str, Any] = Field(default_factory=dict)
