"""Writes a request in the words of Ollama's chat API."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    ResponseFormatJson,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
)

from amplifier_modules.providing.asked import Picture, read_choice, read_picture, read_schema
from amplifier_modules.providing.histories import ORIGIN, Entry, History

from .models import Facts, has_levels
from .options import MOUNT_NAME, OllamaSettings

Json = dict[str, Any]
_LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high",
           "max": "high"}  # fmt: skip
_NO_PICTURE = "(A picture that this model cannot be shown.)"


def _note(requested: str, actual: str, reason: str) -> Degradation:
    return Degradation(requested=requested, actual=actual, reason=reason)


# -- the conversation -------------------------------------------------------------------------


def messages(history: History, facts: Facts) -> tuple[list[Json], list[Degradation]]:
    """System messages first, then developers' texts, then the conversation."""
    entries = history.entries
    system = "\n\n".join(e.text for e in entries if e.role == "system" and e.text.strip())
    written = [{"role": "system", "content": system}] if system else []
    for entry in entries:
        if entry.role == "developer" and entry.text:
            text = f"<context_file>\n{entry.text}\n</context_file>"
            written.append({"role": "user", "content": text})
    names = {call.id: call.name for entry in entries for call in entry.calls}
    pictures = _Pictures(facts)
    for entry in entries:
        if entry.role in ("user", "assistant", "tool"):
            written += _messages(entry, names, pictures)
    return written, pictures.notes


class _Pictures:
    """Turns pictures into what the server takes, and notes those that it does not."""

    def __init__(self, facts: Facts) -> None:
        self._can_see = not facts.lacks("vision")
        self.notes: list[Degradation] = []

    def data(self, block: ImageBlock) -> str | None:
        picture = read_picture(block.source)
        reason = self._obstacle(picture)
        if reason is None:
            return picture.data
        note = _note("a picture", "a remark in its place", reason)
        if note not in self.notes:
            self.notes.append(note)
        return None

    def _obstacle(self, picture: Picture) -> str | None:
        if not self._can_see:
            return "this model cannot see"
        if picture.url is not None:
            return "Ollama takes no addresses of pictures"
        try:
            is_empty = not b64decode(picture.data or "", validate=True)
        except ValueError:
            is_empty = True
        return "its bytes are not in base64" if is_empty else None


def _messages(entry: Entry, names: Mapping[str, str], pictures: _Pictures) -> list[Json]:
    images, text = _shown(entry.blocks, pictures)
    message: Json = {"role": entry.role, "content": text}
    if entry.role == "tool":
        message |= {"tool_name": names[entry.call_id], "tool_call_id": entry.call_id}
        if entry.is_error:
            message["content"] = f"Error: {text}"
    if images:
        message["images"] = images
    if entry.role == "assistant":
        thoughts = [each.thinking for each in entry.blocks if _is_own_thought(each)]  # type: ignore[union-attr]
        calls = [_call(each) for each in entry.calls]
        message |= {"thinking": "\n\n".join(thoughts)} if thoughts else {}
        message |= {"tool_calls": calls} if calls else {}
    return [message] if len(message) > 2 or text.strip() else []


def _shown(blocks: Iterable[ContentBlockUnion], pictures: _Pictures) -> tuple[list[str], str]:
    images: list[str] = []
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, ImageBlock):
            data = pictures.data(block)
            if data is None:
                texts.append(_NO_PICTURE)
            else:
                images.append(data)
        elif block.type == "text":
            texts.append(block.text)
    return images, "\n\n".join(texts)


def _is_own_thought(block: ContentBlockUnion) -> bool:
    is_own = (block.model_extra or {}).get(ORIGIN) == MOUNT_NAME
    return isinstance(block, ThinkingBlock) and is_own


def _call(call: ToolCallBlock) -> Json:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.input}}


# -- tools and the rest ------------------------------------------------------------------------


def tools(request: ChatRequest, facts: Facts) -> tuple[list[Json], list[Degradation]]:
    """The tools that may be called; a choice can only be kept by showing fewer of them."""
    specs = list(request.tools or ())
    if not specs:
        return [], []
    if facts.lacks("tools"):
        return [], [_note("tools", "no tools", "this model cannot call any")]
    own = [each for each in specs if _is_vendors(each)]
    notes = [
        _note(f"the tool {each.name!r}", "none", "Ollama has no tools of its own") for each in own
    ]
    usable = [each for each in specs if each not in own]
    choice = read_choice(request.tool_choice)
    if choice is not None and choice.mode == "none":
        return [], notes
    if choice is not None and choice.mode == "required":
        usable = [each for each in usable if choice.name in (None, each.name)]
        wanted = choice.name or "required"
        reason = "Ollama cannot make a model call a tool"
        notes.append(_note(f"tool choice {wanted!r}", "these tools, none of them forced", reason))
    return [_tool(each) for each in usable], notes


def _is_vendors(spec: ToolSpec) -> bool:
    kind = (spec.model_extra or {}).get("type")
    return kind not in (None, "custom", "function")


def _tool(spec: ToolSpec) -> Json:
    function = {
        "name": spec.name,
        "description": spec.description or "",
        "parameters": {"type": "object", "properties": {}, **spec.parameters},
    }
    return {"type": "function", "function": function}


def output_format(request: ChatRequest) -> Json | str | None:
    schema = read_schema(request)
    if schema is not None:
        return schema
    return "json" if isinstance(request.response_format, ResponseFormatJson) else None


def thinking(
    request: ChatRequest, options: Mapping[str, Any], settings: OllamaSettings, model: str,
    facts: Facts,
) -> tuple[bool | str | None, list[Degradation]]:  # fmt: skip
    """Whether or how hard to think; None leaves it to the server, which lets those that can."""
    wanted = options.get("extended_thinking")
    effort = request.reasoning_effort
    if wanted is None and effort is not None:
        wanted = effort != "none"
    if wanted is None and not settings.enable_thinking:
        wanted = False
    if facts.lacks("thinking"):
        note = _note("thinking", "no thinking", "this model cannot think")
        return None, [note] if wanted else []
    if has_levels(model):
        return _level(effort, wanted)
    if wanted is None:
        return (True if facts.has("thinking") else None), []
    return bool(wanted), []


def _level(effort: str | None, wanted: bool | None) -> tuple[str | None, list[Degradation]]:
    if wanted is False:
        note = _note("no thinking", "thinking effort 'low'", "this model always thinks")
        return "low", [note]
    level = _LEVELS.get(effort or "")
    if effort is None or level == effort:
        return level, []
    actual = f"effort {level!r}" if level else "the usual effort"
    return level, [_note(f"effort {effort!r}", actual, "it takes low, medium and high")]


def asks_to_think(request: ChatRequest, options: Mapping[str, Any]) -> bool:
    effort = request.reasoning_effort
    return bool(options.get("extended_thinking")) or effort not in (None, "none")
