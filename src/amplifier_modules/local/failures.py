"""What goes wrong in the engine, in the kernel's vocabulary; and when a caller has had enough."""

from __future__ import annotations

import time
from typing import Any

from amplifier_core.llm_errors import (
    AbortError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    ProviderUnavailableError,
)

from .options import MOUNT_NAME

_TOO_LONG = "exceed_context_size_error"


def as_llm_error(error: Exception) -> LLMError:
    """An exception of the engine; it raises ValueError for requests that it cannot use."""
    kind = InvalidRequestError if isinstance(error, ValueError) else LLMError
    mapped = kind(f"The engine refused the request: {error}", provider=MOUNT_NAME)
    mapped.__cause__ = error
    return mapped


def from_report(report: dict[str, Any]) -> LLMError:
    """The `error` that the engine sent in place of an answer."""
    code = report.get("code")
    status = code if isinstance(code, int) else None
    message = str(report.get("message") or "The engine failed and did not say why.")
    if report.get("type") == _TOO_LONG:
        text = (
            f"The prompt has {report.get('n_prompt_tokens')} tokens and the context window "
            f"{report.get('n_ctx')}. Shorten the conversation, or raise `context_window`."
        )
        return ContextLengthError(text, provider=MOUNT_NAME, status_code=status)
    kind: type[LLMError] = LLMError
    if status is not None and 400 <= status < 500:
        kind = InvalidRequestError
    elif status == 503:
        kind = ProviderUnavailableError
    return kind(message, provider=MOUNT_NAME, status_code=status)


class Patience:
    """Ends a wait: when it takes too long, or when the session is to stop at once."""

    def __init__(self, first_token: float, whole: float, cancellation: Any) -> None:
        self._started = time.monotonic()
        self._first_token: float | None = first_token
        self._whole = whole
        self._cancellation = cancellation

    def first_token_arrived(self) -> None:
        self._first_token = None

    def check(self) -> None:
        """
        Raises:
            AbortError: the session was asked to stop at once.
            LLMTimeoutError: the first token, or the whole answer, is overdue.
        """
        if self._cancellation is not None and self._cancellation.is_immediate:
            raise AbortError("The session was cancelled.", provider=MOUNT_NAME)
        waited = time.monotonic() - self._started
        if waited > self._whole:
            raise _overdue("The answer was not finished", self._whole, "timeout")
        if self._first_token is not None and waited > self._first_token:
            raise _overdue("The first token did not come", self._first_token, "first_token_timeout")


def _overdue(what: str, seconds: float, key: str) -> LLMTimeoutError:
    return LLMTimeoutError(
        f"{what} within {seconds:g} seconds. Shorten the prompt, or raise `{key}`.",
        provider=MOUNT_NAME,
    )
