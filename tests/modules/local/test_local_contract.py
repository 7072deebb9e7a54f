"""provider-local as a module: it keeps the contract."""

from pathlib import Path

import pytest
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from helpers_local import FakeEngine, install_demo_weights

import amplifier_modules.local


@pytest.fixture
def module_path(engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install_demo_weights(tmp_path, monkeypatch)
    return Path(amplifier_modules.local.__file__).parent


class TestBehavior(ProviderBehaviorTests):
    pass


class TestStructure(ProviderStructuralTests):
    pass
