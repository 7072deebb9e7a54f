"""What a vendor or the network reports, in the kernel's vocabulary of errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from amplifier_core.llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from pydantic import SecretStr

from amplifier_modules.providing.keys import without_key

OVERLOADED = 529
_LONGEST_MESSAGE = 2_000


@dataclass(frozen=True)
class Report:
    """A refusal by the vendor: the status of its answer and what it said."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: type[LLMError] | None = None
    """What it is, if the vendor is clearer about that than its status and words."""

    def mentions(self, *phrases: str) -> bool:
        text = self.message.lower()
        return any(phrase in text for phrase in phrases)


_TOO_LONG = (
    "context length", "context_length", "context window", "maximum context", "too many tokens",
    "prompt is too long", "token limit", "input is too long",
)  # fmt: skip
_FILTERED = (
    "safety", "content filter", "content_filter", "blocked", "content policy", "content_policy",
    "policy_violation", "bio_policy",
)  # fmt: skip
_UNPAID = ("insufficient_quota", "credit balance", "spend limit", "billing")
_CHALLENGE = ("<html", "<!doctype html")

_PASSING = (RateLimitError, ProviderUnavailableError, LLMTimeoutError, LLMError)
# What SDKs raise on answers of a shape that they did not expect.
_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)

_Row = tuple[Callable[[Report], bool], type[LLMError]]
_TABLE: list[_Row] = [
    (lambda r: r.status in (400, 402, 403, 429) and r.mentions(*_UNPAID), QuotaExceededError),
    (lambda r: r.status == 429, RateLimitError),
    (lambda r: r.status >= 500, ProviderUnavailableError),
    (lambda r: r.status == 403 and r.mentions(*_CHALLENGE), ProviderUnavailableError),
    (lambda r: r.status == 401, AuthenticationError),
    (lambda r: r.status == 403, AccessDeniedError),
    (lambda r: r.status == 404, NotFoundError),
    (lambda r: r.status == 408, LLMTimeoutError),
    (lambda r: r.status == 413, ContextLengthError),
    (lambda r: r.status in (400, 422) and r.mentions(*_TOO_LONG), ContextLengthError),
    (lambda r: r.status in (400, 422) and r.mentions(*_FILTERED), ContentFilterError),
    (lambda r: 300 <= r.status < 500, InvalidRequestError),
]


@dataclass(frozen=True)
class Blame:
    """Who failed, and how long a vendor may ask us to wait."""

    provider: str
    model: str | None = None
    longest_wait: float = 60.0
    overloaded_multiplier: float = 10.0
    key: SecretStr | None = None

    def for_report(self, report: Report) -> LLMError:
        kind = report.kind or next((error for fits, error in _TABLE if fits(report)), LLMError)
        asked = retry_after(report.headers)
        is_too_long = kind in _PASSING and asked is not None and asked > self.longest_wait
        message = report.message.strip()[:_LONGEST_MESSAGE] or "The vendor gave no reason."
        if is_too_long:
            message += f" It asks to wait {asked:g} s, and `max_retry_delay` allows less."
        more: dict[str, Any] = {}
        if is_too_long:
            more["retryable"] = False
        elif kind is LLMError:
            # Whatever the table does not know may be gone the next time.
            more["retryable"] = True
        if report.status == OVERLOADED:
            more["delay_multiplier"] = self.overloaded_multiplier
        return self.build(kind, message, status_code=report.status, retry_after=asked, **more)

    def for_exception(self, error: BaseException) -> LLMError:
        """For what an SDK or its HTTP client raised without an answer of the vendor."""
        chain = _chain(error)
        names = {base.__name__ for each in chain for base in type(each).__mro__}
        if names & {"TimeoutException", "TimeoutError"}:
            return self.silence()
        if names & {"ConnectError", "ProxyError", "UnsupportedProtocol", "InvalidURL"}:
            return self.build(NetworkError, f"No connection came about: {_innermost(chain)}.")
        if names & {"TransportError", "StreamError", "OSError"}:
            return self.build(StreamError, f"The answer broke off: {_innermost(chain)}.")
        if isinstance(error, _UNREADABLE):
            return self.build(StreamError, f"The answer cannot be read: {_innermost(chain)}.")
        said = str(error) or type(error).__name__
        return self.build(LLMError, said[:_LONGEST_MESSAGE], retryable=True)

    def silence(self) -> LLMError:
        return self.build(
            LLMTimeoutError,
            "Nothing came from the vendor for too long. Raise `idle_timeout` or "
            "`connect_timeout` if it is always this slow.",
        )

    def overdue(self, what: str, seconds: float, key: str) -> LLMError:
        text = f"{what} within {seconds:g} s. Raise {key} if it needs longer."
        return self.build(LLMTimeoutError, text)

    def cause(self, error: BaseException) -> BaseException | None:
        """`error`, unless a traceback that shows it would show the key."""
        chain = _chain(error)
        is_clean = all(without_key(str(each), self.key) == str(each) for each in chain)
        return error if is_clean else None

    def build(self, kind: type[LLMError], message: str, **more: Any) -> LLMError:
        said = without_key(message, self.key)
        return kind(said, provider=self.provider, model=self.model, **more)


def _chain(error: BaseException) -> list[BaseException]:
    """`error` and what caused it, outermost first.

    A caller may ask us while it handles the error of another call, which is not to blame.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and not isinstance(current, LLMError):
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _innermost(chain: list[BaseException]) -> str:
    said = [f"{each}" for each in chain if str(each)]
    return (said[-1] if said else type(chain[-1]).__name__)[:_LONGEST_MESSAGE].rstrip(".")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a vendor asks to wait, in any of the ways in which vendors say so."""
    lowered = {name.lower(): value for name, value in headers.items()}
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _number(lowered.get(name))
        if milliseconds is not None:
            return milliseconds / 1000
    given = lowered.get("retry-after")
    seconds = _number(given)
    return seconds if seconds is not None else _until(given)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(text: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (TypeError, ValueError):
        return None
    return max(0.0, moment.timestamp() - time.time())
