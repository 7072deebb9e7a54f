"""Writes a request in the words of the GenAI API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    ResponseFormatJson,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
)

from amplifier_modules.providing.asked import Picture, read_choice, read_picture, read_schema
from amplifier_modules.providing.histories import ORIGIN, Entry, History

from .models import Facts
from .options import MOUNT_NAME

PARTS = "gemini:parts"
"""Metadata with a whole answer as it came, if blocks cannot hold all of it."""
SIGNATURE = "thought_signature"
"""The extra field of text and call blocks that holds the vendor's signature."""

Json = dict[str, Any]
_MOST_STOPS = 5
_UNSIGNED = "skip_thought_signature_validator"
"""What the vendor wants in place of a signature on calls that another model made."""
_JSON_PLEASE = "Answer with one valid JSON value and with nothing else."
_BEGINNING = "(The beginning of this conversation is not shown.)"
_TOP_LEVEL = {
    "cachedContent", "generationConfig", "labels", "safetySettings", "serviceTier", "store",
    "systemInstruction", "toolConfig", "tools",
}  # fmt: skip


# -- the conversation -------------------------------------------------------------------------


def instructions(history: History, *, asks_for_json: bool) -> Json | None:
    texts = [entry.text for entry in history.entries if entry.role == "system"]
    if asks_for_json:
        texts.append(_JSON_PLEASE)
    joined = "\n\n".join(text for text in texts if text.strip())
    return {"parts": [{"text": joined}]} if joined else None


def contents(history: History, facts: Facts) -> list[Json]:
    """Developers' texts first, then the conversation; neighbours of one role share a turn."""
    entries = history.entries
    turns = _Turns()
    for entry in entries:
        if entry.role == "developer" and entry.text:
            turns.add("user", [{"text": f"<context_file>\n{entry.text}\n</context_file>"}])
    names = {call.id: call.name for entry in entries for call in entry.calls}
    for entry in entries:
        if entry.role == "tool":
            response, beside = _result(entry, names[entry.call_id], facts)
            turns.add_result(response, beside)
        elif entry.role == "assistant":
            turns.add("model", _model_parts(entry, facts))
        elif entry.role == "user":
            turns.add("user", _parts(entry.blocks))
    return turns.written()


class _Turns:
    """Collects turns. Results of calls have a turn to themselves, right after the calls."""

    def __init__(self) -> None:
        self._turns: list[Json] = []
        self._results: list[Json] | None = None
        self._beside: list[Json] = []

    def add(self, role: str, parts: list[Json]) -> None:
        if not parts:
            return
        self._end_results()
        if self._turns and self._turns[-1]["role"] == role and not _is_results(self._turns[-1]):
            self._turns[-1]["parts"] += parts
        else:
            self._turns.append({"role": role, "parts": list(parts)})

    def add_result(self, response: Json, beside: list[Json]) -> None:
        if self._results is None:
            self._results = []
            self._turns.append({"role": "user", "parts": self._results})
        self._results.append(response)
        self._beside += beside

    def written(self) -> list[Json]:
        self._end_results()
        if self._turns and self._turns[0]["role"] == "model":
            # The vendor refuses a conversation that the model begins.
            return [{"role": "user", "parts": [{"text": _BEGINNING}]}, *self._turns]
        return self._turns

    def _end_results(self) -> None:
        self._results = None
        if self._beside:
            self._turns.append({"role": "user", "parts": self._beside})
            self._beside = []


def _is_results(turn: Json) -> bool:
    return "functionResponse" in turn["parts"][0]


def _model_parts(entry: Entry, facts: Facts) -> list[Json]:
    whole = entry.metadata.get(PARTS)
    ids = [call.id for call in entry.calls]
    parts = whole if isinstance(whole, list) and _call_ids(whole) == ids else _parts(entry.blocks)
    first = next((i for i, each in enumerate(parts) if "functionCall" in each), None)
    if first is None or not facts.wants_signatures or "thoughtSignature" in parts[first]:
        return parts
    signed = parts[first] | {"thoughtSignature": _UNSIGNED}
    return [*parts[:first], signed, *parts[first + 1 :]]


def _call_ids(parts: Iterable[Json]) -> list[Any]:
    return [each["functionCall"].get("id") for each in parts if "functionCall" in each]


def _parts(blocks: Iterable[ContentBlockUnion]) -> list[Json]:
    return [part for each in blocks if (part := _part(each)) is not None]


def _part(block: ContentBlockUnion) -> Json | None:
    """None for what the vendor would refuse: empty texts, and blocks that it does not know."""
    signed = _signed(block)
    match block:
        case TextBlock():
            return {"text": block.text, **signed} if block.text.strip() or signed else None
        case ThinkingBlock() if _is_own(block):
            signature = {"thoughtSignature": block.signature} if block.signature else {}
            return {"text": block.thinking, "thought": True, **signature}
        case ImageBlock():
            return {**_media(read_picture(block.source)), **signed}
        case ToolCallBlock():
            call = {"id": block.id, "name": block.name, "args": block.input}
            return {"functionCall": call, **signed}
    return None


def _is_own(block: ContentBlockUnion) -> bool:
    return bool((block.model_extra or {}).get(ORIGIN) == MOUNT_NAME)


def _signed(block: ContentBlockUnion) -> Json:
    signature = (block.model_extra or {}).get(SIGNATURE)
    return {"thoughtSignature": signature} if signature and _is_own(block) else {}


def _media(picture: Picture) -> Json:
    if picture.url is not None:
        return {"fileData": {"mimeType": picture.media, "fileUri": picture.url}}
    return {"inlineData": {"mimeType": picture.media, "data": picture.data}}


def _result(entry: Entry, name: str, facts: Facts) -> tuple[Json, list[Json]]:
    """The result of a call, and what older models must be shown beside it."""
    pictures = [_media(read_picture(e.source)) for e in entry.blocks if isinstance(e, ImageBlock)]
    said = {"error" if entry.is_error else "output": entry.text}
    response: Json = {"id": entry.call_id, "name": name, "response": said}
    if not pictures:
        return {"functionResponse": response}, []
    if facts.mixes:
        return {"functionResponse": response | {"parts": pictures}}, []
    return {"functionResponse": response}, [{"text": f"Pictures from {name!r}:"}, *pictures]


# -- tools and the rest ------------------------------------------------------------------------


def tools(specs: Iterable[ToolSpec] | None) -> list[Json]:
    """Functions in one list, and each of the vendor's own tools under its name."""
    functions, own = [], []
    for spec in specs or ():
        extra = dict(spec.model_extra or {})
        kind = extra.pop("type", None)
        if kind in (None, "custom", "function"):
            functions.append(_function(spec))
        else:
            own.append({camel(str(kind)): {camel(key): value for key, value in extra.items()}})
    return ([{"functionDeclarations": functions}] if functions else []) + own


def _function(spec: ToolSpec) -> Json:
    written: Json = {"name": spec.name}
    if spec.description:
        written["description"] = spec.description
    if spec.parameters:
        written["parametersJsonSchema"] = {"type": "object", **spec.parameters}
    return written


def tool_config(asked: str | Mapping[str, Any] | None) -> Json | None:
    choice = read_choice(asked)
    if choice is None:
        return None
    modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
    config: Json = {"mode": modes[choice.mode]}
    if choice.name is not None:
        config["allowedFunctionNames"] = [choice.name]
    return {"functionCallingConfig": config}


def output_format(
    request: ChatRequest, facts: Facts, *, has_tools: bool
) -> tuple[Json, bool, list[Degradation]]:
    """The format in the vendor's words, and whether the model must be asked for it as well."""
    schema = read_schema(request)
    if schema is None and not isinstance(request.response_format, ResponseFormatJson):
        return {}, False, []
    if has_tools and not facts.mixes:
        reason = "this model takes no format beside tools"
        note = Degradation(requested="JSON", actual="an instruction to write JSON", reason=reason)
        return {}, True, [note]
    form: Json = {"responseMimeType": "application/json"}
    return (form if schema is None else form | {"responseJsonSchema": schema}), False, []


def stop_sequences(asked: Iterable[str] | None) -> tuple[list[str], list[Degradation]]:
    wanted = [each for each in asked or () if each]
    if len(wanted) <= _MOST_STOPS:
        return wanted, []
    reason = f"the vendor takes {_MOST_STOPS} stop sequences"
    used = wanted[:_MOST_STOPS]
    return used, [Degradation(requested=f"stop {wanted!r}", actual=f"{used!r}", reason=reason)]


def sampling(
    request: ChatRequest, usual: float | None, facts: Facts
) -> tuple[Json, list[Degradation]]:
    """`temperature` and `top_p`, where the model takes them."""
    asked = {"temperature": request.temperature, "topP": request.top_p}
    wanted = {name: value for name, value in asked.items() if value is not None}
    if facts.samples:
        return ({} if usual is None else {"temperature": usual}) | wanted, []
    reason = "this model does not take it"
    notes = [
        Degradation(requested=f"{name} {value:g}", actual="the model's own", reason=reason)
        for name, value in wanted.items()
    ]
    return {}, notes


def with_extra(body: Json, extra: Mapping[str, Any]) -> Json:
    """`body` and the user's own parameters, each where the API wants it."""
    merged = dict(body)
    for key, value in ((camel(key), value) for key, value in extra.items()):
        if key not in _TOP_LEVEL:
            key, value = "generationConfig", {key: value}
        if isinstance(value, dict):
            value = {**merged.get(key, {}), **value}
        merged[key] = value
    return merged


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in others)
