"""Writes a request in the words of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from amplifier_core.message_models import (
    ChatRequest,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    ReasoningBlock,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
)

from amplifier_modules.providing.histories import Entry, History

from .models import Facts

OUTPUT = "openai:output"
"""Metadata with a whole answer as it came, if blocks cannot hold all of it."""

Json = dict[str, Any]
Developer = Literal["developer", "user"]
_JSON_PLEASE = "Answer with one valid JSON value and with nothing else."
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def instructions(history: History, request: ChatRequest) -> str:
    texts = [entry.text for entry in history.entries if entry.role == "system"]
    if isinstance(request.response_format, ResponseFormatJson):
        # The vendor insists that the word be said.
        texts.append(_JSON_PLEASE)
    return "\n\n".join(text for text in texts if text.strip())


# -- the conversation ---------------------------------------------------------------------------


def items(history: History, *, developer: Developer, has_thoughts: bool) -> list[list[Json]]:
    """What each entry is for the vendor; `has_thoughts` says whether thoughts can go as text."""
    patches: set[str] = set()
    written = []
    for entry in history.entries:
        match entry.role:
            case "user":
                written.append(_message("user", entry.blocks))
            case "developer" if developer == "developer":
                written.append(_message("developer", entry.blocks))
            case "developer":
                text = f"<context_file>\n{entry.text}\n</context_file>"
                written.append(_message("user", [TextBlock(text=text)]))
            case "assistant":
                written.append(_assistant(entry, has_thoughts=has_thoughts))
                patches |= {
                    each["call_id"] for each in written[-1] if each["type"] == "apply_patch_call"
                }
            case "tool":
                written.append([_result(entry, is_patch=entry.call_id in patches)])
            case "system":
                written.append([])
    return written


def _message(role: str, blocks: Iterable[ContentBlockUnion]) -> list[Json]:
    content = [part for each in blocks if (part := _part(each)) is not None]
    return [{"type": "message", "role": role, "content": content}] if content else []


def _part(block: ContentBlockUnion) -> Json | None:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text} if block.text else None
    if isinstance(block, ImageBlock):
        detail = block.source.get("detail") or "auto"
        return {"type": "input_image", "image_url": image_url(block.source), "detail": detail}
    return None


def image_url(source: Mapping[str, Any]) -> str:
    """A picture's address; other vendors' ways of saying the same are understood."""
    url = source.get("url") or source.get("image_url")
    if isinstance(url, str):
        return url
    media = source.get("media_type") or source.get("mime_type") or "image/png"
    return f"data:{media};base64,{source.get('data', '')}"


def _assistant(entry: Entry, *, has_thoughts: bool) -> list[Json]:
    whole = entry.metadata.get(OUTPUT)
    if isinstance(whole, list) and _call_ids(whole) == [call.id for call in entry.calls]:
        return whole
    written = (_item(each, has_thoughts=has_thoughts) for each in entry.blocks)
    return [item for item in written if item is not None]


def _call_ids(output: Iterable[Json]) -> list[Any]:
    kinds = ("function_call", "apply_patch_call")
    return [each.get("call_id") for each in output if each.get("type") in kinds]


def _item(block: ContentBlockUnion, *, has_thoughts: bool) -> Json | None:
    match block:
        case TextBlock():
            return _said(block) if block.text else None
        case ToolCallBlock():
            arguments = json.dumps(block.input, ensure_ascii=False)
            return {
                "type": "function_call",
                "call_id": block.id,
                "name": block.name,
                "arguments": arguments,
            }
        case ThinkingBlock(signature=None):
            return _thought(block.thinking, block.content, has_thoughts=has_thoughts)
        case ReasoningBlock():
            texts = [str(each.get("text", "")) for each in block.summary if isinstance(each, dict)]
            return _thought("\n\n".join(texts), block.content, has_thoughts=has_thoughts)
    return None


def _said(block: TextBlock) -> Json:
    extra = block.model_extra or {}
    part: Json = {"type": "output_text", "text": block.text, "annotations": []}
    if extra.get("refusal"):
        part = {"type": "refusal", "refusal": block.text}
    phase = {"phase": extra["phase"]} if extra.get("phase") else {}
    return {"type": "message", "role": "assistant", "content": [part], **phase}


def _thought(text: str, state: list[Any] | None, *, has_thoughts: bool) -> Json | None:
    """A thought goes back encrypted as it came, or as text if the vendor takes that."""
    match state:
        case [str(encrypted), str(item_id), *_] if encrypted:
            summary = [{"type": "summary_text", "text": text}] if text else []
            return {
                "type": "reasoning",
                "id": item_id,
                "summary": summary,
                "encrypted_content": encrypted,
            }
        case [_, str(item_id), *_] if has_thoughts and text:
            thought = {"type": "reasoning_text", "text": text}
            return {"type": "reasoning", "id": item_id, "summary": [], "content": [thought]}
    return None


def _result(entry: Entry, *, is_patch: bool) -> Json:
    if is_patch:
        return {
            "type": "apply_patch_call_output",
            "call_id": entry.call_id,
            "status": "failed" if entry.is_error else "completed",
            "output": entry.text,
        }
    output: str | list[Json] = entry.text
    if any(isinstance(each, ImageBlock) for each in entry.blocks):
        output = [part for each in entry.blocks if (part := _part(each)) is not None]
    return {"type": "function_call_output", "call_id": entry.call_id, "output": output}


# -- tools --------------------------------------------------------------------------------------


def is_native(spec: ToolSpec) -> bool:
    """Whether it is one of the vendor's own tools."""
    return (spec.model_extra or {}).get("type") not in (None, "function", "custom")


def tools(specs: Iterable[ToolSpec] | None) -> list[Json]:
    return [_native(spec) if is_native(spec) else _function(spec) for spec in specs or ()]


def _native(spec: ToolSpec) -> Json:
    extra = dict(spec.model_extra or {})
    usual = {"container": {"type": "auto"}} if extra["type"] == "code_interpreter" else {}
    return usual | extra


def _function(spec: ToolSpec) -> Json:
    return {"type": "function", **function(spec)}


def function(spec: ToolSpec) -> Json:
    """A tool of ours. It is not strict by default: strict schemas allow no optional fields."""
    strict = bool((spec.model_extra or {}).get("strict"))
    schema = {"type": "object", "properties": {}, **spec.parameters}
    described = {"description": spec.description} if spec.description else {}
    return {"name": spec.name, "parameters": schema, "strict": strict, **described}


def tool_choice(
    asked: str | Mapping[str, Any] | None, offered: Iterable[Json]
) -> str | Json | None:
    """The choice in the vendor's words."""
    choice = chosen_tool(asked)
    if isinstance(choice, tuple):
        (name,) = choice
        natives = {each["type"] for each in offered} - {"function"}
        return {"type": name} if name in natives else {"type": "function", "name": name}
    return choice


def chosen_tool(asked: str | Mapping[str, Any] | None) -> str | tuple[str] | Json | None:
    """`auto`, `none`, `required`, a tool's name alone in a tuple, or what only the vendor knows."""
    if asked is None:
        return None
    if isinstance(asked, str):
        known = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
        return known.get(asked) or (asked,)
    function = asked.get("function")
    named = function if isinstance(function, Mapping) else asked
    kind = asked.get("type")
    if kind in ("function", "tool", None) and isinstance(named.get("name"), str):
        return (named["name"],)
    if kind in ("auto", "none", "required", "any"):
        return chosen_tool(str(kind))
    return dict(asked)


# -- the rest -------------------------------------------------------------------------------


def json_schema(wanted: ResponseFormatJsonSchema) -> Json:
    """Name, schema and strictness; the schema may come bare or wrapped as OpenAI wraps it."""
    given = wanted.json_schema
    inner = given.get("schema")
    is_wrapped = isinstance(inner, dict)
    form: Json = {
        "name": str(given.get("name") or "answer") if is_wrapped else "answer",
        "schema": inner if is_wrapped else given,
    }
    strict = given.get("strict") if wanted.strict is None and is_wrapped else wanted.strict
    return form if strict is None else form | {"strict": strict}


def text_format(request: ChatRequest) -> Json | None:
    wanted = request.response_format
    if isinstance(wanted, ResponseFormatJsonSchema):
        return {"format": {"type": "json_schema", **json_schema(wanted)}}
    if isinstance(wanted, ResponseFormatJson):
        return {"format": {"type": "json_object"}}
    return None


def sampling(
    request: ChatRequest, usual: float | None, facts: Facts
) -> tuple[Json, list[Degradation]]:
    asked = {"temperature": request.temperature, "top_p": request.top_p}
    wanted = {name: value for name, value in asked.items() if value is not None}
    if facts.samples is False:
        reason = "this model does not take it"
        return {}, [note(f"{name} {wanted[name]:g}", "the model's own", reason) for name in wanted]
    if not wanted and facts.samples and usual is not None:
        return {"temperature": usual}, []
    return wanted, []


def effort(asked: str | None, facts: Facts) -> tuple[str | None, list[Degradation]]:
    """The effort, or the one that comes nearest of those that the model knows."""
    if asked is None or asked in facts.efforts:
        return asked, []
    if facts.reasons is False:
        notes = [] if asked == "none" else [_less_effort(asked, None, "this model cannot reason")]
        return None, notes
    if asked not in _EFFORTS:
        return None, [_less_effort(asked, None, f"the efforts are {', '.join(facts.efforts)}")]
    place = _EFFORTS.index(asked)
    nearest = min(facts.efforts, key=lambda each: abs(_EFFORTS.index(each) - place))
    return nearest, [_less_effort(asked, nearest, "this model does not know it")]


def _less_effort(asked: str, actual: str | None, reason: str) -> Degradation:
    return note(f"reasoning effort {asked!r}", f"{actual or 'the usual'!s} effort", reason)


def note(requested: str, actual: str, reason: str) -> Degradation:
    return Degradation(requested=requested, actual=actual, reason=reason)
