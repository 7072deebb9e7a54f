"""What goal pursuit reads and writes: transcripts for judges, their answers, reasons compared."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

from amplifier_modules.loops.replies import text_of

Verdict = Literal["RESOLVABLE", "TIME-LOCKED", "STRUCTURE-LOCKED", "HISTORY-LOCKED"]

_SEPARATOR = "\n\n"
_REST = r"\b[\s*_.:,;!\u2013\u2014-]*(.*)"
_ANSWER = re.compile(
    r"^[^\w\n]*(?:\w+\W*:\W*)?(YES|NO)" + _REST, re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_VERDICT = re.compile(
    r"\b(?:(RESOLVABLE)|(TIME|STRUCTURE|HISTORY)[\s_-]?LOCKED)" + _REST, re.IGNORECASE | re.DOTALL
)
_WORD = re.compile(r"\w+")


class Limits(NamedTuple):
    """How much of a conversation a judge is shown."""

    messages: int
    tool_chars: int
    """Per tool result and per arguments of a call."""
    chars: int
    """In all."""


# -- transcripts --------------------------------------------------------------------------


def clip(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: its beginning and its end."""
    if len(text) <= limit:
        return text
    mark = f"\n[... {len(text) - limit} characters and more left out ...]\n"
    kept = limit - len(mark)
    if kept < 2:
        return text[:limit]
    tail = kept // 2
    return text[: kept - tail] + mark + text[-tail:]


def transcript(messages: Sequence[Any], limits: Limits) -> str:
    """The end of a conversation in plain text; the newest messages come in first."""
    room, shown = limits.chars, list[str]()
    for message in reversed(messages[-limits.messages :]):
        text = _rendered(message, limits.tool_chars)
        if not text:
            continue
        shown.append(clip(text, room))
        room -= len(text) + len(_SEPARATOR)
        if room <= 0:
            break
    return _SEPARATOR.join(reversed(shown))


def _rendered(message: Any, most: int) -> str:
    fields = message if isinstance(message, dict) else message.model_dump()
    role, text = fields.get("role"), text_of(fields.get("content"))
    if role == "system":
        return ""
    if role == "tool":
        return f"[result of {fields.get('name') or 'a tool'}] {clip(text, most)}"
    calls = [_rendered_call(call, most) for call in fields.get("tool_calls") or []]
    parts = [f"{role}: {text}"] if text else []
    return "\n".join([*parts, *calls])


def _rendered_call(call: dict[str, Any], most: int) -> str:
    arguments = json.dumps(call.get("arguments") or {}, ensure_ascii=False, default=str)
    return f"[call of {call.get('tool') or call.get('name')}] {clip(arguments, most)}"


def quoted(tag: str, text: str) -> str:
    """`text` between tags that nothing in it can close."""
    return f"<{tag}>\n{text.replace(f'</{tag}', f'< /{tag}')}\n</{tag}>"


# -- answers ------------------------------------------------------------------------------


def read_answer(text: str) -> tuple[bool, str] | None:
    """Whether a judge said yes, and why if it told; None if it said neither yes nor no."""
    found = _ANSWER.search(text)
    if found is None:
        return None
    return found[1].upper() == "YES", _one_line(found[2])


def read_verdict(text: str) -> tuple[Verdict, str] | None:
    """What kind of obstacle a judge sees, and its words on it; None if it named none."""
    found = _VERDICT.search(text)
    if found is None:
        return None
    verdict = "RESOLVABLE" if found[1] else f"{found[2].upper()}-LOCKED"
    return verdict, _one_line(found[3])  # type: ignore[return-value]


def _one_line(text: str) -> str:
    return " ".join(text.split())


# -- reasons ------------------------------------------------------------------------------


def overlap(reasons: Sequence[str]) -> float:
    """The share of words that any two of the reasons have in common: 0 to 1, at least."""
    words = [_words(reason) for reason in reasons]
    pairs = combinations(words, 2)
    return min((len(a & b) / len(a | b) if a | b else 0.0 for a, b in pairs), default=0.0)


def without_repeats(reasons: Sequence[str]) -> list[str]:
    """The reasons, each run of equal ones as one."""
    return [*reasons[:1], *(after for before, after in pairwise(reasons) if before != after)]


def distinct(reasons: Sequence[str]) -> int:
    """How many reasons there are that differ in more than case, order and punctuation."""
    return len({_words(reason) for reason in reasons})


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
