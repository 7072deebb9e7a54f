"""The examples that are components: the committed one, and the one that is built for the tests."""

from pathlib import Path

import pytest
from built_examples import built
from helpers_wasm import mounted, mounted_tool

REPO = Path(__file__).parents[2]
CALCULATOR = REPO / "examples" / "wasm-tool-rust"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("6 * 7", 42.0), ("1 / 4", 0.25), ("2 - 5", -3.0), ("0.5 + 0.25", 0.75)],
)
async def test_the_calculator_computes(expression: str, expected: float) -> None:
    async with mounted_tool(CALCULATOR) as tool:
        result = await tool.execute({"expression": expression})

    assert result.output == {"result": expected}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"expression": "1 / 0"}, "divided by zero"),
        ({"expression": "ünsinn"}, "not of the form"),
        ({"expression": "1 ? 2"}, "none of + - * /"),
        ({}, "no text `expression`"),
    ],
)
async def test_the_calculator_says_what_it_cannot_compute(given: object, told: str) -> None:
    async with mounted_tool(CALCULATOR) as tool:
        result = await tool.execute(given)

    assert not result.success
    assert told in result.error["message"]


@pytest.fixture
def keep_secrets() -> Path:
    return built("wasm-hook-python")


@pytest.mark.slow
async def test_a_hook_in_python_guards_tools(keep_secrets: Path) -> None:
    coordinator = await mounted(keep_secrets)
    emit = coordinator.hooks.emit

    denied = await emit("tool:pre", {"tool_input": {"path": "Passwörd and password.txt"}})
    allowed = await emit("tool:pre", {"tool_input": {"path": "notes.txt"}})

    assert (denied.action, denied.reason) == ("deny", "The input speaks of a password.")
    assert allowed.action == "continue"


@pytest.mark.slow
async def test_a_hook_in_python_gets_its_config_and_fails_closed(keep_secrets: Path) -> None:
    coordinator = await mounted(keep_secrets, {"event": "prompt:submit"})

    broken = await coordinator.hooks.emit("prompt:submit", {"large": "x" * 3_000_000})

    assert broken.action == "deny"
    assert (await coordinator.hooks.emit("tool:pre", {"a": "secret"})).action == "continue"
