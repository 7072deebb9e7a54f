"""provider-ollama does what every provider of a remote API does."""

from pathlib import Path

import pytest
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from conformance_providers import *  # noqa: F403
from conformance_sessions import *  # noqa: F403
from helpers_wire import free_url

import amplifier_modules.provider_ollama


@pytest.fixture
def module_path(wire: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLLAMA_HOST", free_url())
    return Path(amplifier_modules.provider_ollama.__file__).parent


class TestBehavior(ProviderBehaviorTests):
    pass


class TestStructure(ProviderStructuralTests):
    pass
