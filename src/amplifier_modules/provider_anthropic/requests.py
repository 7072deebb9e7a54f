"""Writes a request in the words of the Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    RedactedThinkingBlock,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
)

from amplifier_modules.providing.histories import Entry, History

from .models import Facts

CONTENT = "anthropic:content"
"""Metadata with a whole answer as it came, if blocks cannot hold all of it."""

Json = dict[str, Any]
_JSON_PLEASE = "Answer with one valid JSON value and with nothing else."


def system(history: History, request: ChatRequest) -> list[Json]:
    texts = [entry.text for entry in history.entries if entry.role == "system"]
    if isinstance(request.response_format, ResponseFormatJson):
        texts.append(_JSON_PLEASE)
    joined = "\n\n".join(text for text in texts if text.strip())
    return [{"type": "text", "text": joined}] if joined else []


def messages(history: History) -> list[Json]:
    """Developers' texts first, then the conversation; results of one step share a message."""
    entries = history.entries
    written = [_context_file(each) for each in entries if each.role == "developer" and each.text]
    results: list[Json] | None = None
    for entry in entries:
        if entry.role == "tool":
            if results is None:
                results = []
                written.append({"role": "user", "content": results})
            results.append(_result(entry))
        elif entry.role in ("user", "assistant"):
            results = None
            content = _content(entry)
            if content:
                written.append({"role": entry.role, "content": content})
    return written


def _context_file(entry: Entry) -> Json:
    text = f"<context_file>\n{entry.text}\n</context_file>"
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _content(entry: Entry) -> list[Json]:
    whole = entry.metadata.get(CONTENT) if entry.role == "assistant" else None
    if isinstance(whole, list) and _call_ids(whole) == [call.id for call in entry.calls]:
        return whole
    return [block for each in entry.blocks if (block := _block(each)) is not None]


def _call_ids(content: Iterable[Json]) -> list[Any]:
    return [each.get("id") for each in content if each.get("type") == "tool_use"]


def _block(block: ContentBlockUnion) -> Json | None:
    """None for what the vendor would refuse: empty texts, and thoughts without its signature."""
    match block:
        case TextBlock():
            cited = (block.model_extra or {}).get("citations")
            text = {"type": "text", "text": block.text}
            return (text | ({"citations": cited} if cited else {})) if block.text.strip() else None
        case ImageBlock():
            return {"type": "image", "source": image_source(block.source)}
        case ToolCallBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ThinkingBlock(signature=str(signature)) if block.content is None:
            return {"type": "thinking", "thinking": block.thinking, "signature": signature}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": block.data}
    return None


def image_source(source: Mapping[str, Any]) -> Json:
    """A picture's source; other vendors' ways of saying the same are understood."""
    url = source.get("url")
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        return {"type": "base64", "media_type": head.partition(";")[0], "data": data}
    if isinstance(url, str):
        return {"type": "url", "url": url}
    if "data" in source:
        media = source.get("media_type") or source.get("mime_type") or "image/png"
        return {"type": "base64", "media_type": media, "data": source["data"]}
    return dict(source)


def _result(entry: Entry) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": entry.call_id}
    content = [block for each in entry.blocks if (block := _block(each)) is not None]
    if content:
        result["content"] = content
    return result | {"is_error": True} if entry.is_error else result


def tools(specs: Iterable[ToolSpec] | None) -> list[Json]:
    return [_tool(spec) for spec in specs or ()]


def _tool(spec: ToolSpec) -> Json:
    extra = dict(spec.model_extra or {})
    kind = extra.pop("type", None)
    if kind not in (None, "custom", "function"):
        # One of the vendor's own tools: it brings everything but its name and options along.
        return {"type": kind, "name": spec.name, **extra}
    options: Json = {key: extra[key] for key in ("strict", "input_examples") if key in extra}
    schema = {"type": "object", **spec.parameters}
    tool: Json = {"name": spec.name, "input_schema": schema, **options}
    return tool | ({"description": spec.description} if spec.description else {})


def tool_choice(
    asked: str | Mapping[str, Any] | None, facts: Facts
) -> tuple[Json | None, list[Degradation]]:
    """The choice in the vendor's words, and what cannot be had of it."""
    choice = _choice(asked)
    if choice is None or choice["type"] in ("auto", "none") or facts.can_be_forced:
        return choice, []
    note = Degradation(
        requested=f"tool choice {choice.get('name', 'required')!r}",
        actual="tool choice 'auto'",
        reason="this model cannot be made to call a tool",
    )
    return {"type": "auto"}, [note]


def _choice(asked: str | Mapping[str, Any] | None) -> Json | None:
    if asked is None:
        return None
    if isinstance(asked, str):
        known = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
        return {"type": known[asked]} if asked in known else {"type": "tool", "name": asked}
    function = asked.get("function")
    if isinstance(function, Mapping):
        return {"type": "tool", "name": function.get("name")}
    if asked.get("type") == "function":
        return {"type": "tool", "name": asked.get("name")}
    return dict(asked) | ({"type": "any"} if asked.get("type") == "required" else {})


def output_format(request: ChatRequest) -> tuple[Json | None, list[Degradation]]:
    wanted = request.response_format
    if isinstance(wanted, ResponseFormatJsonSchema):
        schema = wanted.json_schema
        inner = schema.get("schema")
        return {"type": "json_schema", "schema": inner if isinstance(inner, dict) else schema}, []
    if isinstance(wanted, ResponseFormatJson):
        reason = "JSON without a schema cannot be enforced"
        note = Degradation(requested="JSON", actual="an instruction to write JSON", reason=reason)
        return None, [note]
    return None, []


def stop_sequences(asked: Iterable[str] | None) -> tuple[list[str], list[Degradation]]:
    wanted = list(asked or ())
    usable = [each for each in wanted if each.strip()]
    if len(usable) == len(wanted):
        return usable, []
    reason = "the vendor takes no stop sequence of white space alone"
    return usable, [Degradation(requested=f"stop {wanted!r}", actual=f"{usable!r}", reason=reason)]


def sampling(
    request: ChatRequest, usual: float | None, facts: Facts, *, thinks: bool
) -> tuple[Json, list[Degradation]]:
    """One of `temperature` and `top_p`: newer models refuse both at once, the newest either."""
    asked = {"temperature": request.temperature, "top_p": request.top_p}
    wanted = {name: value for name, value in asked.items() if value is not None}
    if not facts.samples or thinks:
        reason = "a model that thinks does not take it" if facts.samples else "it does not take it"
        return {}, [_unsampled(name, wanted[name], reason) for name in wanted]
    if not wanted:
        return ({} if usual is None else {"temperature": min(usual, 1.0)}), []
    if len(wanted) > 1:
        reason = "it goes not together with `temperature`"
        sent, notes = {"temperature": wanted["temperature"]}, [
            _unsampled("top_p", wanted["top_p"], reason)
        ]  # fmt: skip
    else:
        sent, notes = wanted, []
    if sent.get("temperature", 0.0) > 1.0:
        sent["temperature"] = 1.0
        notes.append(_unsampled("temperature", wanted["temperature"], "1 is the highest"))
    return sent, notes


def _unsampled(name: str, value: float, reason: str) -> Degradation:
    return Degradation(requested=f"{name} {value:g}", actual="the nearest it takes", reason=reason)
