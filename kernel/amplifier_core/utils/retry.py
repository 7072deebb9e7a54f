"""Try a model call again when its error says that this may help, waiting longer each time."""

import asyncio
import math
import operator
import random
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, Never, SupportsFloat, SupportsIndex, TypeVar

from ..llm_errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
)

T = TypeVar("T")

_DEFAULT_INITIAL_DELAY = 1.0
_DEFAULT_BACKOFF_FACTOR = 2.0
_JITTER_SHOWN_WHEN_ON = 0.2


class RetryConfig:
    """How often to retry and how long to wait, in seconds. Cannot be changed once made.

    `jitter` spreads the delays at random so that many clients do not retry in step; its value
    reads back as 0.2 or 0.0. `min_delay` and `backoff_multiplier` are the old names of
    `initial_delay` and `backoff_factor`, and lose against them.
    """

    __slots__ = (
        "backoff_factor",
        "honor_retry_after",
        "initial_delay",
        "jitter",
        "max_delay",
        "max_retries",
    )

    max_retries: int
    initial_delay: float
    max_delay: float
    backoff_factor: float
    jitter: float
    honor_retry_after: bool

    def __init__(
        self,
        max_retries: int = 3,
        initial_delay: float = _DEFAULT_INITIAL_DELAY,
        max_delay: float = 60.0,
        backoff_factor: float = _DEFAULT_BACKOFF_FACTOR,
        jitter: bool | float | None = None,
        honor_retry_after: bool = True,
        min_delay: float | None = None,
        backoff_multiplier: float | None = None,
    ) -> None:
        if not isinstance(honor_retry_after, bool):
            raise TypeError(f"honor_retry_after must be a bool, not {honor_retry_after!r}")
        if min_delay is not None and initial_delay == _DEFAULT_INITIAL_DELAY:
            initial_delay = min_delay
            _warn_renamed("min_delay", "initial_delay")
        if backoff_multiplier is not None and backoff_factor == _DEFAULT_BACKOFF_FACTOR:
            backoff_factor = backoff_multiplier
            _warn_renamed("backoff_multiplier", "backoff_factor")
        values = {
            "max_retries": _count("max_retries", max_retries),
            "initial_delay": _number("initial_delay", initial_delay),
            "max_delay": _number("max_delay", max_delay),
            "backoff_factor": _number("backoff_factor", backoff_factor),
            "jitter": _JITTER_SHOWN_WHEN_ON if _is_jitter_on(jitter) else 0.0,
            "honor_retry_after": honor_retry_after,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __init_subclass__(cls) -> Never:
        raise TypeError("RetryConfig cannot be subclassed. Pass other values instead.")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"RetryConfig.{name} cannot be set. Make a new RetryConfig instead.")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"RetryConfig.{name} cannot be deleted.")

    def __reduce__(self) -> tuple[type["RetryConfig"], tuple[float, ...]]:
        delays = (self.initial_delay, self.max_delay, self.backoff_factor)
        return RetryConfig, (self.max_retries, *delays, bool(self.jitter), self.honor_retry_after)

    @property
    def min_delay(self) -> float:
        """Old name of `initial_delay`."""
        _warn_renamed("min_delay", "initial_delay")
        return self.initial_delay

    @property
    def backoff_multiplier(self) -> float:
        """Old name of `backoff_factor`."""
        _warn_renamed("backoff_multiplier", "backoff_factor")
        return self.backoff_factor


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated; use {new}.", DeprecationWarning, stacklevel=3)


def _count(name: str, value: SupportsIndex) -> int:
    count = operator.index(value)
    if count < 0:
        raise OverflowError(f"{name} must not be negative, got {count}")
    return count


def _number(name: str, value: Any) -> float:
    """As float; unlike `float()` this does not parse text."""
    if not isinstance(value, SupportsFloat | SupportsIndex):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return float(value)


def _is_jitter_on(jitter: Any) -> bool:
    if jitter is None or isinstance(jitter, bool):
        return jitter is not False
    if isinstance(jitter, SupportsFloat):
        warnings.warn(
            "A number for jitter is deprecated; use True or False.",
            DeprecationWarning,
            stacklevel=3,
        )
        return float(jitter) != 0
    warnings.warn(f"jitter must be True or False, not {jitter!r}; taken as True.", stacklevel=3)
    return True


def compute_delay(
    config: RetryConfig,
    attempt: int,
    retry_after: float | None = None,
    delay_multiplier: float | None = None,
) -> float:
    """Seconds to wait after the failed try number `attempt`, counted from 0.

    The exponential delay is capped by `max_delay`, then stretched by `delay_multiplier`, then
    raised to `retry_after` if that is honoured, and jittered last. So the result may exceed
    `max_delay`. Values that make no sense (NaN, a multiplier of zero) are ignored.
    """
    try:
        growth = config.backoff_factor ** _count("attempt", attempt)
    except OverflowError:
        if attempt < 0:
            raise
        growth = math.inf
    delay = _unless_nan(min, config.initial_delay * growth, config.max_delay)
    if delay_multiplier is not None:
        multiplier = _number("delay_multiplier", delay_multiplier)
        if multiplier > 0 and math.isfinite(multiplier):
            delay *= multiplier
    if retry_after is not None and config.honor_retry_after:
        delay = _unless_nan(max, delay, _number("retry_after", retry_after))
    if config.jitter:
        delay *= random.uniform(0.5, 1.5)
    return delay


def _unless_nan(choose: Callable[[float, float], float], first: float, second: float) -> float:
    if math.isnan(first):
        return second
    return first if math.isnan(second) else choose(first, second)


async def retry_with_backoff(
    operation: Callable[[], Awaitable[T]],
    config: RetryConfig | None = None,
    *,
    on_retry: Callable[[int, float, LLMError], Awaitable[None]] | None = None,
) -> T:
    """Await `operation()` until it succeeds, its error is not retryable, or tries run out.

    `on_retry(attempt, delay, error)` is awaited before each wait, with `attempt` counted
    from 1. Errors that are not an `LLMError` pass through at once.
    """
    config = config or RetryConfig()
    attempt = 0
    while True:
        try:
            return await operation()
        except LLMError as error:
            if not error.retryable or attempt >= config.max_retries:
                raise
            failure = error
        delay = compute_delay(
            config,
            attempt,
            getattr(failure, "retry_after", None),
            getattr(failure, "delay_multiplier", None),
        )
        attempt += 1
        if on_retry is not None:
            await on_retry(attempt, delay, failure)
        await asyncio.sleep(delay)


_BY_STATUS: dict[int | None, type[LLMError]] = {
    401: AuthenticationError,
    403: AccessDeniedError,
    404: NotFoundError,
    413: ContextLengthError,
    429: RateLimitError,
}
_BY_PHRASE: list[tuple[type[LLMError], tuple[str, ...]]] = [
    (ContextLengthError, ("context length", "too many tokens", "maximum context")),
    (RateLimitError, ("rate limit", "too many requests")),
    (AuthenticationError, ("authentication", "api key", "unauthorized")),
    (NotFoundError, ("not found",)),
    (ContentFilterError, ("content filter", "safety", "blocked")),
]


def classify_error_message(
    message: str, *, status_code: int | None = None, provider: str | None = None
) -> type[LLMError]:
    """The error class that fits a vendor's answer: by status if that is clear, else by text.

    `provider` is accepted for callers that pass it and makes no difference.
    """
    if status_code in _BY_STATUS:
        return _BY_STATUS[status_code]
    if status_code is not None and status_code >= 500:
        return ProviderUnavailableError
    text = message.lower()
    for error_class, phrases in _BY_PHRASE:
        if any(phrase in text for phrase in phrases):
            return error_class
    return InvalidRequestError if status_code in (400, 422) else LLMError
