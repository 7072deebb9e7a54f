"""Every canonical event: its name, who emits it, when, and what it carries.

This table is the one source for the constants, `ALL_EVENTS`, `spec/events.json` and the
documentation. Readers must treat every field as optional. Modules may emit further events
and announce their names on the contribution channel `observability.events`.
"""

# ruff: noqa: E501 - a table, one row a line

from typing import Literal, NamedTuple

Emitter = Literal["kernel", "orchestrator", "provider", "context", "hook", "any"]


class EventInfo(NamedTuple):
    """What is known about one event."""

    name: str
    emitter: Emitter
    fields: tuple[str, ...]
    when: str


#: What the kernel adds to the fields of any event that somebody listens to.
every_event_fields = ("session_id", "parent_id", "timestamp")

#: All canonical events by name, in their canonical order.
catalog: dict[str, EventInfo] = {}


def _event(name: str, emitter: Emitter, fields: str, when: str) -> str:
    catalog[name] = EventInfo(name, emitter, tuple(fields.split()), when)
    return name


# fmt: off
SESSION_START = _event("session:start", "kernel", "session_id parent_id metadata", "the first turn of a new session begins")
SESSION_END = _event("session:end", "kernel", "session_id status", "a session is cleaned up, before its modules are")
SESSION_FORK = _event("session:fork", "kernel", "parent session_id child_id metadata raw", "a child session is ready")
SESSION_RESUME = _event("session:resume", "kernel", "session_id parent_id metadata", "the first turn of a resumed session begins")
PROMPT_SUBMIT = _event("prompt:submit", "orchestrator", "prompt", "a prompt arrived; deny ends the turn")
PROMPT_COMPLETE = _event("prompt:complete", "orchestrator", "response response_preview length", "the answer to a prompt is final")
PLAN_START = _event("plan:start", "orchestrator", "", "planning begins")
PLAN_END = _event("plan:end", "orchestrator", "plan", "a plan is made")
PROVIDER_REQUEST = _event("provider:request", "orchestrator", "provider iteration max_reached", "a provider is about to be asked; injections join this request")
PROVIDER_RESPONSE = _event("provider:response", "orchestrator", "provider usage tool_calls", "a provider answered")
PROVIDER_RETRY = _event("provider:retry", "provider", "provider attempt max_retries delay error_type error_message retry_after request_id", "a failed call will be tried again after the delay")
PROVIDER_ERROR = _event("provider:error", "provider", "provider error retryable status_code request_id", "a call failed for good")
PROVIDER_THROTTLE = _event("provider:throttle", "provider", "provider dimension remaining limit delay request_id", "a provider waits to stay within a rate limit")
PROVIDER_TOOL_SEQUENCE_REPAIRED = _event("provider:tool_sequence_repaired", "provider", "provider repairs", "missing tool results were filled in before a request")
PROVIDER_RESOLVE = _event("provider:resolve", "orchestrator", "provider_id model", "provider and model were chosen")
LLM_REQUEST = _event("llm:request", "provider", "provider model message_count raw request_id", "a request goes to the vendor")
LLM_RESPONSE = _event("llm:response", "provider", "provider model status usage duration_ms error raw request_id", "the vendor answered or failed")
CONTENT_BLOCK_START = _event("content_block:start", "orchestrator", "block_type block_index total_blocks metadata", "a block of the answer begins")
CONTENT_BLOCK_DELTA = _event("content_block:delta", "orchestrator", "block_type block_index delta", "a piece of a block arrived")
CONTENT_BLOCK_END = _event("content_block:end", "orchestrator", "block_index total_blocks block usage", "a block is complete; the last one carries the usage")
THINKING_DELTA = _event("thinking:delta", "orchestrator", "delta", "a piece of thinking arrived")
THINKING_FINAL = _event("thinking:final", "orchestrator", "text", "thinking is complete")
TOOL_PRE = _event("tool:pre", "orchestrator", "tool_name tool_input tool_call_id parallel_group_id", "a tool is about to run; may be denied, modified or put to the user")
TOOL_POST = _event("tool:post", "orchestrator", "tool_name tool_input tool_call_id parallel_group_id result", "a tool answered; a modified result replaces the answer")
TOOL_ERROR = _event("tool:error", "orchestrator", "tool_name tool_input tool_call_id parallel_group_id error result", "a tool raised, or no such tool is mounted; with a `result`, its tool:post follows")
CONTEXT_PRE_COMPACT = _event("context:pre_compact", "context", "message_count token_count threshold", "history is about to be shortened for a request")
CONTEXT_POST_COMPACT = _event("context:post_compact", "context", "message_count token_count method", "history was shortened for a request")
CONTEXT_COMPACTION = _event("context:compaction", "context", "before_tokens after_tokens before_messages after_messages messages_removed messages_truncated user_messages_stubbed system_messages_preserved strategy_level budget target_tokens protected_recent protected_tool_results", "statistics of a compaction")
CONTEXT_INCLUDE = _event("context:include", "any", "path size", "a file was taken into the context")
ORCHESTRATOR_COMPLETE = _event("orchestrator:complete", "orchestrator", "orchestrator turn_count status", "a turn is over: success, incomplete or cancelled")
EXECUTION_START = _event("execution:start", "orchestrator", "prompt", "the loop begins a turn")
EXECUTION_END = _event("execution:end", "orchestrator", "response status", "the loop left a turn on any path: completed, cancelled or error")
USER_NOTIFICATION = _event("user:notification", "any", "level message source", "the user should be told something")
ARTIFACT_WRITE = _event("artifact:write", "any", "path size", "a file was produced")
ARTIFACT_READ = _event("artifact:read", "any", "path", "a produced file was read")
POLICY_VIOLATION = _event("policy:violation", "hook", "policy details", "a rule was broken")
APPROVAL_REQUIRED = _event("approval:required", "hook", "tool_name action risk_level", "a decision is asked for")
APPROVAL_GRANTED = _event("approval:granted", "hook", "tool_name reason", "a decision was yes")
APPROVAL_DENIED = _event("approval:denied", "hook", "tool_name reason", "a decision was no")
CANCEL_REQUESTED = _event("cancel:requested", "orchestrator", "orchestrator state turn_count", "the loop noticed that it should stop")
CANCEL_COMPLETED = _event("cancel:completed", "kernel", "was_immediate error orchestrator turn_count", "a cancelled turn has ended")
MODULE_ON_SESSION_READY_FAILED = _event("module:on_session_ready_failed", "kernel", "module_id error", "a module failed after everything was mounted; the session goes on")
MODULE_LOAD_FAILED = _event("module:load_failed", "kernel", "module_type module_id instance_id error reason_code", "a provider, tool or hook was left out; the session goes on")
# fmt: on

ALL_EVENTS: list[str] = list(catalog)

__all__ = [*(name for name in globals() if name.isupper())]
