"""Reads the payloads of tool events. Tools vary, so anything is made the best of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplifier_modules.terminal.layout import scalar, value_lines


def field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def has_failed(result: Any) -> bool:
    return field(result, "success") is False


def result_lines(result: Any) -> Iterator[str]:
    """What a tool answered: its output, or what went wrong."""
    is_result = field(result, "success") is not None or field(result, "output") is not None
    output = field(result, "output") if is_result else result
    if isinstance(output, dict) and "stdout" in output:
        yield from _shell_lines(output, has_failed(result) or output.get("returncode"))
        return
    if output is None or output == "":
        output = field(field(result, "error"), "message")
    if output is not None and output != "":
        yield from value_lines(output)


def _shell_lines(output: dict[str, Any], show_errors: Any) -> Iterator[str]:
    streams = ("stdout", "stderr") if show_errors else ("stdout",)
    for name in streams:
        text = scalar(output.get(name) or "")
        if text:
            yield from text.split("\n")


def thinking_text(block: Any) -> str:
    """What is readable of a thinking block; nothing if the vendor sealed it."""
    text = field(block, "thinking")
    if isinstance(text, str):
        return text
    parts = field(block, "summary") or field(block, "content")
    if not isinstance(parts, list):
        text = field(block, "text")
        return text if isinstance(text, str) else ""
    texts = [part if isinstance(part, str) else field(part, "text") for part in parts]
    return "\n\n".join(text for text in texts if isinstance(text, str))
