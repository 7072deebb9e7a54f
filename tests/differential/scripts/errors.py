"""Errors of model calls, retrying, truncating and redacting, request ids."""

import copy
import pickle
import random
import warnings
from typing import Any

import amplifier_core
from amplifier_core import InvalidToolCallError, LLMError, RateLimitError, RetryConfig
from amplifier_core.utils import SENSITIVE_KEYS, redact_secrets, truncate_values
from amplifier_core.utils.retry import classify_error_message, retry_with_backoff
from facts import Facts, async_outcome, outcome

ERRORS = sorted(
    name
    for name in amplifier_core.__all__
    if name.endswith("Error") and name != "ModuleValidationError"
)
FIELDS = "provider model status_code retry_after retryable delay_multiplier"


def _fields(error: Any) -> Facts:
    return {name: getattr(error, name) for name in FIELDS.split()}


def defaults_of_errors() -> Facts:
    return {name: _fields(getattr(amplifier_core, name)("boom")) for name in ERRORS}


def families_of_errors() -> Facts:
    return {
        name: [base.__name__ for base in getattr(amplifier_core, name).__mro__] for name in ERRORS
    }


def errors_with_all_fields() -> Facts:
    given = {"provider": "p", "model": "m", "status_code": 500, "retryable": True}
    return {
        name: [
            _fields(getattr(amplifier_core, name)("boom", **given)),
            repr(getattr(amplifier_core, name)("boom", **given)),
        ]
        for name in ERRORS
    }


def errors_as_text() -> Facts:
    return {
        "str": str(LLMError("boom", provider="p")),
        "args": LLMError("boom", provider="p").args,
        "repr": repr(LLMError("it's")),
        "full": repr(
            RateLimitError(
                "x", provider="p", model="m", status_code=429, retry_after=2.5, delay_multiplier=3
            )
        ),
        "not retryable": repr(RateLimitError("x", retryable=False)),
        "zero": repr(LLMError("x", status_code=0, retry_after=0.0)),
        "empty": [str(LLMError("")), repr(LLMError(""))],
    }


def arguments_of_errors() -> Facts:
    return {
        "no message": outcome(lambda: LLMError()),
        "positional": outcome(lambda: LLMError("x", "provider")),
        "unknown": outcome(lambda: LLMError("x", colour="red")),
        "tool call": outcome(lambda: InvalidToolCallError("x", retry_after=5)),
    }


def errors_of_tool_calls() -> Facts:
    error = InvalidToolCallError("x", tool_name="t", raw_arguments="{", provider="p")
    return {
        "fields": _fields(error),
        "own": [error.tool_name, error.raw_arguments],
        "repr": repr(error),
    }


def errors_survive_copies() -> Facts:
    error = RateLimitError("x", provider="p", retry_after=2.0)
    return {
        "pickle": _fields(pickle.loads(pickle.dumps(error))),
        "copy": _fields(copy.copy(error)),
        "deepcopy": repr(copy.deepcopy(error)),
    }


# -- retrying -------------------------------------------------------------------------


def _warned(call: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = outcome(call)
    return [value, [each.category.__name__ for each in caught]]


def _settings(config: RetryConfig) -> list[Any]:
    names = "max_retries initial_delay max_delay backoff_factor jitter honor_retry_after"
    return [getattr(config, name) for name in names.split()]


def settings_of_retrying() -> Facts:
    return {
        "defaults": _settings(RetryConfig()),
        "positional": _settings(RetryConfig(5, 0.5, 10.0, 3.0, False, False)),
        "negative": outcome(lambda: _settings(RetryConfig(max_retries=-1))),
        "float": outcome(lambda: _settings(RetryConfig(max_retries=1.5))),
        "text": outcome(lambda: _settings(RetryConfig(initial_delay="1"))),
        "assignment": outcome(lambda: setattr(RetryConfig(), "max_retries", 5)),
        "negative delay": _settings(RetryConfig(initial_delay=-1.0)),
    }


def jitter_of_retrying() -> Facts:
    values: Facts = {
        "none": None,
        "true": True,
        "false": False,
        "zero": 0,
        "half": 0.5,
        "text": "x",
    }
    return {
        name: _warned(lambda value=value: RetryConfig(jitter=value).jitter)
        for name, value in values.items()
    }


def older_settings_of_retrying() -> Facts:
    return {
        "min_delay": _warned(lambda: RetryConfig(min_delay=2.0).initial_delay),
        "both": _warned(lambda: RetryConfig(initial_delay=3.0, min_delay=2.0).initial_delay),
        "multiplier": _warned(lambda: RetryConfig(backoff_multiplier=3.0).backoff_factor),
        "read min_delay": _warned(lambda: RetryConfig(jitter=False).min_delay),
        "read multiplier": _warned(lambda: RetryConfig(jitter=False).backoff_multiplier),
    }


async def _delays(error: LLMError, config: RetryConfig) -> Any:
    """The delays between attempts, without waiting for them."""
    import asyncio

    delays: list[Any] = []
    calls: list[int] = []
    sleep = asyncio.sleep

    async def fail() -> None:
        calls.append(1)
        raise error

    async def told(attempt: int, delay: float, error: Exception) -> None:
        delays.append([attempt, round(delay, 6), type(error).__name__])

    async def no_sleep(seconds: float, *rest: Any) -> None:
        await sleep(0)

    asyncio.sleep = no_sleep
    try:
        result = await async_outcome(lambda: retry_with_backoff(fail, config, on_retry=told))
    finally:
        asyncio.sleep = sleep
    return [result, len(calls), delays]


async def delays_grow() -> Facts:
    plain = RetryConfig(jitter=False)
    return {
        "defaults": await _delays(RateLimitError("x"), plain),
        "capped": await _delays(RateLimitError("x"), RetryConfig(5, 1.0, 3.0, 2.0, False)),
        "no retries": await _delays(RateLimitError("x"), RetryConfig(0, jitter=False)),
        "not retryable": await _delays(LLMError("x"), plain),
        "made retryable": await _delays(LLMError("x", retryable=True), plain),
    }


async def delays_honour_the_server() -> Facts:
    config = RetryConfig(2, jitter=False)
    deaf = RetryConfig(2, jitter=False, honor_retry_after=False)
    return {
        "longer": await _delays(RateLimitError("x", retry_after=100), config),
        "shorter": await _delays(RateLimitError("x", retry_after=0.1), config),
        "ignored": await _delays(RateLimitError("x", retry_after=100), deaf),
        "multiplied": await _delays(RateLimitError("x", delay_multiplier=10), config),
        "over the cap": await _delays(
            RateLimitError("x", delay_multiplier=100), RetryConfig(2, 1.0, 5.0, 2.0, False)
        ),
        "odd multiplier": await _delays(RateLimitError("x", delay_multiplier=-1), config),
    }


async def jitter_stays_in_its_range() -> Facts:
    random.seed(1)
    _, _, delays = await _delays(RateLimitError("x"), RetryConfig(8, 1.0, 1.0, 1.0, True))
    found = [delay for _, delay, _ in delays]
    return {
        "count": len(found),
        "within": all(0.5 <= each < 1.5 for each in found),
        "vary": len(set(found)) > 1,
    }


async def retrying_until_it_works() -> Facts:
    calls: list[int] = []

    async def third_time() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise RateLimitError("x")
        return "worked"

    config = RetryConfig(initial_delay=0.0, jitter=False)
    return {"result": await retry_with_backoff(third_time, config), "calls": len(calls)}


async def other_errors_are_not_retried() -> Facts:
    calls: list[int] = []

    async def fail() -> None:
        calls.append(1)
        raise KeyError("x")

    return {"outcome": await async_outcome(lambda: retry_with_backoff(fail)), "calls": len(calls)}


def delays_computed_by_the_engine() -> Facts:
    from amplifier_core._engine import compute_delay

    config = RetryConfig(jitter=False)
    return {
        "attempts": [compute_delay(config, attempt) for attempt in (0, 1, 5, 6, 7)],
        "far": compute_delay(config, 2000),
        "floor": compute_delay(config, 0, retry_after=7.5),
        "multiplied": compute_delay(config, 0, delay_multiplier=4.0),
        "odd multipliers": [
            compute_delay(config, 0, delay_multiplier=each) for each in (0.0, -1.0, float("nan"))
        ],
        "infinite": compute_delay(config, 0, retry_after=float("inf")),
    }


# -- classifying ----------------------------------------------------------------------


def classes_by_status() -> Facts:
    codes = (400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529, 200)
    return {str(code): classify_error_message("x", status_code=code) for code in codes}


def classes_by_text() -> Facts:
    texts = [
        "Context length exceeded", "too many tokens", "maximum context size", "Rate limit hit",
        "too many requests", "authentication failed", "bad API key", "unauthorized",
        "model not found", "content filter", "safety system", "blocked", "boom", "",
        "timeout", "overloaded", "rate limit: context length", "api key not found",
    ]  # fmt: skip
    return {text or "(empty)": classify_error_message(text) for text in texts}


def classes_by_both() -> Facts:
    return {
        "status wins": classify_error_message("rate limit", status_code=401),
        "text before 400": classify_error_message("context length", status_code=400),
        "provider": classify_error_message("x", status_code=429, provider="p"),
    }


def kinds_named_by_the_engine() -> Facts:
    from amplifier_core._engine import classify_error_message as kind

    texts = [
        "context length", "token limit", "too long", "rate_limit", "429", "timed out", "401",
        "content filter not found", "404", "overloaded", "502", "unavailable", "boom",
    ]  # fmt: skip
    return {text: kind(text) for text in texts}


def provider_errors_of_the_engine() -> Facts:
    from amplifier_core._engine import ProviderError

    full = ProviderError(
        "x",
        provider="p",
        model="m",
        retry_after=2.0,
        delay_multiplier=5.0,
        retryable=True,
        error_type="RateLimit",
    )
    return {
        "full": [repr(full), str(full), full.error_type, full.retry_after],
        "bare": [
            repr(ProviderError("x")),
            ProviderError("x").error_type,
            ProviderError("x").retryable,
        ],
        "exception": isinstance(full, Exception),
        "read only": str(outcome(lambda: setattr(full, "provider", "q")))[:6],
    }


# -- truncating and redacting ---------------------------------------------------------


def long_texts_are_cut() -> Facts:
    data = {"a": "x" * 200, "b": ["y" * 181, 5, None], "c": {"d": "z" * 180}, "e": ("t" * 300,)}
    result = truncate_values(data)
    return {
        "cut": result,
        "short": truncate_values("abcdef", 3),
        "exact": truncate_values("abc", 3),
        "keyword": truncate_values("abcdef", max_length=2),
        "untouched": data["a"] == "x" * 200,
        "number": truncate_values(5),
        "bytes": truncate_values(b"abcdef", 3),
    }


def secrets_are_masked() -> Facts:
    data = {
        "api_key": "x", "API_KEY": "x", "my_token": "x", "token": {"a": 1}, "Authorization": None,
        "nested": [{"password": "x", "user": "u"}], "tuple": ({"secret": "x"},), 5: "x", "auth": [],
    }  # fmt: skip
    return {
        "masked": redact_secrets(data),
        "untouched": data["api_key"],
        "own keys": redact_secrets({"color": "red", "token": "x"}, {"color"}),
        "keys": SENSITIVE_KEYS,
        "text": redact_secrets("token"),
    }


# -- request ids ----------------------------------------------------------------------


def constants_of_correlation() -> Facts:
    from amplifier_core import correlation

    return {
        "field": correlation.REQUEST_ID_FIELD,
        "request": correlation.REQUEST_EVENTS,
        "terminal": correlation.TERMINAL_EVENTS,
        "interim": correlation.INTERIM_EVENTS,
    }


def _resolved(*steps: Any) -> list[Any]:
    """Resolve one step after the other: [returned id, id in flight], with `#` for a new one."""
    from amplifier_core.correlation import current_request_id, reset_request_id, resolve_request_id

    reset_request_id()
    found: list[Any] = []
    for step in steps:
        resolved = (
            resolve_request_id(*step) if isinstance(step, tuple) else resolve_request_id(step)
        )
        pair = [resolved, current_request_id()]
        found.append(["#" if each and len(each) == 36 else each for each in pair])
    reset_request_id()
    return [*found, current_request_id()]


def request_ids_are_resolved() -> Facts:
    return {
        "call": _resolved("llm:request", "llm:response"),
        "given": _resolved(("llm:request", "a"), "provider:retry", "llm:response"),
        "closed": _resolved(("llm:request", "a"), "llm:response", "provider:retry", "llm:response"),
        "error": _resolved(("llm:request", "a"), "provider:error"),
        "interim alone": _resolved("provider:retry", "provider:throttle"),
        "interim given": _resolved(("provider:retry", "b"), "llm:response"),
        "terminal given": _resolved(("llm:request", "a"), ("llm:response", "b"), "provider:retry"),
        "other": _resolved(("llm:request", "a"), ("tool:pre", "c")),
        "empty": _resolved(("llm:request", "")),
        "twice": _resolved(("llm:request", "a"), ("llm:request", "b"), "llm:response"),
    }


def new_request_ids() -> Facts:
    from amplifier_core.correlation import new_request_id

    return {"form": new_request_id(), "unique": new_request_id() != new_request_id()}
