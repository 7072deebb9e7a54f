"""The arguments of a tool call, which models write as text."""

from __future__ import annotations

import json
from typing import Any

from amplifier_core.llm_errors import InvalidToolCallError

from amplifier_modules.providing.failures import Blame


def parsed_arguments(name: str, text: str | None, blame: Blame, *, is_cut: bool) -> dict[str, Any]:
    """
    Raises:
        InvalidToolCallError: they are no JSON object.
    """
    try:
        arguments = json.loads(text or "{}", strict=False)
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        return arguments
    advice = "Raise `max_tokens`." if is_cut else "Ask again, or try another model."
    raise InvalidToolCallError(
        f"The arguments of the call of {name!r} are no JSON object. {advice}",
        tool_name=name,
        raw_arguments=text,
        provider=blame.provider,
        model=blame.model,
    )
