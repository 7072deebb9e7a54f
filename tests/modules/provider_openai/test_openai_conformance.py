"""The OpenAI family does what every provider of a remote API does."""

from pathlib import Path

import pytest
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from conformance_providers import *  # noqa: F403
from conformance_sessions import *  # noqa: F403
from helpers_openai import URL_VARIABLES, WIRES, ResponsesWire
from helpers_wire import free_url


@pytest.fixture(params=sorted(WIRES))
def wire(request: pytest.FixtureRequest) -> ResponsesWire:
    return WIRES[request.param]()


@pytest.fixture
def module_path(wire: ResponsesWire, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(wire.key_variable, "a-key")
    for name in URL_VARIABLES:
        monkeypatch.setenv(name, free_url())
    return Path(wire.island.__file__)


class TestBehavior(ProviderBehaviorTests):
    pass


class TestStructure(ProviderStructuralTests):
    pass
