"""Retrying model calls: how often, how long in between, and which error a message means."""

import asyncio
import copy
import math
import pickle
import warnings
from typing import Any

import pytest
from amplifier_core import llm_errors, utils
from amplifier_core.llm_errors import (
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
from amplifier_core.utils.retry import (
    RetryConfig,
    classify_error_message,
    compute_delay,
    retry_with_backoff,
)
from hypothesis import given
from hypothesis import strategies as st

STEADY = RetryConfig(initial_delay=1.0, max_delay=60.0, backoff_factor=2.0, jitter=False)
INSTANT = RetryConfig(max_retries=3, initial_delay=0.0, jitter=False)


# -- RetryConfig ------------------------------------------------------------------------


def test_the_defaults_retry_three_times_within_a_minute() -> None:
    config = RetryConfig()

    assert (config.max_retries, config.initial_delay, config.max_delay) == (3, 1.0, 60.0)
    assert (config.backoff_factor, config.jitter) == (2.0, 0.2)
    assert config.honor_retry_after is True


def test_arguments_may_be_given_by_position() -> None:
    config = RetryConfig(5, 2, 30, 3, False, False)

    assert (config.max_retries, config.initial_delay, config.max_delay) == (5, 2.0, 30.0)
    assert (config.backoff_factor, config.jitter, config.honor_retry_after) == (3.0, 0.0, False)


@pytest.mark.parametrize(("given", "shown"), [(None, 0.2), (True, 0.2), (False, 0.0)])
def test_jitter_reads_back_as_a_number(given: bool | None, shown: float) -> None:
    assert RetryConfig(jitter=given).jitter == shown


@pytest.mark.parametrize(("given", "shown"), [(0, 0.0), (1, 0.2), (0.0, 0.0), (0.5, 0.2)])
def test_a_number_for_jitter_is_deprecated(given: float, shown: float) -> None:
    with pytest.warns(DeprecationWarning, match="jitter"):
        config = RetryConfig(jitter=given)

    assert config.jitter == shown


def test_nonsense_for_jitter_is_taken_as_on() -> None:
    with pytest.warns(UserWarning, match="jitter must be True or False, not 'yes'"):
        config = RetryConfig(jitter="yes")  # type: ignore[arg-type]

    assert config.jitter == 0.2


@pytest.mark.parametrize(
    ("old", "new", "default"),
    [("min_delay", "initial_delay", 1.0), ("backoff_multiplier", "backoff_factor", 2.0)],
)
def test_an_old_name_is_used_with_a_warning_unless_the_new_one_is_set(
    old: str, new: str, default: float
) -> None:
    for arguments in ({old: 5.0}, {old: 5.0, new: default}):
        with pytest.warns(DeprecationWarning, match=f"{old} is deprecated; use {new}") as caught:
            config = RetryConfig(**arguments)
        assert getattr(config, new) == 5.0
        assert len(caught) == 1
    assert getattr(RetryConfig(**{old: 5.0, new: 7.0}), new) == 7.0


@pytest.mark.parametrize(
    ("old", "new"), [("min_delay", "initial_delay"), ("backoff_multiplier", "backoff_factor")]
)
def test_an_old_name_can_still_be_read(old: str, new: str) -> None:
    config = RetryConfig(**{new: 9.0})

    with pytest.warns(DeprecationWarning, match=old) as caught:
        assert getattr(config, old) == 9.0
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_config_cannot_be_changed() -> None:
    config = RetryConfig()

    with pytest.raises(AttributeError, match="max_retries cannot be set"):
        config.max_retries = 5
    with pytest.raises(AttributeError, match="jitter cannot be deleted"):
        del config.jitter
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Own", (RetryConfig,), {})


def test_configs_compare_by_identity_and_can_be_copied() -> None:
    config = RetryConfig(7, 0.5, 9.0, 3.0, False, False)
    copies = [pickle.loads(pickle.dumps(config)), copy.deepcopy(config)]

    assert config != RetryConfig(7, 0.5, 9.0, 3.0, False, False)
    for each in copies:
        assert each.__reduce__() == config.__reduce__()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"max_retries": -1}, OverflowError),
        ({"max_retries": 1.5}, TypeError),
        ({"initial_delay": "1"}, TypeError),
        ({"max_delay": None}, TypeError),
        ({"honor_retry_after": 1}, TypeError),
    ],
)
def test_values_of_the_wrong_kind_are_refused(
    arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"\w"):
        RetryConfig(**arguments)


# -- compute_delay ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "delay"), [(0, 1.0), (1, 2.0), (3, 8.0), (6, 60.0), (2000, 60.0)]
)
def test_delays_double_up_to_the_cap(attempt: int, delay: float) -> None:
    assert compute_delay(STEADY, attempt) == delay


def test_a_negative_attempt_is_refused() -> None:
    with pytest.raises(OverflowError, match="attempt must not be negative"):
        compute_delay(STEADY, -1)


def test_a_multiplier_stretches_the_delay_beyond_the_cap() -> None:
    assert compute_delay(STEADY, 10, delay_multiplier=3.0) == 180.0


@pytest.mark.parametrize("multiplier", [0.0, -2.0, math.nan, math.inf])
def test_a_multiplier_that_makes_no_sense_is_ignored(multiplier: float) -> None:
    assert compute_delay(STEADY, 1, delay_multiplier=multiplier) == 2.0


@pytest.mark.parametrize(
    ("retry_after", "delay"), [(30.0, 30.0), (0.5, 2.0), (600.0, 600.0), (math.nan, 2.0)]
)
def test_what_the_vendor_asks_for_is_the_least_to_wait(retry_after: float, delay: float) -> None:
    assert compute_delay(STEADY, 1, retry_after) == delay


def test_the_vendor_is_not_heard_if_told_so() -> None:
    deaf = RetryConfig(jitter=False, honor_retry_after=False)

    assert compute_delay(deaf, 1, retry_after=30.0) == 2.0


def test_a_cap_that_is_not_a_number_caps_nothing() -> None:
    uncapped = RetryConfig(max_delay=math.nan, jitter=False)

    assert compute_delay(uncapped, 7) == 128.0


def test_a_delay_that_is_not_a_number_gives_way_to_the_cap() -> None:
    """Nothing times endless growth has no value."""
    assert compute_delay(RetryConfig(initial_delay=0.0, jitter=False), 2000) == 60.0


@given(st.integers(0, 20), st.none() | st.floats(0, 100), st.none() | st.floats(0.1, 10))
def test_jitter_stays_within_half_of_the_delay(
    attempt: int, retry_after: float | None, multiplier: float | None
) -> None:
    plain = compute_delay(STEADY, attempt, retry_after, multiplier)
    jittered = compute_delay(RetryConfig(), attempt, retry_after, multiplier)

    assert 0.5 * plain <= jittered <= 1.5 * plain


# -- retry_with_backoff -----------------------------------------------------------------


class Flaky:
    """Raises the given errors in turn, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


async def test_a_call_that_succeeds_is_made_once() -> None:
    operation = Flaky()

    assert await retry_with_backoff(operation) == "answer"
    assert operation.calls == 1


async def test_a_retryable_error_is_tried_again_until_it_works() -> None:
    operation = Flaky(RateLimitError("slow"), LLMError("again", retryable=True))

    async with asyncio.timeout(5):
        assert await retry_with_backoff(operation, INSTANT) == "answer"
    assert operation.calls == 3


async def test_the_last_error_is_raised_when_tries_run_out() -> None:
    errors = [RateLimitError(f"number {i}") for i in range(9)]
    operation = Flaky(*errors)

    async with asyncio.timeout(5):
        with pytest.raises(RateLimitError) as caught:
            await retry_with_backoff(operation, INSTANT)
    assert caught.value is errors[3]
    assert operation.calls == 4


@pytest.mark.parametrize("error", [AuthenticationError("no"), ValueError("no"), TimeoutError()])
async def test_other_errors_pass_at_once(error: Exception) -> None:
    operation = Flaky(error)

    with pytest.raises(type(error)):
        await retry_with_backoff(operation, INSTANT)
    assert operation.calls == 1


async def test_each_retry_is_announced_before_the_wait() -> None:
    config = RetryConfig(initial_delay=0.001, jitter=False)
    errors = [
        RateLimitError("one"),
        RateLimitError("two", retry_after=0.005),
        RateLimitError("three", delay_multiplier=2.0),
    ]
    announced: list[tuple[int, float, LLMError]] = []

    async def note(attempt: int, delay: float, error: LLMError) -> None:
        announced.append((attempt, delay, error))

    async with asyncio.timeout(5):
        await retry_with_backoff(Flaky(*errors), config, on_retry=note)

    assert announced == [(1, 0.001, errors[0]), (2, 0.005, errors[1]), (3, 0.008, errors[2])]


async def test_an_error_without_the_newer_attributes_is_retried_as_well() -> None:
    class Bare(LLMError):
        def __init__(self) -> None:
            self.retryable = True

    async with asyncio.timeout(5):
        assert await retry_with_backoff(Flaky(Bare()), INSTANT) == "answer"


async def test_cancelling_ends_the_waiting() -> None:
    async def cancel(attempt: int, delay: float, error: LLMError) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    operation = Flaky(RateLimitError("slow", retry_after=600.0))
    task = asyncio.create_task(retry_with_backoff(operation, STEADY, on_retry=cancel))

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert operation.calls == 1


# -- classify_error_message -------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, AuthenticationError),
        (403, AccessDeniedError),
        (404, NotFoundError),
        (413, ContextLengthError),
        (429, RateLimitError),
        (500, ProviderUnavailableError),
        (529, ProviderUnavailableError),
        (400, InvalidRequestError),
        (422, InvalidRequestError),
        (418, LLMError),
        (None, LLMError),
    ],
)
def test_a_clear_status_tells_the_error(status: int | None, error: type[LLMError]) -> None:
    assert classify_error_message("?", status_code=status, provider="any") is error


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Maximum CONTEXT exceeded", ContextLengthError),
        ("too many tokens", ContextLengthError),
        ("context length: rate limit", ContextLengthError),
        ("Rate limit reached", RateLimitError),
        ("Too many requests", RateLimitError),
        ("Invalid API key", AuthenticationError),
        ("unauthorized", AuthenticationError),
        ("authentication failed", AuthenticationError),
        ("model not found", NotFoundError),
        ("blocked by content filter", ContentFilterError),
        ("safety", ContentFilterError),
        ("something else", LLMError),
    ],
)
def test_without_one_the_words_tell_it(message: str, error: type[LLMError]) -> None:
    assert classify_error_message(message) is error


def test_the_words_of_a_bad_request_say_more_than_its_status() -> None:
    assert classify_error_message("maximum context", status_code=400) is ContextLengthError


def test_status_wins_over_words() -> None:
    assert classify_error_message("rate limit", status_code=503) is ProviderUnavailableError


def test_the_helpers_are_offered_by_the_package() -> None:
    assert utils.RetryConfig is RetryConfig
    assert utils.retry_with_backoff is retry_with_backoff
    assert utils.classify_error_message is classify_error_message
    assert llm_errors.LLMError is LLMError


def test_sound_values_cause_no_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RetryConfig(jitter=True, initial_delay=3.0, min_delay=4.0)

    assert caught == []
