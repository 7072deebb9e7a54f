"""The config keys that every provider of a remote model has."""

from __future__ import annotations

from pathlib import Path

from amplifier_core.utils.retry import RetryConfig
from pydantic import Field, SecretStr

from amplifier_modules.providing.prices import Price
from amplifier_modules.settings import Settings


class RemoteSettings(Settings):
    """Subclasses add their own keys, and other defaults where a vendor needs them."""

    api_key: SecretStr | None = None
    api_key_file: Path | None = None
    base_url: str | None = None
    default_model: str
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=0.7, ge=0)
    timeout: float = Field(default=600.0, gt=0)
    connect_timeout: float = Field(default=10.0, gt=0)
    first_byte_timeout: float = Field(default=300.0, gt=0)
    idle_timeout: float = Field(default=120.0, gt=0)
    close_timeout: float = Field(default=5.0, gt=0)
    priority: int = 100
    raw: bool = False
    use_streaming: bool = True
    filtered: bool = True
    max_retries: int = Field(default=5, ge=0)
    min_retry_delay: float = Field(default=1.0, ge=0)
    max_retry_delay: float = Field(default=60.0, ge=0)
    retry_jitter: bool | float = True
    overloaded_delay_multiplier: float = Field(default=10.0, gt=0)
    max_concurrent_requests: int = Field(default=5, ge=0)
    pricing: dict[str, Price] = Field(default_factory=dict)

    def retries(self) -> RetryConfig:
        return RetryConfig(
            max_retries=self.max_retries,
            initial_delay=self.min_retry_delay,
            max_delay=self.max_retry_delay,
            jitter=bool(self.retry_jitter),
        )
