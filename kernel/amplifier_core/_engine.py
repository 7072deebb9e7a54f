"""Names under which older code looks for a compiled engine. There is none: this is Python.

One file of aliases, kept so that importers of `amplifier_core._engine` go on working.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from . import __version__, capabilities, events
from .cancellation import CancellationToken as RustCancellationToken
from .capabilities import *  # noqa: F403
from .coordinator import ModuleCoordinator as RustCoordinator
from .events import *  # noqa: F403
from .hooks import HookRegistry as RustHookRegistry
from .hooks import Unregister as RustUnregisterFn
from .models import ToolResult, _plain_content
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

_IN_TRANSPORTS = {
    **dict.fromkeys(("proto_chat_request_to_json", "json_to_proto_chat_response"), ".grpc.chat"),
    "resolve_module": ".describe",
    **dict.fromkeys(("load_and_mount_wasm", "load_wasm_from_path"), ".wasm.engine_names"),
    **{
        f"Wasm{kind}": ".wasm"
        for kind in ("Tool", "Provider", "Hook", "Context", "Orchestrator", "Approval")
    },
}
"""Names that need an extra, and where they are."""


def __getattr__(name: str) -> Any:
    if name not in _IN_TRANSPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f".transports{_IN_TRANSPORTS[name]}", __package__)
    return getattr(home, name)


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


def _normalize_tool_result_content(content: str) -> str | None:
    """Tool content as JSON text, reduced to its checked blocks."""
    blocks = _plain_content(json.loads(content))
    return None if blocks is None else json.dumps(blocks)


def _tool_result_safe_hook_presentation(result: str) -> str:
    """A tool result as JSON text, with a notice in place of each image's bytes."""
    return json.dumps(ToolResult.model_validate_json(result).safe_hook_presentation())


@dataclass(frozen=True, eq=False, repr=False)
class ProviderError:
    """A provider's failure as a value; not an exception. See `llm_errors` for those."""

    message: str
    _: KW_ONLY
    provider: str | None = None
    model: str | None = None
    retry_after: float | None = None
    delay_multiplier: float | None = None
    retryable: bool = False
    error_type: str = "Other"

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        keys = ("provider", "model", "retry_after", "delay_multiplier")
        parts = [
            f"{key}={_shown(getattr(self, key))}" for key in keys if getattr(self, key) is not None
        ]
        if self.retryable:
            parts.append("retryable=True")
        return f"ProviderError({', '.join([_shown(self.message), *parts])})"


def _shown(value: str | float) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).removesuffix(".0")
