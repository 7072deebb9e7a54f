"""What `amplifier_core` offers by name. A change here is a change for every third-party module."""

import amplifier_core

PUBLIC_NAMES = """
AmplifierSession ModuleCoordinator HookRegistry CancellationToken CancellationState
ModuleLoader ModuleValidationError

capabilities

ToolResult HookResult ContextInjection ConfigField ModelInfo ModuleInfo Pricing
ProviderInfo SessionStatus

Orchestrator Provider Tool ContextManager HookHandler
ApprovalProvider ApprovalRequest ApprovalResponse

ChatRequest ChatResponse Message TextBlock ThinkingBlock RedactedThinkingBlock
ToolCallBlock ToolResultBlock ImageBlock ReasoningBlock ToolCall ToolSpec Usage Degradation
ResponseFormat ResponseFormatText ResponseFormatJson ResponseFormatJsonSchema

LLMError RateLimitError AuthenticationError ContextLengthError ContentFilterError
InvalidRequestError ProviderUnavailableError LLMTimeoutError AccessDeniedError NetworkError
QuotaExceededError NotFoundError StreamError AbortError InvalidToolCallError
ConfigurationError

ContentBlock ContentBlockType TextContent ThinkingContent ToolCallContent ToolResultContent

MockCoordinator MockTool MockContextManager EventRecorder ScriptedOrchestrator
create_test_coordinator wait_for

RetryConfig retry_with_backoff classify_error_message

RUST_AVAILABLE RustSession RustHookRegistry RustCancellationToken RustCoordinator
"""


def test_the_public_names_are_exactly_the_pinned_ones() -> None:
    names = set(PUBLIC_NAMES.split())

    assert len(names) >= 61
    assert set(amplifier_core.__all__) - {"__version__"} == names


def test_no_public_name_is_listed_twice() -> None:
    assert len(amplifier_core.__all__) == len(set(amplifier_core.__all__))


def test_every_public_name_resolves() -> None:
    missing = object()

    assert not [n for n in amplifier_core.__all__ if getattr(amplifier_core, n, missing) is missing]
