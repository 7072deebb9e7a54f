"""What is particular about the example in Python that is a component."""

from pathlib import Path

import pytest
from built_examples import built
from helpers_wasm import mounted


@pytest.fixture
def gatekeeper() -> Path:
    return built("wasm-hook-python")


@pytest.mark.slow
async def test_a_hook_in_python_gets_its_config_and_fails_closed(gatekeeper: Path) -> None:
    coordinator = await mounted(gatekeeper, {"event": "prompt:submit"})

    broken = await coordinator.hooks.emit("prompt:submit", {"large": "x" * 3_000_000})
    assert broken.action == "deny"
    assert (
        await coordinator.hooks.emit("tool:pre", {"tool_input": {"text": "secret"}})
    ).action == "continue"
