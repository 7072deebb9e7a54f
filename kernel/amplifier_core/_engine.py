"""Names under which older code looks for a compiled engine. There is none: this is Python.

One file of aliases, kept so that importers of `amplifier_core._engine` go on working.
"""

from __future__ import annotations

from typing import Any

from . import __version__, capabilities, events
from .cancellation import CancellationToken as RustCancellationToken
from .capabilities import *  # noqa: F403
from .coordinator import ModuleCoordinator as RustCoordinator
from .events import *  # noqa: F403
from .hooks import HookRegistry as RustHookRegistry
from .hooks import Unregister as RustUnregisterFn
from .models import ToolResult
from .session import AmplifierSession as RustSession
from .utils.retry import RetryConfig, compute_delay

RUST_AVAILABLE = False

__all__ = [
    "RUST_AVAILABLE",
    "ProviderError",
    "RetryConfig",
    "RustCancellationToken",
    "RustCoordinator",
    "RustHookRegistry",
    "RustSession",
    "RustUnregisterFn",
    "__version__",
    "_normalize_tool_result_content",
    "_tool_result_safe_hook_presentation",
    "classify_error_message",
    "compute_delay",
    *events.__all__,
    *capabilities.__all__,
]

_ERROR_WORDS = (
    ("context_length", ("context length", "too many tokens", "maximum context")),
    ("context_length", ("token limit", "too long")),
    ("rate_limit", ("rate limit", "too many requests", "rate_limit", "429")),
    ("timeout", ("timeout", "timed out")),
    ("authentication", ("authentication", "api key", "unauthorized", "401")),
    ("content_filter", ("content filter", "safety", "blocked")),
    ("not_found", ("not found", "404")),
    ("provider_unavailable", ("overloaded", "503", "502", "unavailable")),
)


def classify_error_message(message: str) -> str:
    """The kind of provider error that `message` speaks of, as a word."""
    lowered = message.lower()
    for kind, words in _ERROR_WORDS:
        if any(word in lowered for word in words):
            return kind
    return "unknown"


def _normalize_tool_result_content(content: Any) -> Any:
    return ToolResult(content=content).model_dump().get("content")


def _tool_result_safe_hook_presentation(result: ToolResult) -> dict[str, Any]:
    return result.safe_hook_presentation()


class ProviderError:
    """A provider's failure as a value; not an exception. See `llm_errors` for those."""

    message: str
    provider: str | None
    model: str | None
    retry_after: float | None
    delay_multiplier: float | None
    retryable: bool
    error_type: str

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        retry_after: float | None = None,
        delay_multiplier: float | None = None,
        retryable: bool = False,
        error_type: str = "Other",
    ) -> None:
        values = {
            "message": message,
            "provider": provider,
            "model": model,
            "retry_after": retry_after,
            "delay_multiplier": delay_multiplier,
            "retryable": retryable,
            "error_type": error_type,
        }
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name!r} of a ProviderError cannot be changed.")

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        parts = [f'"{self.message}"']
        parts += [
            f'{key}="{value}"' for key in ("provider", "model") if (value := getattr(self, key))
        ]
        for key in ("retry_after", "delay_multiplier"):
            if (number := getattr(self, key)) is not None:
                parts.append(f"{key}={number:g}")
        if self.retryable:
            parts.append("retryable=True")
        return f"ProviderError({', '.join(parts)})"
