"""The names under which older code looks for a compiled engine."""

import base64
import json
import re

import amplifier_core
import pytest
from amplifier_core import _engine, capabilities, events
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.utils.retry import RetryConfig, compute_delay

IMAGE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(b"png").decode(),
    },
}


def test_the_aliases_are_the_classes_themselves() -> None:
    assert _engine.RustSession is amplifier_core.AmplifierSession
    assert _engine.RustCoordinator is ModuleCoordinator
    assert _engine.RustHookRegistry is HookRegistry
    assert _engine.RustCancellationToken is amplifier_core.CancellationToken
    assert (_engine.RetryConfig, _engine.compute_delay) == (RetryConfig, compute_delay)


@pytest.mark.parametrize(
    "name", ["RustSession", "RustCoordinator", "RustHookRegistry", "RustCancellationToken"]
)
def test_the_package_offers_the_aliases_as_well(name: str) -> None:
    assert getattr(amplifier_core, name) is getattr(_engine, name)


def test_what_registering_returns_is_the_named_type() -> None:
    unregister = HookRegistry().register("tool:pre", lambda event, data: None)

    assert isinstance(unregister, _engine.RustUnregisterFn)


def test_there_is_no_compiled_engine_and_it_says_so() -> None:
    assert _engine.RUST_AVAILABLE is False
    assert amplifier_core.RUST_AVAILABLE is False
    assert re.fullmatch(r"\d+\.\d+\.\d+", _engine.__version__)
    assert _engine.__version__ == amplifier_core.__version__


def test_every_listed_name_is_there_with_all_events_and_capabilities() -> None:
    for name in _engine.__all__:
        assert hasattr(_engine, name), name
    assert {*events.__all__, *capabilities.__all__} <= set(_engine.__all__)
    assert _engine.ALL_EVENTS is events.ALL_EVENTS
    assert isinstance(_engine.ALL_WELL_KNOWN_CAPABILITIES, list)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Maximum context reached", "context_length"),
        ("token limit", "context_length"),
        ("prompt is too long: rate limit", "context_length"),
        ("HTTP 429", "rate_limit"),
        ("rate_limit_error", "rate_limit"),
        ("request timed out", "timeout"),
        ("401", "authentication"),
        ("Invalid API key", "authentication"),
        ("blocked: not found", "content_filter"),
        ("404", "not_found"),
        ("model not found", "not_found"),
        ("Overloaded", "provider_unavailable"),
        ("502 bad gateway", "provider_unavailable"),
        ("what", "unknown"),
    ],
)
def test_a_message_is_put_into_one_word(message: str, kind: str) -> None:
    assert _engine.classify_error_message(message) == kind


def test_content_in_json_is_reduced_to_checked_blocks() -> None:
    text = {"type": "text", "text": "hi", "visibility": "user"}

    normalized = _engine._normalize_tool_result_content(json.dumps([text, IMAGE]))

    assert normalized is not None
    assert json.loads(normalized) == [{"type": "text", "text": "hi"}, IMAGE]


@pytest.mark.parametrize("content", ["[]", "null"])
def test_no_content_in_json_is_none(content: str) -> None:
    assert _engine._normalize_tool_result_content(content) is None


def test_bad_content_in_json_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid tool result content"):
        _engine._normalize_tool_result_content('[{"type": "video"}]')


def test_a_result_in_json_is_shown_to_hooks_without_its_image() -> None:
    result = json.dumps({"success": True, "output": "seen", "content": [IMAGE]})

    shown = json.loads(_engine._tool_result_safe_hook_presentation(result))

    assert shown["output"] == "seen"
    assert shown["content"] == [{"type": "text", "text": "[image left out of this event]"}]


def test_a_provider_error_is_a_value_that_reads_as_its_message() -> None:
    error = _engine.ProviderError("busy")

    assert not isinstance(error, BaseException)
    assert str(error) == "busy"
    assert repr(error) == 'ProviderError("busy")'
    assert (error.provider, error.model, error.retry_after, error.delay_multiplier) == (None,) * 4
    assert (error.retryable, error.error_type) == (False, "Other")


def test_a_provider_error_shows_what_is_set() -> None:
    error = _engine.ProviderError(
        'so "busy"',
        provider="p",
        model="m",
        retry_after=2.0,
        delay_multiplier=2.5,
        retryable=True,
        error_type="RateLimit",
    )

    assert repr(error) == (
        r'ProviderError("so \"busy\"", provider="p", model="m", retry_after=2, '
        "delay_multiplier=2.5, retryable=True)"
    )
    with pytest.raises(AttributeError):
        error.provider = "q"  # type: ignore[misc]
    with pytest.raises(TypeError):
        _engine.ProviderError("busy", "p")  # type: ignore[misc]
