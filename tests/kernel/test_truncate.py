"""Values made fit to be logged: long texts cut, secrets blanked out."""

from typing import Any

import pytest
from amplifier_core import utils
from amplifier_core.utils import SENSITIVE_KEYS, redact_secrets, truncate_values
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=12) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*sorted(SENSITIVE_KEYS), "Token", "plain"]), inner, max_size=3
        )
        | st.tuples(inner)
    ),
    max_leaves=8,
)


def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    assert truncate_values("x" * 183) == "x" * 180 + "... (truncated 3 chars)"


@pytest.mark.parametrize("text", ["", "short", "x" * 180])
def test_a_text_that_fits_is_left_alone(text: str) -> None:
    assert truncate_values(text) == text


def test_texts_are_cut_at_any_depth_of_dicts_and_lists() -> None:
    value = {"a": ["long text", {"b": "long text"}], "long key stays": 1, "t": ("long text",)}

    assert truncate_values(value, max_length=4) == {
        "a": ["long... (truncated 5 chars)", {"b": "long... (truncated 5 chars)"}],
        "long key stays": 1,
        "t": ("long text",),
    }


@pytest.mark.parametrize("key", [*sorted(SENSITIVE_KEYS), "API_KEY", "Authorization"])
@pytest.mark.parametrize("value", ["hush", None, 5, ["hush"], {"a": "hush"}])
def test_a_sensitive_key_loses_its_value_whatever_it_is(key: str, value: Any) -> None:
    assert redact_secrets({key: value}) == {key: "[REDACTED]"}


@pytest.mark.parametrize("key", ["my_token", "tokens", "user", 5, None])
def test_any_other_key_keeps_its_value(key: Any) -> None:
    assert redact_secrets({key: "kept"}) == {key: "kept"}


def test_secrets_are_found_at_any_depth_of_dicts_and_lists() -> None:
    value = {"providers": [{"config": {"api_key": "hush", "model": "m"}}]}

    assert redact_secrets(value) == {
        "providers": [{"config": {"api_key": "[REDACTED]", "model": "m"}}]
    }


def test_the_keys_can_be_chosen() -> None:
    assert redact_secrets({"pin": 1, "token": 2}, {"pin"}) == {"pin": "[REDACTED]", "token": 2}


@given(VALUES)
def test_both_leave_the_original_as_it_was_and_can_be_repeated(value: Any) -> None:
    before = repr(value)

    redacted = redact_secrets(value)
    cut = truncate_values(value, max_length=5)

    assert repr(value) == before
    assert redact_secrets(redacted) == redacted
    assert truncate_values(cut, max_length=100) == cut
    if isinstance(value, dict | list):
        assert redacted is not value
        assert cut is not value


@given(VALUES)
def test_no_sensitive_value_survives(value: Any) -> None:
    assert set(_values_of_secrets(redact_secrets(value))) <= {"[REDACTED]"}


def _values_of_secrets(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [found for each in value for found in _values_of_secrets(each)]
    if not isinstance(value, dict):
        return []
    return [
        found
        for key, each in value.items()
        for found in ([each] if key.lower() in SENSITIVE_KEYS else _values_of_secrets(each))
    ]


def test_the_sensitive_keys_are_these() -> None:
    assert {
        "api_key", "apikey", "api-key", "secret", "password", "token", "credential",
        "credentials", "private_key", "privatekey", "auth", "authorization",
    } == SENSITIVE_KEYS  # fmt: skip
    assert sorted(utils.__all__) == [
        "RetryConfig", "SENSITIVE_KEYS", "classify_error_message", "redact_secrets",
        "retry_with_backoff", "truncate_values",
    ]  # fmt: skip
