"""Reads what a tool returned. Tools vary, so anything at all is made the best of."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any

from amplifier_core.models import ToolResult

logger = logging.getLogger(__name__)


def as_result(returned: Any) -> Any:
    """A tool result; whatever else a tool returns is the output of a successful one."""
    if returned.__class__ is ToolResult or hasattr(returned, "get_serialized_output"):
        return returned
    return ToolResult(output=returned)


def failed(message: str, kind: str) -> ToolResult:
    error = {"message": message, "type": kind}
    return ToolResult(success=False, output=message, error=error)


def shown(result: Any) -> Any:
    """A result as events carry it: plain data, never the bytes of pictures."""
    if result.__class__ is ToolResult:
        # A model has its attributes looked up the slow way.
        fields = result.__dict__
        if not fields["content"]:
            return {
                "success": fields["success"],
                "output": fields["output"],
                "error": fields["error"],
            }
    present = getattr(result, "safe_hook_presentation", None)
    return present() if present is not None else result


def content(result: Any) -> Any:
    """A result as the model reads it: text, or text and pictures."""
    blocks = result.content if isinstance(result, ToolResult) else None
    if not blocks:
        return _text(result)
    plain = [block.model_dump(exclude_none=True) for block in blocks]
    if result.output is None or any(block["type"] == "text" for block in plain):
        return plain
    return [{"type": "text", "text": _text(result)}, *plain]


def _text(result: Any) -> str:
    try:
        return str(result.get_serialized_output())
    except Exception:
        logger.debug("A tool's output cannot be serialized", exc_info=True)
    with suppress(Exception):
        return _json(result.output)
    return f"The tool returned {type(result).__name__}, which cannot be read."


def _json(value: Any) -> str:
    return json.dumps(value, default=str, skipkeys=True)


def said(error: BaseException) -> str:
    """What an error says, or its kind if it says nothing."""
    with suppress(Exception):
        return str(error) or type(error).__name__
    return type(error).__name__
