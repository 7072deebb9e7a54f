"""The config of `provider-ollama`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from amplifier_modules.providing.options import RemoteSettings

MODULE_ID = "provider-ollama"
MOUNT_NAME = "ollama"
HOST_VARIABLE = "OLLAMA_HOST"
KEY_VARIABLE = "OLLAMA_API_KEY"
USUAL_HOST = "http://localhost:11434"


class OllamaSettings(RemoteSettings):
    """The common keys and those of this vendor."""

    default_model: str = "llama3.2:3b"
    max_tokens: int | None = Field(default=4096, ge=1)
    timeout: float = Field(default=300.0, gt=0)
    auto_pull: bool = False
    pull_timeout: float = Field(default=3600.0, gt=0)
    num_ctx: int = Field(default=0, ge=0)
    enable_thinking: bool = True
    keep_alive: float | str | None = None
    extra_request_params: dict[str, Any] = Field(default_factory=dict)
