"""What went wrong, as the model gets to read it."""

from __future__ import annotations

from typing import Any, Literal

from amplifier_core.models import ToolResult

Kind = Literal[
    "invalid_input",
    "refused",
    "network",
    "timeout",
    "http_status",
    "bad_response",
    "too_large",
    "not_text",
    "not_saved",
    "not_configured",
    "search_failed",
]


class WebError(Exception):
    """A failure that is answered with a result; the text says what happened and what to do."""

    def __init__(self, kind: Kind, message: str, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.details = details

    def as_result(self) -> ToolResult:
        error = {"message": str(self), "type": self.kind, **self.details}
        return ToolResult(success=False, output=str(self), error=error)


def bad_answer(what: str) -> WebError:
    text = f"The server's answer {what}. Try again later or use another source."
    return WebError("bad_response", text)


def too_large(most: int) -> WebError:
    return WebError(
        "too_large",
        f"The content is larger than {most} bytes. Look for a smaller page, or raise "
        "'max_bytes' in the config of 'tool-web'.",
    )
