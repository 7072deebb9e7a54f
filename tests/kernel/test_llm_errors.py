"""The errors of a model call: who is whose kind, what they carry, how they look."""

import copy
import pickle
from typing import Any

import pytest
from amplifier_core import llm_errors
from amplifier_core.llm_errors import (
    InvalidToolCallError,
    LLMError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)

FAMILY = [
    ("LLMError", Exception, False),
    ("RateLimitError", LLMError, True),
    ("QuotaExceededError", RateLimitError, False),
    ("AuthenticationError", LLMError, False),
    ("AccessDeniedError", llm_errors.AuthenticationError, False),
    ("ContextLengthError", LLMError, False),
    ("ContentFilterError", LLMError, False),
    ("InvalidRequestError", LLMError, False),
    ("ProviderUnavailableError", LLMError, True),
    ("NetworkError", ProviderUnavailableError, True),
    ("LLMTimeoutError", LLMError, True),
    ("StreamError", LLMError, True),
    ("NotFoundError", LLMError, False),
    ("AbortError", LLMError, False),
    ("ConfigurationError", LLMError, False),
    ("InvalidToolCallError", LLMError, False),
]
CLASSES = [getattr(llm_errors, name) for name, _, _ in FAMILY]
FULL: dict[str, Any] = {
    "provider": "acme",
    "model": "m-1",
    "status_code": 529,
    "retryable": True,
    "retry_after": 2.5,
    "delay_multiplier": 4.0,
}


def test_the_family_is_complete() -> None:
    errors = {
        name
        for name, value in vars(llm_errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }

    assert errors == {name for name, _, _ in FAMILY}


@pytest.mark.parametrize(("name", "parent", "retryable"), FAMILY)
def test_an_error_has_its_parent_and_knows_whether_a_retry_may_help(
    name: str, parent: type[Exception], retryable: bool
) -> None:
    error_class = getattr(llm_errors, name)

    assert error_class.__bases__ == (parent,)
    assert error_class("boom").retryable is retryable
    assert error_class("boom", retryable=not retryable).retryable is not retryable


@pytest.mark.parametrize("error_class", CLASSES)
def test_an_error_with_only_a_message_says_nothing_more(error_class: type[LLMError]) -> None:
    error = error_class("boom")

    assert str(error) == "boom"
    assert error.args == ("boom",)
    assert (error.provider, error.model, error.status_code, error.retry_after) == (None,) * 4
    assert error.delay_multiplier == 1.0


@pytest.mark.parametrize("error_class", [c for c in CLASSES if c is not InvalidToolCallError])
def test_an_error_carries_what_it_is_told(error_class: type[LLMError]) -> None:
    error = error_class("boom", **FULL)

    assert {name: getattr(error, name) for name in FULL} == FULL
    assert str(error) == "boom"


@pytest.mark.parametrize("error_class", CLASSES)
def test_everything_but_the_message_goes_by_name(error_class: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        error_class("boom", "acme")


def test_an_unreadable_tool_call_keeps_the_text_of_the_model() -> None:
    error = InvalidToolCallError(
        "boom",
        tool_name="bash",
        raw_arguments="{",
        provider="acme",
        model="m-1",
        status_code=200,
        retryable=True,
    )

    assert (error.tool_name, error.raw_arguments) == ("bash", "{")
    assert (error.provider, error.model, error.status_code) == ("acme", "m-1", 200)
    assert repr(error) == (
        "InvalidToolCallError('boom', provider='acme', model='m-1', status_code=200,"
        " retryable=True)"
    )
    bare = InvalidToolCallError("boom")
    assert (bare.tool_name, bare.raw_arguments) == (None, None)


@pytest.mark.parametrize("name", ["retry_after", "delay_multiplier"])
def test_an_unreadable_tool_call_is_not_a_matter_of_waiting(name: str) -> None:
    arguments: dict[str, Any] = {name: 2.0}

    with pytest.raises(TypeError, match=name):
        InvalidToolCallError("boom", **arguments)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (LLMError("boom"), "LLMError('boom')"),
        (LLMError("it's", provider="p"), "LLMError(\"it's\", provider='p')"),
        (LLMError("boom", retryable=True), "LLMError('boom', retryable=True)"),
        (RateLimitError("boom"), "RateLimitError('boom', retryable=True)"),
        (RateLimitError("boom", retryable=False), "RateLimitError('boom')"),
        (
            QuotaExceededError("boom", retry_after=0.0),
            "QuotaExceededError('boom', retry_after=0.0)",
        ),
        (
            LLMError("boom", **FULL),
            "LLMError('boom', provider='acme', model='m-1', status_code=529, retryable=True,"
            " retry_after=2.5, delay_multiplier=4.0)",
        ),
    ],
)
def test_the_representation_shows_what_was_set(error: LLMError, shown: str) -> None:
    assert repr(error) == shown


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize(
    "error",
    [
        LLMError("boom", **FULL),
        QuotaExceededError("boom"),
        InvalidToolCallError("boom", tool_name="t", raw_arguments="{", provider="p"),
    ],
)
def test_an_error_survives_copying(error: LLMError, duplicate: Any) -> None:
    twin = duplicate(error)

    assert type(twin) is type(error)
    assert twin is not error
    assert (twin.args, vars(twin)) == (error.args, vars(error))


def test_the_vendors_own_exception_stays_the_cause() -> None:
    cause = ConnectionError("reset")

    with pytest.raises(ProviderUnavailableError) as caught:
        raise llm_errors.NetworkError("unreachable") from cause

    assert caught.value.__cause__ is cause


def test_the_documentation_says_how_the_multiplier_is_applied() -> None:
    documentation = LLMError.__doc__ or ""

    assert "compute_delay()" in documentation
    assert "applied after the max_delay cap" in documentation
