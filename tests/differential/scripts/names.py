"""What can be imported, and how it is called."""

import importlib
import inspect
from typing import Any

import amplifier_core
from facts import Facts

NATIVE = {
    "AmplifierSession": "initialize execute cleanup session_id parent_id config coordinator "
    "is_resumed initialized __aenter__ __aexit__",
    "ModuleCoordinator": "mount unmount get register_capability get_capability "
    "register_contributor collect_contributions register_cleanup cleanup process_hook_result "
    "request_cancel reset_turn to_dict hooks cancellation mount_points channels session_state "
    "loader approval_system display_system injection_budget_per_turn injection_size_limit "
    "session session_id parent_id config",
    "HookRegistry": "register on unregister list_handlers set_default_fields emit emit_and_collect",
    "CancellationToken": "state is_cancelled is_graceful is_immediate request_graceful "
    "request_immediate request_cancellation reset register_tool_start register_tool_complete "
    "running_tools running_tool_names register_child unregister_child on_cancel trigger_callbacks",
}


def _public(module: str) -> list[str]:
    return sorted(importlib.import_module(f"amplifier_core.{module}").__all__)


def _missing(module: str, names: str) -> list[str]:
    found = importlib.import_module(f"amplifier_core.{module}")
    return [name for name in names.split() if not hasattr(found, name)]


def _parameters(call: Any) -> list[list[Any]]:
    """Name, kind and default of each parameter; the order of keywords means nothing."""
    parameters = inspect.signature(call).parameters.values()
    ordered = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    keywords = sorted((each for each in parameters if each not in ordered), key=lambda p: p.name)
    return [
        [each.name, each.kind.name, None if each.default is each.empty else repr(each.default)]
        for each in [*ordered, *keywords]
    ]


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__mro__ if base.__module__ != "builtins"]
        known = {"BaseModel", "Enum", "Protocol"} & set(bases)
        exception = "exception" if issubclass(value, BaseException) else "class"
        return ", ".join([exception, *sorted(known)])
    return "union" if "Union" in type(value).__name__ else type(value).__name__


def top_level_names() -> Facts:
    return {"all": sorted(amplifier_core.__all__)}


def every_top_level_name_resolves_to_the_same_kind_of_thing() -> Facts:
    return {name: _kind(getattr(amplifier_core, name)) for name in amplifier_core.__all__}


def submodules_that_import_core_brings_along() -> Facts:
    names = "cancellation content_models coordinator interfaces llm_errors loader message_models"
    names += " models testing utils _engine"
    return {name: inspect.ismodule(getattr(amplifier_core, name, None)) for name in names.split()}


def names_of_submodules() -> Facts:
    modules = "cancellation capabilities coordinator correlation events hooks utils validation"
    return {module: _public(module) for module in modules.split()}


def names_without_a_list_of_their_own() -> Facts:
    return {
        module: _missing(module, names)
        for module, names in {
            "approval": "ApprovalSystem ApprovalTimeoutError",
            "display": "DisplaySystem",
            "content_models": "ContentBlock ContentBlockType TextContent ThinkingContent "
            "ToolCallContent ToolResultContent",
            "interfaces": "Orchestrator Provider Tool ContextManager HookHandler ApprovalProvider "
            "ApprovalRequest ApprovalResponse",
            "loader": "ModuleLoader ModuleValidationError TYPE_TO_MOUNT_POINT "
            "MODULE_FAILURE_REASONS module_failure_reason",
            "message_models": "ContentBlockUnion ChatRequest ChatResponse Message ResponseFormat",
            "models": "ToolResult HookResult ContextInjection Pricing SessionStatus",
            "module_sources": "ModuleSource ModuleSourceResolver FileSystemModuleSource "
            "ModuleNotFoundError ModuleLoadError",
            "session": "AmplifierSession ModuleLoader ModuleCoordinator SessionStatus "
            "initialize_session redact_secrets",
            "utils.retry": "RetryConfig retry_with_backoff classify_error_message",
            "utils.truncate": "truncate_values redact_secrets SENSITIVE_KEYS",
            "validation.base": "ValidationCheck ValidationResult check_on_session_ready "
            "import_module_from_path",
            "validation.proto_schema": "validate_tool_result validate_hook_result",
        }.items()
    }


def internal_names_that_tools_reach_for() -> Facts:
    return {
        module: _missing(module, names)
        for module, names in {
            "_session_init": "initialize_session _safe_exception_str",
            "_session_exec": "run_orchestrator emit_raw_field_if_configured",
            "_engine": "RustSession RustHookRegistry RustCancellationToken RustCoordinator "
            "RUST_AVAILABLE ALL_EVENTS __version__",
        }.items()
    }


def modules_that_are_not_offered() -> Facts:
    def importable(name: str) -> bool:
        try:
            importlib.import_module(f"amplifier_core.{name}")
        except ImportError:
            return False
        return True

    names = "_hooks_bridge _rust_wrappers _collect_helper _async_compat"
    return {name: importable(name) for name in names.split()}


def identity_of_aliases() -> Facts:
    from amplifier_core import _engine, cancellation, coordinator, events, hooks, models, session

    return {
        "session": amplifier_core.AmplifierSession is _engine.RustSession,
        "hooks": hooks.HookRegistry is _engine.RustHookRegistry is amplifier_core.HookRegistry,
        "token": cancellation.CancellationToken is _engine.RustCancellationToken,
        "coordinator": coordinator.ModuleCoordinator is amplifier_core.ModuleCoordinator,
        "hook result": hooks.HookResult is models.HookResult is amplifier_core.HookResult,
        "events": events.ALL_EVENTS is _engine.ALL_EVENTS,
        "one session class": session.AmplifierSession is amplifier_core.AmplifierSession,
    }


def identity_of_native_classes() -> Facts:
    return {
        "rust": amplifier_core.RUST_AVAILABLE,
        **{name: getattr(amplifier_core, name).__name__ for name in NATIVE},
    }


def version() -> Facts:
    parts = amplifier_core.__version__.split(".")
    return {"number": amplifier_core.__version__, "major": parts[0], "parts": len(parts)}


def members_of_native_classes() -> Facts:
    plan = {"session": {"orchestrator": "loop", "context": "memory"}}
    made = {
        "AmplifierSession": amplifier_core.AmplifierSession(plan),
        "ModuleCoordinator": amplifier_core.ModuleCoordinator(),
        "HookRegistry": amplifier_core.HookRegistry(),
        "CancellationToken": amplifier_core.CancellationToken(),
    }
    return {
        name: [each for each in members.split() if not hasattr(made[name], each)]
        for name, members in NATIVE.items()
    }


def signatures_of_functions() -> Facts:
    from amplifier_core import correlation, loader, testing
    from amplifier_core.utils import redact_secrets, truncate_values

    functions = {
        "retry_with_backoff": amplifier_core.retry_with_backoff,
        "classify_error_message": amplifier_core.classify_error_message,
        "create_test_coordinator": testing.create_test_coordinator,
        "wait_for": testing.wait_for,
        "truncate_values": truncate_values,
        "resolve_request_id": correlation.resolve_request_id,
        "new_request_id": correlation.new_request_id,
        "module_failure_reason": loader.module_failure_reason,
    }
    facts = {name: _parameters(call) for name, call in functions.items()}
    return {**facts, "redact_secrets": [each[:2] for each in _parameters(redact_secrets)]}


def signatures_of_native_methods() -> Facts:
    """Names of parameters only: a compiled class tells no more."""
    methods = {
        "AmplifierSession": "execute",
        "ModuleCoordinator": "mount unmount get register_capability get_capability "
        "register_contributor collect_contributions process_hook_result request_cancel "
        "register_cleanup",
        "HookRegistry": "emit emit_and_collect unregister list_handlers",
        "CancellationToken": "register_tool_start register_tool_complete register_child "
        "unregister_child on_cancel",
    }
    return {
        f"{owner}.{name}": list(
            inspect.signature(getattr(getattr(amplifier_core, owner), name)).parameters
        )
        for owner, names in methods.items()
        for name in names.split()
    }


def signatures_of_internal_functions() -> Facts:
    from amplifier_core import _session_exec, _session_init, module_sources
    from amplifier_core.approval import ApprovalSystem
    from amplifier_core.display import DisplaySystem
    from amplifier_core.validation import base, proto_schema

    functions = {
        "initialize_session": _session_init.initialize_session,
        "run_orchestrator": _session_exec.run_orchestrator,
        "emit_raw_field_if_configured": _session_exec.emit_raw_field_if_configured,
        "check_on_session_ready": base.check_on_session_ready,
        "import_module_from_path": base.import_module_from_path,
        "validate_tool_result": proto_schema.validate_tool_result,
        "validate_hook_result": proto_schema.validate_hook_result,
        "request_approval": ApprovalSystem.request_approval,
        "show_message": DisplaySystem.show_message,
        "resolve": module_sources.ModuleSourceResolver.resolve,
        "FileSystemModuleSource": module_sources.FileSystemModuleSource,
    }
    return {name: [each[:2] for each in _parameters(call)] for name, call in functions.items()}


def signature_of_a_session() -> Facts:
    return {"parameters": list(inspect.signature(amplifier_core.AmplifierSession).parameters)}


def signatures_of_loader_methods() -> Facts:
    loader = amplifier_core.ModuleLoader
    names = "__init__ discover load initialize cleanup enqueue_on_session_ready"
    names += " get_on_session_ready_queue clear_on_session_ready_queue"
    return {name: _parameters(getattr(loader, name)) for name in names.split()}


def signatures_of_validators() -> Facts:
    from amplifier_core import validation

    kinds = "Provider Tool Hook Orchestrator Context"
    return {
        "mount plan": _parameters(validation.MountPlanValidator.validate),
        **{k: _parameters(getattr(validation, f"{k}Validator").validate) for k in kinds.split()},
    }


def signatures_of_testing_helpers() -> Facts:
    names = "MockTool MockContextManager EventRecorder ScriptedOrchestrator"
    return {name: _parameters(getattr(amplifier_core, name)) for name in names.split()}


def signatures_of_errors() -> Facts:
    return {
        name: [each[:2] for each in _parameters(getattr(amplifier_core, name))]
        for name in amplifier_core.__all__
        if name.endswith("Error") and name != "ModuleValidationError"
    }


def members_of_protocols() -> Facts:
    names = "Orchestrator Provider Tool ContextManager HookHandler ApprovalProvider"
    return {
        name: sorted(
            member
            for member in vars(getattr(amplifier_core, name))
            if not member.startswith("_") or member == "__call__"
        )
        for name in names.split()
    }


def signatures_of_protocols() -> Facts:
    def shape(call: Any) -> list[Any]:
        return [[name, kind] for name, kind, _ in _parameters(call)]

    return {
        "orchestrator": shape(amplifier_core.Orchestrator.execute),
        "complete": shape(amplifier_core.Provider.complete),
        "list_models": shape(amplifier_core.Provider.list_models),
        "parse_tool_calls": shape(amplifier_core.Provider.parse_tool_calls),
        "tool": shape(amplifier_core.Tool.execute),
        "for_request": shape(amplifier_core.ContextManager.get_messages_for_request),
        "add_message": shape(amplifier_core.ContextManager.add_message),
        "hook": shape(amplifier_core.HookHandler.__call__),
        "approval": shape(amplifier_core.ApprovalProvider.request_approval),
    }


def protocols_refuse_isinstance() -> Facts:
    def checkable(protocol: Any) -> bool:
        try:
            isinstance(object(), protocol)
        except TypeError:
            return False
        return True

    names = "Orchestrator Provider Tool ContextManager HookHandler ApprovalProvider"
    return {name: checkable(getattr(amplifier_core, name)) for name in names.split()}


def event_constants() -> Facts:
    from amplifier_core import events

    return {
        "all": events.ALL_EVENTS,
        "type": type(events.ALL_EVENTS).__name__,
        "constants": {name: getattr(events, name) for name in dir(events) if name.isupper()},
    }


def capability_constants() -> Facts:
    from amplifier_core import capabilities

    return {
        "all": capabilities.ALL_WELL_KNOWN_CAPABILITIES,
        "constants": {
            name: getattr(capabilities, name) for name in dir(capabilities) if name.isupper()
        },
    }


def constants_on_the_hook_registry() -> Facts:
    registry = amplifier_core.HookRegistry
    return {name: getattr(registry, name) for name in dir(registry) if name.isupper()}


def cancellation_states() -> Facts:
    states = amplifier_core.CancellationState
    return {state.name: state.value for state in states}


def names_of_the_engine_alias() -> Facts:
    from amplifier_core import _engine

    names = sorted(_engine.__all__)
    return {
        "constants": [name for name in names if name.isupper()],
        "functions and classes": [name for name in names if not name.isupper()],
        "aliases": [
            _engine.RustCoordinator is amplifier_core.ModuleCoordinator,
            _engine.RustHookRegistry is amplifier_core.HookRegistry,
        ],
    }
