"""The data models one by one: fields, defaults, schema, round trips, what they refuse."""

from typing import Any

import amplifier_core
from amplifier_core import message_models
from facts import Facts, outcome, refusals
from pydantic import BaseModel


def _bare(schema: Any) -> Any:
    """A JSON schema without the words in it, and with alternatives in one order."""
    if isinstance(schema, dict):
        schema = {
            key: sorted(value, key=str) if key in ("anyOf", "oneOf") else value
            for key, value in schema.items()
        }
        return {
            key: {name: _bare(item) for name, item in value.items()}
            if key in ("properties", "$defs")
            else _bare(value)
            for key, value in schema.items()
            if key not in ("title", "description", "examples")
        }
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema


def _defaults(model: type[BaseModel]) -> Facts:
    return {
        name: "required" if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
    }


def _assigned(made: BaseModel) -> Any:
    first = next(iter(type(made).model_fields))
    copy = made.model_copy(deep=True)
    return refusals(lambda: setattr(copy, first, object()))


def _model(name: str, good: Facts, /, **bad: Any) -> Facts:
    """Everything about a model; `bad` gives values to refuse, by field."""
    model: Any = getattr(amplifier_core, name)
    made = model.model_validate(good)
    dumped = made.model_dump()
    return {
        "defaults": _defaults(model),
        "schema": _bare(model.model_json_schema()),
        "dump": dumped,
        "json": made.model_dump(mode="json"),
        "without none": made.model_dump(exclude_none=True),
        "unset left out": made.model_dump(exclude_unset=True),
        "round trip": model.model_validate(dumped) == made,
        "json round trip": model.model_validate_json(made.model_dump_json()) == made,
        "by keyword": model(**good) == made,
        "nothing given": refusals(lambda: model()),
        "extra": model.model_validate({**good, "surprise": 1})
        .model_dump()
        .get("surprise", "dropped"),
        "extra attribute": outcome(lambda: model.model_validate({**good, "surprise": 1}).surprise),
        "assignment": _assigned(made),
        "positional": outcome(lambda: model(*good.values())),
        "refused": {
            field: refusals(
                lambda field=field, value=value: model.model_validate({**good, field: value})
            )
            for field, value in bad.items()
        },
    }


def tool_result() -> Facts:
    return _model("ToolResult", {"output": "x"}, success="maybe", error="text", content="text")


def hook_result() -> Facts:
    return _model(
        "HookResult",
        {"action": "deny", "reason": "no"},
        action="explode",
        data="text",
        reason=5,
        context_injection_role="tool",
        approval_options="Allow",
        approval_timeout="soon",
        approval_default="ask",
        user_message_level="loud",
        context_injections=[{"role": "user"}],
    )


def context_injection() -> Facts:
    return _model("ContextInjection", {"content": "x"}, content=5, role="tool", ephemeral="so so")


def config_field() -> Facts:
    good = {"id": "key", "display_name": "Key", "prompt": "Your key?"}
    return _model("ConfigField", good, field_type="colour", show_when={"a": 1}, default=5)


def model_info() -> Facts:
    good = {"id": "m", "display_name": "M", "context_window": 10, "max_output_tokens": 5}
    return _model("ModelInfo", good, context_window="many", capabilities="tools", pricing=1)


def module_info() -> Facts:
    good = {"id": "tool-x", "name": "X", "version": "1", "type": "tool", "mount_point": "tools"}
    good["description"] = "An X."
    return _model("ModuleInfo", good, type="gadget", version=1, config_schema="none")


def pricing() -> Facts:
    good = {"input_per_million": 1, "output_per_million": 2.5}
    return _model("Pricing", good, currency="euro", input_per_million="cheap")


def provider_info() -> Facts:
    good = {"id": "p", "display_name": "P"}
    return _model("ProviderInfo", good, credential_env_vars="KEY", config_fields=[{"id": "x"}])


def session_status() -> Facts:
    good = {"session_id": "s", "started_at": "2030-01-01T00:00:00"}
    facts = _model("SessionStatus", good, status="asleep", total_messages="many", cost_usd=0.5)
    facts["schema"].pop("required", None)
    facts["defaults"].pop("started_at")
    return facts


def approval_request() -> Facts:
    good = {"tool_name": "bash", "action": "run", "risk_level": "high"}
    return _model("ApprovalRequest", good, timeout=0, details="all", risk_level=3)


def approval_response() -> Facts:
    return _model("ApprovalResponse", {"approved": True}, approved="perhaps", reason=5)


def text_block() -> Facts:
    return _model("TextBlock", {"text": "hi"}, text=5, type="image", visibility="nobody")


def thinking_block() -> Facts:
    return _model("ThinkingBlock", {"thinking": "hm"}, thinking=None, signature=5, content="x")


def redacted_thinking_block() -> Facts:
    return _model("RedactedThinkingBlock", {"data": "xx"}, data=b"\xff", type="thinking")


def tool_call_block() -> Facts:
    return _model("ToolCallBlock", {"id": "1", "name": "t", "input": {}}, input="{}", name=None)


def tool_result_block() -> Facts:
    return _model("ToolResultBlock", {"tool_call_id": "1", "output": None}, tool_call_id=1)


def image_block() -> Facts:
    return _model("ImageBlock", {"source": {"type": "url"}}, source="url", type="picture")


def reasoning_block() -> Facts:
    return _model("ReasoningBlock", {"content": [], "summary": []}, content="x", summary=None)


def message() -> Facts:
    return _model("Message", {"role": "user", "content": "hi"}, role="boss", content=None, name=5)


def tool_spec() -> Facts:
    return _model("ToolSpec", {"name": "t", "parameters": {}}, parameters="none", description=5)


def response_format_text() -> Facts:
    return _model("ResponseFormatText", {}, type="json")


def response_format_json() -> Facts:
    return _model("ResponseFormatJson", {"type": "json"}, type="text")


def response_format_json_schema() -> Facts:
    good = {"type": "json_schema", "json_schema": {"a": 1}}
    facts = _model("ResponseFormatJsonSchema", good, json_schema="x", strict="maybe")
    made = amplifier_core.ResponseFormatJsonSchema.model_validate(good)
    return {**facts, "by alias": made.model_dump(by_alias=True)}


def chat_request() -> Facts:
    return _model(
        "ChatRequest",
        {"messages": [{"role": "user", "content": "hi"}]},
        messages="hi",
        tools=[{"name": "t"}],
        temperature="hot",
        stop="now",
        tool_choice=5,
        response_format={"type": "xml"},
    )


def tool_call() -> Facts:
    return _model("ToolCall", {"id": "1", "name": "t", "arguments": {}}, arguments="{}", id=1)


def usage() -> Facts:
    good = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    return _model("Usage", good, input_tokens="few", cost_usd=0.1, reasoning_tokens=1.5)


def degradation() -> Facts:
    return _model("Degradation", {"requested": "a", "actual": "b", "reason": "c"}, reason=None)


def chat_response() -> Facts:
    good = {"content": [{"type": "text", "text": "hi"}]}
    return _model("ChatResponse", good, content="hi", tool_calls=[{"id": "1"}], usage={})


def models_can_be_copied_and_compared() -> Facts:
    first = amplifier_core.HookResult(action="deny", data={"a": [1]})
    deep, shallow = first.model_copy(deep=True), first.model_copy(update={"reason": "x"})
    return {
        "equal": deep == first,
        "deep": deep.data is first.data,
        "shallow": shallow.data is first.data,
        "update": shallow.reason,
        "hashable": outcome(lambda: hash(first)),
    }


def models_can_be_subclassed() -> Facts:
    class Special(amplifier_core.ChatResponse):
        text: str = ""

    class Warm(amplifier_core.HookResult):
        warmth: int = 1

    special = Special(content=[], text="hi")
    return {
        "special": special.model_dump(),
        "warm": Warm().warmth,
        "fields": list(Warm.model_fields)[-1],
    }


def models_can_be_constructed_without_validation() -> Facts:
    made = amplifier_core.HookResult.model_construct(action="odd")
    return {"action": made.action, "level": made.user_message_level, "set": made.model_fields_set}


def content_blocks_are_told_apart_by_type() -> Facts:
    def block(data: Any) -> Any:
        return refusals(
            lambda: type(amplifier_core.ChatResponse(content=[data]).content[0]).__name__
        )

    return {
        "text": block({"type": "text", "text": "x"}),
        "thinking": block({"type": "thinking", "thinking": "x"}),
        "redacted": block({"type": "redacted_thinking", "data": "x"}),
        "call": block({"type": "tool_call", "id": "1", "name": "n", "input": {}}),
        "result": block({"type": "tool_result", "tool_call_id": "1", "output": 1}),
        "image": block({"type": "image", "source": {}}),
        "reasoning": block({"type": "reasoning", "content": [], "summary": []}),
        "unknown": block({"type": "video"}),
        "untyped": block({"text": "x"}),
        "incomplete": block({"type": "text"}),
        "names": message_models.ContentBlockUnion is not None,
    }


def messages_keep_what_they_do_not_know() -> Facts:
    made = amplifier_core.Message(
        role="assistant",
        content=[{"type": "text", "text": "x", "cache": True}],
        tool_calls=[{"id": "1", "tool": "t", "arguments": {}}],
    )
    return {
        "dump": made.model_dump(exclude_none=True),
        "attribute": made.tool_calls,
        "block": made.content[0].cache,
        "json": amplifier_core.Message.model_validate_json(made.model_dump_json()) == made,
        "extra": made.model_extra,
    }


def response_format_is_found_by_type() -> Facts:
    def parsed(data: Any) -> Any:
        request = {"messages": [], "response_format": data}
        made = refusals(lambda: amplifier_core.ChatRequest(**request))
        return made if isinstance(made, list) else type(made.response_format).__name__

    return {
        "text": parsed({"type": "text"}),
        "json": parsed({"type": "json"}),
        "schema": parsed({"type": "json_schema", "json_schema": {}}),
        "by alias": parsed({"type": "json_schema", "schema": {}}),
        "empty": parsed({}),
    }
