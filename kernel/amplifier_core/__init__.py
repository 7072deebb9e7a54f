"""The kernel of Amplifier: sessions, coordinator, hooks and events, modules, contracts.

Everything public is importable from here. The names of `testing` and the submodules below
are fetched when first used: no session pays for what only tests and validators need.
"""

# ruff: noqa: I001
# fmt: off
from importlib import import_module
from typing import TYPE_CHECKING, Any
from . import capabilities
from .cancellation import CancellationState, CancellationToken
from .content_models import (
    ContentBlock, ContentBlockType, TextContent, ThinkingContent, ToolCallContent,
    ToolResultContent,
)
from .coordinator import ModuleCoordinator
from .hooks import HookRegistry
from .interfaces import (
    ApprovalProvider, ApprovalRequest, ApprovalResponse, ContextManager, HookHandler, Orchestrator,
    Provider, Tool,
)
from .llm_errors import (
    AbortError, AccessDeniedError, AuthenticationError, ConfigurationError, ContentFilterError,
    ContextLengthError, InvalidRequestError, InvalidToolCallError, LLMError, LLMTimeoutError,
    NetworkError, NotFoundError, ProviderUnavailableError, QuotaExceededError, RateLimitError,
    StreamError,
)
from .loader import ModuleLoader, ModuleValidationError
from .message_models import (
    ChatRequest, ChatResponse, Degradation, ImageBlock, Message, ReasoningBlock,
    RedactedThinkingBlock, ResponseFormat, ResponseFormatJson, ResponseFormatJsonSchema,
    ResponseFormatText, TextBlock, ThinkingBlock, ToolCall, ToolCallBlock, ToolResultBlock,
    ToolSpec, Usage,
)
from .models import (
    ConfigField, ContextInjection, HookResult, ModelInfo, ModuleInfo, Pricing, ProviderInfo,
    SessionStatus, ToolResult,
)
from .session import AmplifierSession
from .utils.retry import RetryConfig, classify_error_message, retry_with_backoff

if TYPE_CHECKING:
    from ._engine import (
        RUST_AVAILABLE, RustCancellationToken, RustCoordinator, RustHookRegistry, RustSession,
    )
    from .testing import (
        EventRecorder, MockContextManager, MockCoordinator, MockTool, ScriptedOrchestrator,
        create_test_coordinator, wait_for,
    )

__version__ = "2.1.0"

__all__ = [
    "RUST_AVAILABLE", "AbortError", "AccessDeniedError", "AmplifierSession", "ApprovalProvider",
    "ApprovalRequest", "ApprovalResponse", "AuthenticationError", "CancellationState",
    "CancellationToken", "ChatRequest", "ChatResponse", "ConfigField", "ConfigurationError",
    "ContentBlock", "ContentBlockType", "ContentFilterError", "ContextInjection",
    "ContextLengthError", "ContextManager", "Degradation", "EventRecorder", "HookHandler",
    "HookRegistry", "HookResult", "ImageBlock", "InvalidRequestError", "InvalidToolCallError",
    "LLMError", "LLMTimeoutError", "Message", "MockContextManager", "MockCoordinator", "MockTool",
    "ModelInfo", "ModuleCoordinator", "ModuleInfo", "ModuleLoader", "ModuleValidationError",
    "NetworkError", "NotFoundError", "Orchestrator", "Pricing", "Provider", "ProviderInfo",
    "ProviderUnavailableError", "QuotaExceededError", "RateLimitError", "ReasoningBlock",
    "RedactedThinkingBlock", "ResponseFormat", "ResponseFormatJson", "ResponseFormatJsonSchema",
    "ResponseFormatText", "RetryConfig", "RustCancellationToken", "RustCoordinator",
    "RustHookRegistry", "RustSession", "ScriptedOrchestrator", "SessionStatus", "StreamError",
    "TextBlock", "TextContent", "ThinkingBlock", "ThinkingContent", "Tool", "ToolCall",
    "ToolCallBlock", "ToolCallContent", "ToolResult", "ToolResultBlock", "ToolResultContent",
    "ToolSpec", "Usage", "capabilities", "classify_error_message", "create_test_coordinator",
    "retry_with_backoff", "wait_for",
]
# fmt: on

_LATE_MODULES = ("_engine", "testing")


def __getattr__(name: str) -> Any:
    if name in _LATE_MODULES:
        return import_module(f".{name}", __name__)
    if name in __all__:
        for module in _LATE_MODULES:
            found = getattr(import_module(f".{module}", __name__), name, None)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
