"""provider-mock as a module: it keeps the contract and describes itself."""

from pathlib import Path

import pytest
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests

import amplifier_modules.mock
from amplifier_modules.mock.provider import mount


@pytest.fixture
def module_path() -> Path:
    return Path(amplifier_modules.mock.__file__).parent


class TestBehavior(ProviderBehaviorTests):
    pass


class TestStructure(ProviderStructuralTests):
    pass


async def test_it_describes_itself_by_its_settings() -> None:
    coordinator = MockCoordinator()
    await mount(coordinator, {"default_model": "parrot", "context_window": 500, "priority": 3})
    provider = coordinator.get("providers", "mock")

    (model,) = await provider.list_models()

    assert (model.id, model.context_window) == ("parrot", 500)
    assert provider.get_info().defaults["context_window"] == 500
    assert provider.get_info().defaults["model"] == "parrot"
    assert provider.priority == 3
