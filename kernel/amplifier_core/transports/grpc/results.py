"""Answers of tools, hooks and providers about themselves, both ways over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ..._grpc_gen import amplifier_module_pb2 as pb
from ...models import HookResult, ModelInfo, ProviderInfo, ToolResult
from .messages import tool_content_from_proto, tool_content_to_proto
from .values import from_json, int32, json_object, to_json

_ACTIONS = ("continue", "modify", "deny", "inject_context", "ask_user")
_INJECTION_ROLES = ("system", "user", "assistant")
_LEVELS = ("info", "warning", "error")
_DEFAULTS = ("allow", "deny")
_FIELD_TYPES = {"text": 1, "boolean": 3, "secret": 4, "choice": 1}
_TEXTS = ("reason", "context_injection", "approval_prompt", "user_message", "user_message_source")
_FLAGS = ("ephemeral", "suppress_output", "append_to_last_tool_result")


def _word(words: tuple[str, ...], number: int, default: str) -> str:
    """Enums begin with "unspecified" at zero; the words follow from one."""
    return words[number - 1] if 0 < number <= len(words) else default


# -- hooks ----------------------------------------------------------------------------


def hook_result_to_proto(result: HookResult) -> pb.HookResult:
    injections = [
        pb.ContextInjection(
            content=each.content,
            role=pb.ContextInjectionRole.Name(_INJECTION_ROLES.index(each.role) + 1),
            ephemeral=each.ephemeral,
            append_to_last_tool_result=each.append_to_last_tool_result,
            hook_name=each.hook_name,
            event=each.event,
        )
        for each in result.context_injections
    ]
    role, level = result.context_injection_role, result.user_message_level
    proto = pb.HookResult(
        action=pb.HookAction.Name(_ACTIONS.index(result.action) + 1),
        data_json=to_json(result.data),
        context_injection_role=pb.ContextInjectionRole.Name(_INJECTION_ROLES.index(role) + 1),
        approval_options=result.approval_options or (),
        approval_timeout=result.approval_timeout,
        approval_default=pb.ApprovalDefault.Name(_DEFAULTS.index(result.approval_default) + 1),
        user_message_level=pb.UserMessageLevel.Name(_LEVELS.index(level) + 1),
        context_injections=injections,
    )
    for name in (*_TEXTS, *_FLAGS):
        if value := getattr(result, name):
            setattr(proto, name, value)
    return proto


def hook_result_from_proto(proto: pb.HookResult) -> HookResult:
    fields: dict[str, Any] = {
        "action": _word(_ACTIONS, proto.action, "continue"),
        "context_injection_role": _word(_INJECTION_ROLES, proto.context_injection_role, "system"),
        "approval_default": _word(_DEFAULTS, proto.approval_default, "deny"),
        "user_message_level": _word(_LEVELS, proto.user_message_level, "info"),
        "context_injections": [_injection(each) for each in proto.context_injections],
        **{name: getattr(proto, name) or None for name in _TEXTS},
        **{name: getattr(proto, name) for name in _FLAGS},
    }
    if proto.data_json:
        fields["data"] = json_object(proto.data_json, "the data of a hook")
    if proto.approval_options:
        fields["approval_options"] = list(proto.approval_options)
    if proto.HasField("approval_timeout"):
        fields["approval_timeout"] = proto.approval_timeout
    return HookResult(**fields)


def _injection(proto: pb.ContextInjection) -> dict[str, Any]:
    return {
        "content": proto.content,
        "role": _word(_INJECTION_ROLES, proto.role, "system"),
        "ephemeral": proto.ephemeral,
        "append_to_last_tool_result": proto.append_to_last_tool_result,
        "hook_name": proto.hook_name or "unknown",
        "event": proto.event,
    }


# -- tools ----------------------------------------------------------------------------


def tool_result_to_proto(result: ToolResult) -> pb.ToolResult:
    return pb.ToolResult(
        success=result.success,
        output_json=to_json(result.output),
        error_json=to_json(result.error),
        content_blocks=tool_content_to_proto(result.content),
    )


def tool_result_from_proto(proto: pb.ToolResult) -> ToolResult:
    error = from_json(proto.error_json, "the error of a tool")
    return ToolResult(
        success=proto.success,
        output=from_json(proto.output_json, "the output of a tool"),
        error=error if error is None or isinstance(error, dict) else {"message": str(error)},
        content=tool_content_from_proto(proto.content_blocks),
    )


# -- providers ------------------------------------------------------------------------


def model_to_proto(model: ModelInfo) -> pb.ModelInfo:
    return pb.ModelInfo(
        id=model.id,
        display_name=model.display_name,
        context_window=int32(model.context_window),
        max_output_tokens=int32(model.max_output_tokens),
        capabilities=model.capabilities,
        defaults_json=to_json(model.defaults),
        pricing_json=to_json(model.pricing),
    )


def model_from_proto(proto: pb.ModelInfo) -> ModelInfo:
    fields = {
        "id": proto.id,
        "display_name": proto.display_name or proto.id,
        "context_window": proto.context_window,
        "max_output_tokens": proto.max_output_tokens,
        "capabilities": list(proto.capabilities),
        "defaults": json_object(proto.defaults_json, "the defaults of a model"),
    }
    pricing = json_object(proto.pricing_json, "the pricing of a model")
    try:
        return ModelInfo.model_validate({**fields, "pricing": pricing or None})
    except ValidationError:
        return ModelInfo.model_validate(fields)


def provider_to_proto(info: ProviderInfo) -> pb.ProviderInfo:
    return pb.ProviderInfo(
        id=info.id,
        display_name=info.display_name,
        credential_env_vars=info.credential_env_vars,
        capabilities=info.capabilities,
        defaults_json=to_json(info.defaults),
        config_fields=[
            pb.ConfigField(
                id=each.id,
                display_name=each.display_name,
                field_type=pb.ConfigFieldType.Name(_FIELD_TYPES[each.field_type]),
                prompt=each.prompt,
                env_var=each.env_var or "",
                choices=each.choices or (),
                required=each.required,
                default_value=each.default or "",
                show_when=each.show_when or {},
                requires_model=each.requires_model,
            )
            for each in info.config_fields
        ],
    )


def provider_from_proto(proto: pb.ProviderInfo) -> ProviderInfo:
    fields = {
        "id": proto.id,
        "display_name": proto.display_name or proto.id,
        "credential_env_vars": list(proto.credential_env_vars),
        "capabilities": list(proto.capabilities),
        "defaults": json_object(proto.defaults_json, "the defaults of a provider"),
        "config_fields": [_config_field(each) for each in proto.config_fields],
    }
    return ProviderInfo.model_validate(fields)


def _config_field(proto: pb.ConfigField) -> dict[str, Any]:
    kinds = {pb.CONFIG_FIELD_TYPE_BOOLEAN: "boolean", pb.CONFIG_FIELD_TYPE_SECRET: "secret"}
    return {
        "id": proto.id,
        "display_name": proto.display_name or proto.id,
        "field_type": kinds.get(proto.field_type) or ("choice" if proto.choices else "text"),
        "prompt": proto.prompt,
        "env_var": proto.env_var or None,
        "choices": list(proto.choices) or None,
        "required": proto.required,
        "default": proto.default_value or None,
        "show_when": dict(proto.show_when) or None,
        "requires_model": proto.requires_model,
    }
